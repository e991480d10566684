#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes data/listing again: from Debian's linux-source package, or from a Linux tree you have.
#
# In: a tree, a package file, or nothing (then apt fetches the package). Out: the compact files in
# data/listing, or in another folder. Needs a built symph. The data keeps the kernel's licence.
set -euo pipefail

here=$(cd "$(dirname "$0")/.." && pwd)
package=linux-source-6.12
symph=$here/build/symph
out=$here/data/listing
tree= deb= source=

usage() {
    cat <<'END'
usage: tools/listing.sh [options]

  --tree DIR       an unpacked Linux source tree; else the package is used
  --deb FILE       a linux-source-*.deb you already have; else apt downloads it
  --package NAME   which package apt downloads (default linux-source-6.12)
  --source TEXT    what the files say about where they come from (default: found out)
  --symph FILE     the command that compiles (default build/symph)
  --out DIR        where the files go (default data/listing)
  -h, --help       this text
END
}

fail() {
    echo "listing: $1" >&2
    exit 1
}

while [ $# -gt 0 ]; do
    case $1 in
    --tree | --deb | --package | --source | --symph | --out)
        [ $# -gt 1 ] || fail "$1 needs a value; see tools/listing.sh --help"
        declare "${1#--}=$2"
        shift 2
        ;;
    -h | --help)
        usage
        exit 0
        ;;
    *) fail "unknown option '$1'; see tools/listing.sh --help" ;;
    esac
done
[ -x "$symph" ] || fail "$symph is not there: build it, or name it with --symph"

if [ -z "$tree" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    if [ -z "$deb" ]; then
        (cd "$work" && apt-get -q download "$package") ||
            fail "apt cannot download $package; give --deb or --tree"
        deb=$(echo "$work"/*.deb)
    fi
    version=$(dpkg-deb -f "$deb" Version)
    name=$(dpkg-deb -f "$deb" Package)
    dpkg-deb -x "$deb" "$work/package"
    tarball=$(echo "$work"/package/usr/src/linux-source-*.tar.*)
    echo "unpacking tools/perf/pmu-events of $name $version" >&2
    tar -xf "$tarball" -C "$work" --wildcards '*/tools/perf/pmu-events/arch'
    tree=$(echo "$work"/linux-source-*)
    # Debian's version begins with the kernel's: 6.12.115-2~deb12u1.
    source=${source:-"Linux ${version%%-*}, tools/perf/pmu-events (Debian $name $version)"}
fi

"$symph" counters listing --compile "$tree" --out "$out" ${source:+--source "$source"}
du -sh "$out" >&2
