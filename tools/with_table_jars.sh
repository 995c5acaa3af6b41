#!/usr/bin/env bash
# Run Python with PySpark 4.1, the newest that Delta and Iceberg both know, and their jars in HEADGATE_TABLE_JARS.
# Usage: tools/with_table_jars.sh VENV words for Python. Where the jars cannot be had, says so in one sentence and ends well.
# TABLE_SPARK=4.2 takes that PySpark instead, which Delta alone knows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly version=${TABLE_SPARK:-4.1}
readonly python="$PWD/$1/bin/python" spark="$PWD/$1/spark-$version" jars="$PWD/$1/table-jars-$version"
shift
JAVA_HOME=$(tools/ensure_java.sh)
export JAVA_HOME
if [ ! -d "$spark" ]; then
    echo "Installing PySpark $version for tables (first time: about a minute)"
    rm -rf "$spark.new"
    "$python" -m pip install --quiet --disable-pip-version-check --no-deps --target "$spark.new" "pyspark==$version.*"
    mv "$spark.new" "$spark"
fi
export PYTHONPATH="$spark"
found=$(tools/ensure_table_jars.sh "$jars" "$python" "$version")
if [ -z "$found" ]; then
    echo "Delta, Iceberg and PostgreSQL are left out: their jars could not be fetched from Maven Central."
    exit 0
fi
HEADGATE_TABLE_JARS=$found exec "$python" "$@"
