#!/usr/bin/env bash
# Run the tests of Delta, Iceberg and databases beside another command, and fail if either does.
# Usage: tools/beside_tests.sh VENV COMMAND...; what the tests of tables say comes after the command's own words.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly venv=$1
shift
said=$(mktemp)
trap 'rm -f "$said"' EXIT
tools/with_table_jars.sh "$venv" -m pytest tests/sources >"$said" 2>&1 &
tables=$!
command=0
"$@" || command=$?
result=0
wait "$tables" || result=$?
cat "$said"
exit $((command > result ? command : result))
