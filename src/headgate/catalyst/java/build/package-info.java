/**
 * How a build side is run before the query: its jobs, the domain that each task collects of each key, and the kept rows
 * that take its place in the plan.
 */
package headgate.build;
