# SPDX-License-Identifier: LGPL-2.1-or-later
# The vocabulary of the checks, inside the guest. Each prints one line to the results port, fd 3: "ok TEXT" or
# "not ok TEXT" with what was seen behind "# ". A check script states how many there will be with plan; the
# harness counts them, so a guest that dies or a line that is never reached is a failure.
# shellcheck shell=bash

# Which boot of the case this is, from 1.
# shellcheck disable=SC2034 # for the check scripts
vm_boot=$(sed -n 's/^vmtest-boot-//p' /sys/class/dmi/id/product_serial 2>/dev/null)
vm_failures=0

pass() { printf 'ok %s\n' "$1" >&3; }

# fail TEXT [WHAT WAS SEEN]
fail() {
        printf 'not ok %s\n' "$1" >&3
        [ -z "${2:-}" ] || printf '%s\n' "$2" | head -n 30 | sed 's/^/# /' >&3
        vm_failures=$((vm_failures + 1))
}

# succeeds TEXT COMMAND…
succeeds() {
        local text=$1 output
        shift
        if output=$("$@" 2>&1); then pass "$text"; else fail "$text" "$*: exit $?: $output"; fi
}

# fails TEXT COMMAND…: the command ends with an error, and of its own (not by a signal, not for want of it).
fails() {
        local text=$1 output rc=0
        shift
        output=$("$@" 2>&1) || rc=$?
        if [ "$rc" -gt 0 ] && [ "$rc" -lt 126 ]; then pass "$text"; else fail "$text" "$*: exit $rc: $output"; fi
}

# is TEXT GOT WANT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "got:  $2"$'\n'"want: $3"; fi; }

# like TEXT GOT REGEX: an extended regular expression that matches a line of GOT.
like() { if grep -qE -- "$3" <<<"$2"; then pass "$1"; else fail "$1" "no line matches: $3"$'\n'"$2"; fi; }

# unlike TEXT GOT REGEX
unlike() {
        local lines
        if lines=$(grep -E -- "$3" <<<"$2"); then fail "$1" "matches: $3"$'\n'"$lines"; else pass "$1"; fi
}

# at_least TEXT GOT MINIMUM, at_most TEXT GOT MAXIMUM: whole numbers.
at_least() { if [ "$2" -ge "$3" ]; then pass "$1"; else fail "$1" "$2 is less than $3"; fi; }
at_most() { if [ "$2" -le "$3" ]; then pass "$1"; else fail "$1" "$2 is more than $3"; fi; }

# journal [ARGUMENT…]: the messages of this boot.
journal() { journalctl --sync; journalctl -b -q --no-pager -o cat "$@"; }

# pages SIZE_KB NODE [COUNTER]: a node's counter (nr_hugepages) of a page size.
pages() { cat "/sys/devices/system/node/node$2/hugepages/hugepages-${1}kB/${3:-nr_hugepages}"; }

# all_pages SIZE_KB [COUNTER]: the same over all nodes.
all_pages() { cat "/sys/kernel/mm/hugepages/hugepages-${1}kB/${2:-nr_hugepages}"; }

# meminfo NAME [FILE]: in kB; FILE is what /proc/meminfo was at another time.
meminfo() { awk -v key="$1:" '$1 == key { print $2 }' "${2:-/proc/meminfo}"; }

# choice FILE: the word in brackets.
choice() { sed -n 's/.*\[\(.*\)\].*/\1/p' "/sys/kernel/mm/transparent_hugepage/$1"; }

active() { systemctl show -P ActiveState "$1"; }
main_pid() { systemctl show -P MainPID "$1"; }
status_text() { systemctl show -P StatusText hugepages-setup.service; }

# mount_option WHERE OPTION: its value, as the kernel has it.
mount_option() { findmnt -nro OPTIONS -M "$1" | tr , '\n' | sed -n "s/^$2=//p"; }

# How often systemd has read its units anew.
reloads() { journal -t systemd | grep -cE '^Reloading( requested|\.)'; }
units() { systemctl list-units --all --plain --no-legend --type=service,mount,target | cut -d ' ' -f 1; }

# For the life cycle of packages: a pool, its mount, and an application that does not start without them.
write_db_drop_in() {
        cat >/etc/hugepages.d/10-db.conf <<'EOF'
[Pool db]
PageSize=2M
Pages=0:8,1:8

[Mount db]
Where=/dev/hugepages/db
Pool=db

[Service app]
Pool=db
Mount=db
Require=yes
EOF
}

# Whatever a package must leave as it is: pages, THP, what is mounted, who runs and since when, administrators' files.
packaged_machine() {
        local name
        for name in 0 1; do echo "node$name $(pages 2048 $name) $(pages 1048576 $name)"; done
        grep -r '' /sys/kernel/mm/transparent_hugepage/{enabled,defrag}
        findmnt -nro ID,TARGET,OPTIONS -t hugetlbfs
        stat -f -c '%b %f' /dev/hugepages/db 2>/dev/null
        for name in app hugepages-setup hugepages-pool@db dev-hugepages-db.mount dev-hugepages.mount systemd-journald systemd-udevd dbus; do
                echo "$name $(main_pid $name) $(active $name) $(systemctl show -P ActiveEnterTimestampMonotonic $name)"
        done
        find /etc/hugepages.d -type f -exec sha256sum {} + 2>/dev/null | sort
}

# generated: names and contents of all that the generators wrote, as one hash; names alone with -l.
generated() {
        cd /run/systemd/generator || return
        if [ "${1:-}" = -l ]; then find . -mindepth 1 -printf '%P %l\n' | LC_ALL=C sort; else
                find . -mindepth 1 \( -type l -printf '%p %l\n' \) -o \( -type f -exec sha256sum {} + \) | LC_ALL=C sort
        fi
}

# What every boot must show, whatever the case.
vm_general_checks=6
vm_check_general() {
        is "boot: multi-user.target is reached" "$(active multi-user.target)" active
        is "boot: no emergency shell" "$(active emergency.target) $(active rescue.target)" "inactive inactive"
        is "boot: failed units are those expected" \
                "$(systemctl list-units --state=failed --plain --no-legend | cut -d ' ' -f 1 | sort)" \
                "$(tr ' ' '\n' <<<"$1" | sort)"
        unlike "boot: the kernel met no fault" "$(journal -k)" 'Oops:|BUG: |WARNING: CPU|general protection fault'
}
vm_check_general_at_end() {
        unlike "end: no ordering cycle at any time" "$(journal)" 'ordering cycle|Found dependency on .*job|deleted to break'
        unlike "end: nothing of ours crashed" "$(journal)" 'hugepages.*(dumped core|segfault|code=killed)'
}

# plan COUNT [FAILED UNIT…]: how many checks follow, and which units fail in this case as they should.
plan() {
        local count=$1
        shift
        printf 'plan %d\n' "$((count + vm_general_checks))" >&3
        vm_check_general "$*"
}
