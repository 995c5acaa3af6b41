#!/usr/bin/env bash
# Put the jars of Delta, Iceberg and PostgreSQL for the tests of tables into a folder, and print the folder.
# Usage: tools/ensure_table_jars.sh FOLDER PYTHON SPARK, as in 4.1. Maven gets them where it is there, else Spark itself.
# Prints nothing where they cannot be had.
set -euo pipefail

readonly folder=$1 python=$2 spark=$3
packages=("io.delta:delta-spark_${spark}_2.13:4.4.0" org.postgresql:postgresql:42.7.7)
if [ "$spark" = 4.1 ]; then
    packages+=(org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0)
fi
readonly packages

by_maven() {
    local pom
    pom=$(mktemp --suffix=.xml)
    {
        echo '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
        echo '<groupId>headgate</groupId><artifactId>tables</artifactId><version>1</version><dependencies>'
        local group artifact version
        for package in "${packages[@]}"; do
            IFS=: read -r group artifact version <<<"$package"
            echo "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId><version>$version</version></dependency>"
        done
        echo '</dependencies></project>'
    } >"$pom"
    mvn -q -B -f "$pom" dependency:copy-dependencies -DoutputDirectory="$folder.new" \
        -DincludeGroupIds=org.apache.iceberg,io.delta,io.unitycatalog,org.postgresql </dev/null >&2
}

by_spark() {
    "$python" - "$folder.new" "$(IFS=,; echo "${packages[*]}")" <<'SCRIPT' >&2
import shutil, sys
from pathlib import Path
from pyspark.sql import SparkSession

folder, packages = Path(sys.argv[1]), sys.argv[2]
spark = SparkSession.builder.master("local[1]").config("spark.jars.packages", packages).getOrCreate()
folder.mkdir(parents=True, exist_ok=True)
jars = spark.sparkContext._jsc.sc().jars()
for i in range(jars.size()):
    name = spark.conf.get("spark.jars").split(",")[i].removeprefix("file:")
    shutil.copy(name, folder)
SCRIPT
}

if [ ! -d "$folder" ]; then
    rm -rf "$folder.new"
    # what goes wrong here is told by whoever asked, in one sentence
    if { command -v mvn && by_maven || by_spark; } >/dev/null 2>&1; then
        mv "$folder.new" "$folder"
    else
        rm -rf "$folder.new"
        exit 0
    fi
fi
echo "$folder"
