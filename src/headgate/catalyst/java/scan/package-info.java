/**
 * How a scan of files reads less: what is known of its files ({@code KnownFiles}, {@code FileListing}), whether that still
 * holds when the query is executed ({@code Snapshot}), and the index, the format and the row tests that leave things out.
 */
package headgate.scan;
