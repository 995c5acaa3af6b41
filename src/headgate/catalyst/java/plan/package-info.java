/**
 * How a query comes in and goes out: the rule that Catalyst calls, the plan read into JSON for Python, and the plan written
 * back with its edits. The only room that knows all the others.
 */
package headgate.plan;
