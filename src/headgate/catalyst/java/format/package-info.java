/**
 * Kinds of tables, behind one port: a `TableFormat` recognises the scans of its kind, says what can be done with them, lists
 * their files and narrows them. What is not known to any of them is read as it is. A new kind of table is one class here and
 * one line in `TableFormats`.
 */
package headgate.format;
