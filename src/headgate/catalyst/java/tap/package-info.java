/**
 * How a large build side reports its keys while the query runs it: a test that passes every row, and a listener for its stage.
 */
package headgate.tap;
