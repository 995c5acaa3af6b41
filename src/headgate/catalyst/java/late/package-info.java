/**
 * How a filter that the query does not wait for reaches a scan that runs already: what has arrived in this process, who asks
 * for more, and the gate before each file and each range of a file.
 */
package headgate.late;
