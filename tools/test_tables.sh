#!/usr/bin/env bash
# Run the tests of Delta, Iceberg and databases with PySpark 4.1, the newest that both formats know, beside the usual one.
# Usage: tools/test_tables.sh VENV [words for pytest]. Where the jars cannot be had, says so in one sentence and ends well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly python="$PWD/$1/bin/python" spark="$PWD/$1/spark-4.1" jars="$PWD/$1/table-jars"
shift
JAVA_HOME=$(tools/ensure_java.sh)
export JAVA_HOME
if [ ! -d "$spark" ]; then
    echo "Installing PySpark 4.1 for the tests of tables (first time: about a minute)"
    rm -rf "$spark.new"
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$spark.new" "pyspark==4.1.*"
    mv "$spark.new" "$spark"
fi
export PYTHONPATH="$spark"
found=$(tools/ensure_table_jars.sh "$jars" "$python")
if [ -z "$found" ]; then
    echo "The tests of Delta, Iceberg and PostgreSQL are skipped: their jars could not be fetched from Maven Central."
    exit 0
fi
HEADGATE_TABLE_JARS=$found exec "$python" -m pytest tests/sources "$@"
