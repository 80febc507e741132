# SPDX-License-Identifier: LGPL-2.1-or-later
# What the scripts that make and boot virtual machines share. Sourced by image, run and tools/try.
# shellcheck shell=bash

vm_cache=${HUGEPAGES_VM_CACHE:-${XDG_CACHE_HOME:-/var/cache}/hugepages-setup-vm}

# What goes wrong is told on the console too: there it can be read when the machine is gone.
vm_journal='systemd.journald.forward_to_console=1 systemd.journald.max_level_console=warning'

say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }
die() { say "$@"; exit 1; }

# Prints one hash over the files and words given: files by contents, "-s WORD" by the word itself.
vm_hash() {
        while [ $# -gt 0 ]; do
                if [ "$1" = -s ]; then
                        printf '%s\n' "$2"
                        shift
                else
                        sha256sum <"$1"
                fi
                shift
        done | sha256sum | cut -c 1-16
}

# Keeps the COUNT most recently used entries of the cache whose names match PATTERN.
vm_prune() {
        local count=$1 pattern=$2 entry
        find "$vm_cache" -mindepth 1 -maxdepth 1 -name "$pattern" -printf '%T@ %p\n' | sort -rn |
                tail -n +"$((count + 1))" | cut -d ' ' -f 2- | while read -r entry; do rm -rf "$entry"; done
}

# Prints the mirror that this machine's apt is set up with; asked for every release, as it may hold more than ours.
vm_mirror() {
        local uri
        # shellcheck disable=SC2016 # apt-get's own variables
        uri=$(apt-get indextargets --format '$(ORIGIN) $(LABEL) $(REPO_URI)' 'Created-By: Packages' |
                awk '$1 == "Debian" && $2 == "Debian" { print $3; exit }')
        printf '%s\n' "${uri:-http://deb.debian.org/debian}"
}

# Copies the tree TREE onto the ext4 image DISK, which nobody has mounted; no loop device is needed.
vm_add_files() {
        local disk=$1 tree=$2 commands errors
        commands=$(mktemp)
        (
                cd "$tree" || exit
                find . -mindepth 1 -type d -printf 'mkdir "%P"\n' | LC_ALL=C sort
                # debugfs never overwrites: what is already there goes first.
                find . -type f -printf 'rm "%P"\nwrite "%p" "%P"\n'
                find . -type l -printf 'rm "%P"\nsymlink "%P" "%l"\n'
        ) >"$commands"
        errors=$(cd "$tree" && debugfs -w -f "$commands" "$disk" 2>&1 >/dev/null |
                grep -vE '^debugfs |already exists|File not found by ext2_lookup' || :)
        rm -f "$commands"
        [ -z "$errors" ] || die "cannot add files to $disk: $errors"
}

# vm_build_initrd DISK DIRECTORY: has the system on DISK build an initrd, in a copy of its tree, as
# DIRECTORY/initrd.img. What that leaves in /var/lib goes onto the disk.
vm_build_initrd() {
        local disk=$1 directory=$2 root=$2/root
        mkdir -p "$root"
        debugfs -R "rdump / $root" "$disk" 2>/dev/null
        # A mount namespace of its own: nothing of this machine stays mounted in there.
        # shellcheck disable=SC2016 # expanded in there
        unshare --mount --propagation private sh -ec '
                mount -t proc proc "$1/proc"
                mount -t sysfs sysfs "$1/sys"
                mount --rbind /dev "$1/dev"
                chroot "$1" update-initramfs -u' sh "$root" >"$directory/log" 2>&1 ||
                { cat "$directory/log" >&2; die "the initrd cannot be built"; }
        cp "$root"/boot/initrd.img-* "$directory/initrd.img"
        if [ -d "$root/var/lib/hugepages-setup" ]; then
                mkdir -p "$directory/tree/var/lib"
                cp -a "$root/var/lib/hugepages-setup" "$directory/tree/var/lib"
                vm_add_files "$disk" "$directory/tree"
        fi
        rm -rf "$root"
}

# Fills the array vm_command: a machine with MEMORY MiB spread evenly over NODES nodes, a CPU a node and at
# least two. Software emulation, as a nested KVM cannot be relied upon. vm_machine may name another board (q35):
# on the default one the first node's memory is least broken. vm_initrd may name another initrd than the image's.
# Without the string instructions, which are emulated byte by byte: the kernel clears its pages with them.
# With vm_own_loader set, what is on the disk boots, with the command line that is there. vm_arch may be arm64: a
# board with one serial port, where one of virtio is the second.
vm_make_command() {
        local image=$1 disk=$2 memory=$3 nodes=$4 cmdline=$5 i
        local cpus=$((nodes < 2 ? 2 : nodes)) bus=pcie.0 console=ttyS0
        case ${vm_arch:-amd64} in
        amd64)
                [ "${vm_machine:-pc}" != pc ] || bus=pci.0
                vm_command=(qemu-system-x86_64 -cpu 'max,erms=off,fsrm=off' -machine "${vm_machine:-pc}")
                ;;
        arm64)
                console=ttyAMA0
                vm_command=(qemu-system-aarch64 -cpu 'max,pauth-impdef=on' -machine 'virt,gic-version=3')
                ;;
        esac
        # shellcheck disable=SC2054 # commas belong to QEMU
        vm_command+=(-accel 'tcg,thread=multi' -m "$memory"
                -smp "$cpus,sockets=$cpus" -nodefaults -display none -no-reboot
                -drive "file=$disk,if=none,id=root,format=raw,cache=unsafe"
                -device virtio-blk-pci,drive=root,bus="$bus")
        [ -n "${vm_own_loader:-}" ] || vm_command+=(
                -kernel "$image/vmlinuz" -initrd "${vm_initrd:-$image/initrd.img}"
                -append "root=/dev/vda rw console=$console quiet systemd.show_status=no $vm_journal $cmdline")
        for ((i = 0; i < nodes; i++)); do
                vm_command+=(-object "memory-backend-ram,id=m$i,size=$((memory / nodes))M"
                        -numa "node,nodeid=$i,cpus=$i,memdev=m$i")
        done
}

