/**
 * How the late rows of a stream stop at the scan: from the operator that would drop them, through the plan, to a cut-off on
 * the files and rows of a source. A micro-batch never leaves this room for Python.
 */
package headgate.stream;
