/**
 * Operators over changelogs: rows that come and go. A row is a string of bytes, its weight says how often it is there, and
 * what an operator has to remember lies in Spark's own state store, ordered. No row is seen by Python.
 */
package headgate.changes;