# vm_boot TIMEOUT DIRECTORY: runs the array vm_command until the machine turns itself off, for TIMEOUT seconds
# at most, or until the console tells that nothing will come any more; then DIRECTORY/died says so. The first
# serial port goes to DIRECTORY/console, the second one to DIRECTORY/results.
vm_boot() (
        local timeout=$1 directory=$2 pid deadline
        : >"$directory/console"
        : >"$directory/results"
        local second=(-serial "file:$directory/results")
        # shellcheck disable=SC2054 # commas belong to QEMU
        [ "${vm_arch:-amd64}" = amd64 ] || second=(-chardev "file,id=results,path=$directory/results"
                -device virtio-serial-pci -device virtserialport,chardev=results)
        # Should this shell be killed, the machine still ends.
        timeout "$((timeout + 10))" "${vm_command[@]}" -serial "file:$directory/console" "${second[@]}" \
                </dev/null >"$directory/qemu" 2>&1 &
        pid=$!
        trap 'kill "$pid" 2>/dev/null' EXIT
        deadline=$((SECONDS + timeout))
        while kill -0 "$pid" 2>/dev/null; do
                if [ "$SECONDS" -ge "$deadline" ]; then
                        echo "no end after $timeout s" >"$directory/died"
                elif grep -qsE 'Kernel panic|in emergency mode' "$directory/console"; then
                        echo "the console tells: $(grep -m 1 -oE 'Kernel panic.*|.*in emergency mode' "$directory/console")" \
                                >"$directory/died"
                fi
                [ ! -f "$directory/died" ] || kill "$pid" 2>/dev/null || :
                sleep 0.5
        done
        wait "$pid" || :
        trap - EXIT
)
