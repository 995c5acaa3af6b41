#!/usr/bin/env bash
# Print the home of a Java that can run Spark 4: version 17 or later, with the jdk.incubator.vector module.
# Looks at JAVA_HOME, then PATH, then /usr/lib/jvm (lowest version first). On Debian, root gets one installed.
# Only the answer goes to standard output; everything else goes to standard error.
set -euo pipefail

readonly WANTED=17

# version_and_home JAVA: prints "17 /path/to/home" if that Java is usable.
version_and_home() {
    local settings version home
    [ -x "$1" ] || return 1
    settings=$("$1" --add-modules=jdk.incubator.vector -XshowSettings:properties -version 2>&1) || return 1
    version=$(sed -n 's/^ *java\.specification\.version = //p' <<<"$settings")
    home=$(sed -n 's/^ *java\.home = //p' <<<"$settings")
    version=${version%%.*}
    [ -n "$version" ] && [ -n "$home" ] && [ "$version" -ge "$WANTED" ] && printf '%s %s\n' "$version" "$home"
}

find_java() {
    local found
    if [ -n "${JAVA_HOME:-}" ] && found=$(version_and_home "$JAVA_HOME/bin/java"); then
        echo "$found"
    elif found=$(version_and_home "$(command -v java || true)"); then
        echo "$found"
    else
        found=$(for java in /usr/lib/jvm/*/bin/java; do version_and_home "$java" || true; done | sort -n | head -n 1)
        [ -n "$found" ] && echo "$found"
    fi
}

install_on_debian() {
    local package
    export DEBIAN_FRONTEND=noninteractive
    echo "No Java $WANTED or later found; installing one with apt-get." >&2
    apt-get update -qq >&2 || return 1
    # Newer Debian releases carry 21 in place of 17.
    for package in openjdk-17-jre-headless openjdk-21-jre-headless; do
        if [ -n "$(apt-cache madison "$package" 2>/dev/null)" ]; then
            apt-get install -y -qq --no-install-recommends "$package" </dev/null >&2
            return
        fi
    done
    return 1
}

if ! found=$(find_java); then
    if [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then
        install_on_debian && found=$(find_java) || found=""
    fi
fi
if [ -z "${found:-}" ]; then
    echo "Headgate's tests run Spark, which needs Java $WANTED or later: install one (on Debian or Ubuntu:" \
        "sudo apt-get install openjdk-17-jre-headless) or set JAVA_HOME to one, then run make again." >&2
    exit 1
fi
echo "${found#* }"
