/**
 * How Java speaks with the others: with Python ({@code Handover}, {@code Failures}), with Scala ({@code Seqs}), with JSON,
 * and with the trees and versions of Spark. It knows nothing of filters.
 */
package headgate.interop;
