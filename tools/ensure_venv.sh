#!/usr/bin/env bash
# Create the virtual environment named by the first argument with Python 3.11 or later, if it is not there.
# On Debian, root gets python3-venv installed when the standard library lacks ensurepip.
set -euo pipefail

readonly venv=$1

is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
    local name
    for name in "${PYTHON:-python3}" python3.11 python3.12 python3.13; do
        if is_new_enough "$name"; then
            echo "$name"
            return
        fi
    done
    return 1
}

has_venv() {
    "$1" -c 'import ensurepip, venv' 2>/dev/null
}

# A copy that was moved or half made has no working pip: make it again.
if [ -x "$venv/bin/python" ] && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi
if ! python=$(find_python); then
    echo "Headgate needs Python 3.11 or later: install one, or name it with: make PYTHON=/path/to/python3.11 …" >&2
    exit 1
fi
if ! has_venv "$python" && [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
    echo "This Python cannot make virtual environments; installing python3-venv with apt-get." >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2 && apt-get install -y -qq --no-install-recommends python3-venv </dev/null >&2 || true
fi
if ! has_venv "$python"; then
    echo "This Python ($python) cannot make virtual environments: install its venv package" \
        "(on Debian or Ubuntu: sudo apt-get install python3-venv), then run make again." >&2
    exit 1
fi
"$python" -m venv --clear "$venv"
