#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds the Debian packages from a clean export of the last commit, and looks at them with lintian,
# whose every complaint must be mended or explained (debian/*.lintian-overrides).
#
# With --chroot: then installs them in a fresh minimal Debian 12 and runs their own tests there
# (debian/tests, by autopkgtest). Needs root and mmdebstrap, and takes minutes.
set -euo pipefail

usage="usage: tools/package-check.sh [--chroot] [--out FOLDER]   (default: a temporary folder)"
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/tools/chroot.sh"
skip() { echo "SKIP: $1"; exit 77; }
chroot=false out=''
while [ $# -gt 0 ]; do
    case "$1" in
        --chroot) chroot=true ;;
        --out) shift && out=${1:-} ;;
        -h | --help) echo "$usage"; exit 0 ;;
        *) echo "$usage" >&2; exit 2 ;;
    esac
    shift
done
for program in dpkg-buildpackage dh lintian git; do
    command -v "$program" >/dev/null || skip "$program is not installed"
done
git -C "$root" rev-parse -q --verify HEAD >/dev/null || skip "not a git checkout"
! $chroot || can_make_jail || skip "no chroot can be made"

work=$(mktemp -d "${TMPDIR:-/tmp}/symph-package.XXXXXX")
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir "$work/symph"
git -C "$root" archive HEAD | tar -x -C "$work/symph"
(cd "$work/symph" && dpkg-checkbuilddeps -B >/dev/null 2>&1) ||
    skip "$(cd "$work/symph" && dpkg-checkbuilddeps -B 2>&1 | tail -n 1)"
# As Debian builds it, whatever else is installed here; the tests of the tree are not run again.
(cd "$work/symph" && env -u PKG_CONFIG_PATH -u CC -u CFLAGS -u LDFLAGS \
    DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage -us -uc) >"$work/build.log" 2>&1 ||
    { tail -n 30 "$work/build.log"; echo "package-check: the build failed"; exit 1; }
ls "$work"/*.deb | grep -v dbgsym | xargs -n 1 basename
lintian --allow-root --display-info --fail-on error,warning,info "$work"/symph_*.changes
if [ -n "$out" ]; then
    mkdir -p "$out"
    cp "$work"/*.deb "$out/"
fi
echo "package-check: built, and lintian has no complaint"
$chroot || exit 0

jail=$work/jail
make_jail "$jail"
mkdir "$jail/srv/packages"
cp "$work"/*.deb "$jail/srv/packages/"
rm -f "$jail"/srv/packages/*dbgsym*
git -C "$root" archive --prefix=srv/source/ HEAD | tar -x -C "$jail"
in_jail "$jail" sh -ec '
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q
    apt-get install -q -y --no-install-recommends autopkgtest apt-utils
    # On a machine of their own OpenCL kernels need a device; recommended, so not there by itself.
    apt-get install -q -y --no-install-recommends pocl-opencl-icd
    autopkgtest --no-built-binaries /srv/packages/*.deb /srv/source -- null
' >"$work/chroot.log" 2>&1 || { tail -n 60 "$work/chroot.log"; echo "package-check: its tests failed"; exit 1; }
sed -n '/@@@@ summary/,$p' "$work/chroot.log" | grep -o '@@@@.*\|^[a-z]* *PASS.*'
echo "package-check: installed in a clean Debian 12, its own tests passed"
