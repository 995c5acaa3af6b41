#!/usr/bin/env bash
# Print the path of Chromium, for the tests of the page. On Debian, root gets it installed; prints nothing where there is none.
# Only the answer goes to standard output; everything else goes to standard error.
set -euo pipefail

find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

if ! find_chromium && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    export DEBIAN_FRONTEND=noninteractive
    # several processes of a test run may ask at once, and apt-get serves one at a time
    exec 9>"${TMPDIR:-/tmp}/ensure_chromium.lock"
    flock 9
    find_chromium && exit 0
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium </dev/null; } >&2 || exit 0
    find_chromium || true
fi
