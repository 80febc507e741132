# SPDX-License-Identifier: LGPL-2.1-or-later
# What the benches that boot virtual machines share, on top of tests/vm/lib.sh. Sourced by two-nodes and boot.
# shellcheck shell=bash

bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/vm/lib.sh
. "$bench/../vm/lib.sh"

# Prints the folder of RELEASE's image with the package DEB, which is built where it is empty, and PACKAGES.
bench_image() {
        local work=$1 deb=$2 release=$3 packages=$4
        if [ -z "$deb" ]; then
                say "building the package"
                DEB_BUILD_OPTIONS=nocheck "$bench/../../packaging/deb/build" "$work/deb" >"$work/deb.log" 2>&1 ||
                        { tail -n 30 "$work/deb.log" >&2; die "the package cannot be built"; }
                deb=$(echo "$work"/deb/hugepages-setup_*.deb)
        fi
        "$bench/../vm/image" --deb "$deb" ${packages:+--packages "$packages"} "$release"
}

# bench_tree TREE SCRIPT: what runs SCRIPT in the guest late in its boot, its output going to the second serial
# port, and turns the guest off.
bench_tree() {
        local tree=$1 script=$2 units=$1/etc/systemd/system
        mkdir -p "$tree/usr/lib/bench" "$units/multi-user.target.wants" "$tree/etc/systemd/journald.conf.d"
        cp "$script" "$tree/usr/lib/bench/run"
        ln -s ../bench.service "$units/multi-user.target.wants/bench.service"
        printf '[Journal]\nStorage=volatile\n' >"$tree/etc/systemd/journald.conf.d/bench.conf"
        cat >"$units/bench.service" <<'UNIT'
[Unit]
Description=Bench
After=multi-user.target

[Service]
Type=exec
StandardOutput=truncate:/dev/ttyS1
StandardError=journal+console
ExecStart=bash -c 'stty -F /dev/ttyS1 raw -echo; bash /usr/lib/bench/run && echo end; sync; systemctl poweroff'
UNIT
}

# bench_boot WORK IMAGE TREE MEMORY NODES TIMEOUT: boots a copy of IMAGE with TREE laid over it and prints what
# the guest's script has said.
bench_boot() {
        local work=$1 image=$2 tree=$3 memory=$4 nodes=$5 timeout=$6
        rm -rf "$work/disk" "$work/vm"
        mkdir "$work/vm"
        cp --sparse=always "$image/disk.img" "$work/disk"
        chown -R -h 0:0 "$tree"
        chmod -R u=rwX,go=rX "$tree"
        vm_add_files "$work/disk" "$tree"
        vm_make_command "$image" "$work/disk" "$memory" "$nodes" ''
        vm_boot "$timeout" "$work/vm"
        tr -d '\r' <"$work/vm/results" | grep -v '^end$' || :
        if ! grep -q '^end' "$work/vm/results"; then
                tail -n 40 "$work/vm/console" "$work/vm/qemu" >&2
                die "the machine ended early"
        fi
}
