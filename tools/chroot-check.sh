#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs bootstrap in a fresh minimal Debian 12 made for it: does the package list hold, from nothing?
set -euo pipefail

usage="usage: tools/chroot-check.sh [BOOTSTRAP ARGUMENT...]   (default: check --yes)"
case "${1:-}" in -h | --help) echo "$usage"; exit 0 ;; esac
[ $# -gt 0 ] || set -- check --yes

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/tools/chroot.sh"
can_make_jail || { echo "chroot-check: no chroot can be made" >&2; exit 1; }
jail=$(mktemp -d "${TMPDIR:-/tmp}/symph-chroot.XXXXXX")
trap 'rm -rf --one-file-system "$jail"' EXIT

started=$SECONDS
make_jail "$jail"
made=$((SECONDS - started))

# A clean clone, in a path with a space, which must not matter.
mkdir -p "$jail/srv/a clone"
git -C "$root" archive HEAD | tar -x -C "$jail/srv/a clone"
status=0
in_jail "$jail" "/srv/a clone/bootstrap" "$@" || status=$?
echo "chroot-check: bootstrap $* ended with $status after $((SECONDS - started - made)) s" \
    "(chroot made in $made s)"
exit "$status"
