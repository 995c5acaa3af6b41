"""Known soundness bugs in the Java classes; the tests that catch them start Spark."""

from __future__ import annotations

from mutation import Mutation

JAVA = "catalyst/java"
COLLECTING = ("tests/collect/test_collecting.py",)
CUT_OFFS = ("tests/stream/test_pushdown.py::test_each_operator_has_its_own_cut_off",)
REFUSALS = ("tests/stream/test_refusals.py::test_nothing_is_cut_where_a_late_row_may_matter",)
LATE = tuple(
    f"tests/batch/test_late_filters.py::{test}"
    for test in ("test_rows_are_tested_before_a_shuffle", "test_cascades_go_on_beside_the_query")
)
ROWS = tuple(
    f"tests/batch/test_row_filters.py::{test}"
    for test in ("test_null_is_let_through_where_it_matches", "test_the_ends_of_a_range_are_inside")
)


def _java(name: str, file: str, text: str, replacement: str, tests: tuple[str, ...]) -> Mutation:
    return Mutation(name, f"{JAVA}/{file}.java", text, replacement, tests, needs_spark=True)


ORC = "tests/batch/test_orc_files.py"

IN_JAVA = (
    _java(
        "ORC files of another type are believed",
        "scan/OrcFooters",
        "return field.toString().equals(type) ? field.getId() : -1;",
        "return field.getId();",
        (f"{ORC}::test_files_of_another_type",),
    ),
    _java(
        "columns of ORC files with made-up names are found by name",
        "scan/OrcFooters",
        'if (small.startsWith("_col")) return -1;',
        "",
        (f"{ORC}::test_columns_that_spark_finds_by_their_place",),
    ),
    _java(
        "what no ORC writer counted is NULL",
        "scan/OrcFooters",
        "return new Object[] {ends[0], ends[1], counted ? Long.valueOf(rows - values) : null};",
        "return new Object[] {ends[0], ends[1], Long.valueOf(0L)};",
        (f"{ORC}::test_nulls",),
    ),
    _java(
        "the ORC reader is told what no longer holds",
        "scan/PrunedOrc",
        "(snapshot == null || snapshot.holds()) && !PrunedParquet.skipsCorrupt(options)",
        "true",
        (f"{ORC}::test_the_rest_of_a_damaged_file",),
    ),
    _java(
        "a task does not tell of its NULLs",
        "build/KeyCollector",
        "if (row.isNullAt(ordinal)) seenNull = true;",
        "if (row.isNullAt(ordinal)) return;",
        COLLECTING,
    ),
    _java(
        "numbers below zero are read the wrong way round",
        "build/KeyCollector",
        "return bits >= 0L ? bits : (bits ^ Long.MAX_VALUE) + 1L;",
        "return bits;",
        COLLECTING,
    ),
    _java(
        "the range of texts ends too early",
        "build/KeyCollector",
        "value.compareTo(highText) > 0",
        "value.compareTo(highText) < 0",
        COLLECTING,
    ),
    _java(
        "a task that gave up counts as complete",
        "build/IdTask",
        "complete = !found.passes(maxIds, maxBytes);",
        "if (found.passes(maxIds, maxBytes)) break;",
        ("tests/graph/test_ids.py::test_a_task_without_room_is_never_taken_for_complete",),
    ),
    _java(
        "the last id of a set is not in it",
        "scan/FixedIds",
        "if (id < first || id > last) return false;",
        "if (id < first || id >= last) return false;",
        ("tests/graph/test_ids.py::test_ids_are_collected_exactly",),
    ),
    _java(
        "a wide bitmap is read without its sign",
        "scan/WideBitmap",
        "int high = from.getInt() ^ FLIP;",
        "int high = from.getInt();",
        ("tests/graph/test_ids.py::test_ids_are_collected_exactly",),
    ),
    _java("a late range ends one too early", "late/LateDomain", "value <= highs[at]", "value < highs[at]", LATE),
    _java(
        "a row group that touches a late range is closed",
        "late/LateDomain",
        "highs[at] < low",
        "highs[at] <= low",
        LATE,
    ),
    _java(
        "the row test drops NULL",
        "format/Predicates",
        "withNull ? new Or(new IsNull(column), test) : test",
        "test",
        ROWS,
    ),
    _java(
        "the row test leaves out the end of a range",
        "format/Predicates",
        "new LessThanOrEqual(column",
        "new LessThan(column",
        ROWS,
    ),
    _java(
        "a row just above the watermark is late",
        "stream/EventOrder",
        "if (isLate(bound, watermark, watermark)) return Long.valueOf(watermark);",
        "if (isLate(bound, watermark, watermark)) return Long.valueOf(watermark + 1L);",
        CUT_OFFS,
    ),
    _java(
        "the first row of an open window is late",
        "stream/EventOrder",
        "return Long.valueOf(late);",
        "return Long.valueOf(open);",
        CUT_OFFS,
    ),
    _java(
        "windows are cut where they begin",
        "stream/StatefulOperators",
        "new GetStructField(time, 1, scala.Option.empty())",
        "new GetStructField(time, 0, scala.Option.empty())",
        CUT_OFFS,
    ),
    _java(
        "complete output is taken to drop late rows",
        "stream/StatefulOperators",
        '"Complete".equals(batch',
        '"Incomplete".equals(batch',
        REFUSALS,
    ),
)

