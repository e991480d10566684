#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs bootstrap in a fresh minimal Debian 12 made for it: does the package list hold, from nothing?
# Takes the host's apt sources, so that a configured mirror is used. Needs root and mmdebstrap.
set -euo pipefail

usage="usage: tools/chroot-check.sh [BOOTSTRAP ARGUMENT...]   (default: check --yes)"
case "${1:-}" in -h | --help) echo "$usage"; exit 0 ;; esac
[ $# -gt 0 ] || set -- check --yes

fail() { echo "chroot-check: $1" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || fail "needs root, to change root and mount /proc"
command -v mmdebstrap >/dev/null || fail "mmdebstrap is not installed"
command -v git >/dev/null || fail "git is not installed"

suite=bookworm
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jail=$(mktemp -d "${TMPDIR:-/tmp}/symph-chroot.XXXXXX")
trap 'rm -rf --one-file-system "$jail"' EXIT

# The host's source files that speak of this Debian suite; others may need keys that are not there.
sources=()
for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
    [ -f "$file" ] && grep -q "/debian.*$suite\|^Suites:.*$suite" "$file" && sources+=("$file")
done

started=$SECONDS
mmdebstrap --quiet --variant=minbase "$suite" "$jail" "${sources[@]}"
cp -L /etc/resolv.conf /etc/hosts "$jail/etc/"
for file in /etc/apt/apt.conf.d/*; do # proxies and the like
    grep -q '^Acquire' "$file" && cp "$file" "$jail/etc/apt/apt.conf.d/"
done
made=$((SECONDS - started))

# A clean clone, in a path with a space, which must not matter.
mkdir -p "$jail/srv/a clone"
git -C "$root" archive HEAD | tar -x -C "$jail/srv/a clone"

# In name spaces of its own, so that mounts and stray processes end with it.
status=0
unshare --mount --pid --fork --kill-child sh -c '
    jail=$1 && shift
    mount -t proc proc "$jail/proc" && mount -t sysfs -o ro sysfs "$jail/sys" &&
        mount --rbind /dev "$jail/dev" &&
        exec chroot "$jail" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp \
            LANG=C.UTF-8 "/srv/a clone/bootstrap" "$@"
' sh "$jail" "$@" </dev/null || status=$?
echo "chroot-check: bootstrap $* ended with $status after $((SECONDS - started - made)) s" \
    "(chroot made in $made s)"
exit "$status"
