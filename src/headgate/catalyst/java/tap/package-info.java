/**
 * How a large build side tells its keys while the query runs it: a test that passes every row, and who waits for its stage.
 */
package headgate.tap;