PLANNED = "tests/batch/test_snapshots.py::test_a_plan_made_before_a_change"
ODD = "tests/batch/test_odd_tables.py"

SNAPSHOTS = (
    _java(
        "a change of a table is not seen",
        "scan/Snapshot",
        "holds = Boolean.valueOf(changed == null);",
        "holds = Boolean.TRUE;",
        (f"{PLANNED}[catalog-rows not kept-dim grows]",),
    ),
    _java(
        "rows are kept although their table has changed",
        "build/KeptRows",
        "if (again == null && !snapshot.holds()) {",
        "if (again == null && false) {",
        (f"{PLANNED}[catalog-rows kept-dim grows]",),
    ),
    _java(
        "the row test goes on after a change",
        "scan/SnapshotTest",
        "new SnapshotTest(!snapshot.holds())",
        "new SnapshotTest(false)",
        (f"{PLANNED}[catalog-rows not kept-dim grows]",),
    ),
    _java(
        "files stay left out after a change",
        "scan/PrunedFileIndex",
        "if (snapshot != null && !snapshot.holds()) return",
        "if (false) return",
        (f"{PLANNED}[catalog-rows not kept-fact grows]",),
    ),
    _java(
        "late filters arrive after a change",
        "late/LateSource",
        "boolean current = snapshot.holds();",
        "boolean current = true;",
        ("tests/catalyst/test_late_cluster.py",),
    ),
    _java(
        "settings may change after planning",
        "scan/Snapshot",
        "isEmpty ? null : settings.changed()",
        "null",
        ("tests/batch/test_changing_settings.py::test_a_setting_that_changes_before_the_query_runs",),
    ),
    _java(
        "a copied session is filtered by the settings of the other",
        "plan/GateRule",
        "return active.isDefined() ? (SparkSession) active.get() : session;",
        "return session;",
        ("tests/batch/test_changing_settings.py::test_a_copied_session_is_filtered_by_its_own_settings",),
    ),
    _java(
        "what is listed at planning counts as listed at execution",
        "scan/KnownFiles",
        "return isListedAtPlanning(files) ? null : files;",
        "return files;",
        ("tests/batch/test_changing_settings.py::test_a_table_that_spark_lists_at_planning",),
    ),
    _java(
        "the parser of JSON is told",
        "format/OtherFiles",
        'if (kind(files).equals("JSON")) test =',
        'if (kind(files).equals("no kind")) test =',
        ("tests/batch/test_told_sources.py::test_fields_of_json_that_come_twice",),
    ),
    _java(
        "the parser of JSON is told by the second version",
        "format/SourceScans",
        'if (name.endsWith(".JsonScan")) return "JSON";',
        "",
        ("tests/batch/test_told_sources.py::test_fields_of_json_that_come_twice",),
    ),
    _java(
        "a reader is told of numbers that files store wider",
        "format/SourceScans",
        "iceberg == null ? !mayWrap :",
        "iceberg == null ? true :",
        ("tests/batch/test_told_sources.py::test_numbers_that_files_store_wider",),
    ),
    _java(
        "a reader is told of columns by name that it finds by field id",
        "format/SourceScans",
        "!byFieldId &&",
        "true &&",
        ("tests/batch/test_told_sources.py::test_columns_that_are_found_by_field_id",),
    ),
    _java(
        "a gate stays closed after a change",
        "late/LateSource",
        "if (snapshot != null && !snapshot.holds()) return new LateState(query);",
        "",
        (f"{PLANNED}[partitioned-late-dim grows]",),
    ),
    _java(
        "a file rewritten in place counts as the same",
        "scan/FileStamp",
        'return found.get("ino") + ":" +',
        'return "" +',
        ("tests/batch/test_snapshots_of_frames.py::test_a_file_rewritten_with_the_same_size_and_time",),
    ),
    _java(
        "a subclass of the format is taken for it",
        "scan/KnownFiles",
        "files.fileFormat().getClass() == ParquetFileFormat.class",
        "files.fileFormat() instanceof ParquetFileFormat",
        (f"{ODD}::test_a_format_that_extends_parquet",),
    ),
    _java(
        "an index of another kind is taken for a list of files",
        "scan/KnownFiles",
        "return type == InMemoryFileIndex.class || ",
        "return true || type == InMemoryFileIndex.class || ",
        (f"{ODD}::test_an_index_that_nobody_knows",),
    ),
    _java(
        "columns found by id are pruned by name",
        "scan/KnownFiles",
        "return ParquetUtils.hasFieldIds(files.dataSchema())",
        "return !ParquetUtils.hasFieldIds(files.dataSchema())",
        (f"{ODD}::test_swapped_field_ids",),
    ),
    _java(
        "a gate takes a field of a struct for a column",
        "scan/ColumnChunks",
        "if (path.length != 1 || !(byCase ? path[0].equals(column) : path[0].equalsIgnoreCase(column))) continue;",
        "if (!chunk.getPath().toDotString().equals(column)) continue; if (true) return chunk;",
        (f"{ODD}::test_a_dotted_column_beside_a_struct",),
    ),
    _java(
        "a gate does not tell names apart by their case",
        "scan/ColumnChunks",
        "(byCase ? path[0].equals(column) : path[0].equalsIgnoreCase(column))",
        "(path[0].equalsIgnoreCase(column))",
        (f"{ODD}::test_a_file_with_another_case",),
    ),
    _java(
        "an error that speaks of cancelling ends the query",
        "build/BuildRun",
        'at instanceof SparkThrowable && "SPARK_JOB_CANCELLED".equals(((SparkThrowable) at).getCondition())',
        'String.valueOf(at.getMessage()).contains("cancelled")',
        (f"{ODD}::test_an_error_that_speaks_of_cancelling",),
    ),
    _java(
        "equal plans are taken for equal rows",
        "build/KeptRows",
        "KnownFiles.readSame(buildSide, other) && otherRows.equals(rows)",
        "buildSide.canonicalized().equals(other.canonicalized())",
        ("tests/batch/test_equal_build_sides.py",),
    ),
    _java(
        "numbers too wide for their column are compared as they are",
        "late/GateFilter",
        "if (isCutOff(low) || isCutOff(high)) return true;",
        "",
        ("tests/batch/test_odd_files.py::test_numbers_wider_than_their_column",),
    ),
    _java(
        "the rest of a damaged file comes back",
        "scan/PrunedParquet",
        "boolean current = isCurrent() && !skipsCorrupt(options);",
        "boolean current = isCurrent();",
        ("tests/batch/test_odd_files.py::test_the_rest_of_a_damaged_file",),
    ),
    _java(
        "a cache that is gone counts as there",
        "scan/CachedRows",
        "return loading != NOT_LOADED && loading == loading(relation.cacheBuilder());",
        "return true;",
        ("tests/batch/test_odd_files.py::test_a_cache_that_is_lost_before_the_query_runs",),
    ),
    _java(
        "cached rows may be older than their files",
        "scan/FileListing",
        "void feedsCache() { isCached = true; }",
        "void feedsCache() { isCached = false; }",
        ("tests/batch/test_odd_files.py::test_a_cache_that_is_lost_before_the_query_runs",),
    ),
    _java(
        "a cache that may differ counts as stable",
        "format/Stability",
        "return cached.cacheBuilder().isCachedColumnBuffersLoaded() && isStable(cached.cacheBuilder().logicalPlan());",
        "return true;",
        ("tests/batch/test_snapshots_under_writers.py::test_a_cache_that_is_evicted_after_the_build",),
    ),
    _java(
        "columns found by field id are judged by their names",
        "format/FileTables",
        "if (KnownFiles.isByFieldId(files)) return can;  // what",
        "if (files == null) return can;  // what",
        ("tests/batch/test_odd_tables.py::test_swapped_field_ids",),
    ),
    _java(
        "an RDD is read twice",
        "format/OtherLeaves",
        'if (Stability.isStableLeaf(leaf)) can.add("reread");',
        'can.add("reread");',
        ("tests/catalyst/test_reader.py",),
    ),
    _java(
        "a subquery that may change counts as stable",
        "format/Stability",
        "if (!readsStable((LogicalPlan) inside.get(i))) return false;",
        "if (false) return false;",
        ("tests/batch/test_builds.py::test_an_unstable_subquery_in_a_build_side",),
    ),
)

