# SPDX-License-Identifier: Apache-2.0
# For bash scripts to source: a fresh minimal Debian 12 in a folder, and commands run in it.
# Takes the host's apt sources, so that a configured mirror is used. Needs root and mmdebstrap.

suite=bookworm

# Says why it cannot be done here, and returns 1.
can_make_jail() {
    local program
    [ "$(id -u)" -eq 0 ] || { echo "needs root, to change root and mount /proc" >&2; return 1; }
    for program in mmdebstrap git unshare; do
        command -v "$program" >/dev/null || { echo "$program is not installed" >&2; return 1; }
    done
}

make_jail() { # FOLDER
    local jail=$1 file
    local -a sources=()
    # The host's source files that speak of this suite; others may need keys that are not there.
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
        [ -f "$file" ] && grep -q "/debian.*$suite\|^Suites:.*$suite" "$file" && sources+=("$file")
    done
    mmdebstrap --quiet --variant=minbase "$suite" "$jail" "${sources[@]}"
    cp -L /etc/resolv.conf /etc/hosts "$jail/etc/"
    for file in /etc/apt/apt.conf.d/*; do # proxies and the like
        ! grep -q '^Acquire' "$file" || cp "$file" "$jail/etc/apt/apt.conf.d/"
    done
}

# In name spaces of its own, so that mounts and stray processes end with it.
in_jail() { # FOLDER COMMAND...
    unshare --mount --pid --fork --kill-child sh -c '
        jail=$1 && shift
        mount -t proc proc "$jail/proc" && mount -t sysfs -o ro sysfs "$jail/sys" &&
            mount --rbind /dev "$jail/dev" &&
            exec chroot "$jail" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp \
                LANG=C.UTF-8 "$@"
    ' sh "$@" </dev/null
}