IN_TABLES = (
    _java(
        "Iceberg is told UUIDs as if they were text",
        "format/IcebergColumns",
        'boolean isOrdered = !type.equals("uuid") && ',
        "boolean isOrdered = ",
        ("tests/sources/test_order_of_values.py::test_uuids_are_text_to_spark_and_signed_numbers_to_iceberg",),
    ),
    _java(
        "times of added files are told as microseconds",
        "format/IcebergColumns",
        '&& !type.startsWith("timestamp")',
        "",
        ("tests/sources/test_order_of_values.py::test_times_of_files_that_were_added_may_be_milliseconds",),
    ),
    _java(
        "a column with a default is told",
        "format/IcebergColumns",
        'return isOrdered && SparkVersion.readIfThere(field, "initialDefault") == null;',
        "return isOrdered;",
        ("tests/sources/test_row_level.py::test_a_column_with_a_default",),
    ),
    _java(
        "a name that means another column today is told",
        "format/IcebergColumns",
        'id != null && id.equals(SparkVersion.readIfThere(after, "fieldId")) &&',
        "",
        ("tests/sources/test_order_of_values.py::test_a_name_that_meant_another_column_in_an_older_version",),
    ),
    _java(
        "a table that is merged into itself is read before the transaction",
        "plan/DeltaMerge",
        "|| merge.readsItsTarget() ?",
        "?",
        ("tests/sources/test_merge.py::test_delta_reads_a_table_that_is_merged_into_itself",),
    ),
    _java(
        "keys of tables outlive the settings they were read by",
        "scan/Listings",
        "synchronized void readsOther() { readsOthers = true; }",
        "synchronized void readsOther() { }",
        ("tests/sources/test_changing.py::test_a_setting_changes_after_keys_were_learned",),
    ),
)

JAVA_MUTATIONS = (*IN_JAVA, *SNAPSHOTS, *IN_TABLES)
