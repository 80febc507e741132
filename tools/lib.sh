# SPDX-License-Identifier: LGPL-2.1-or-later
# What tools/try and tools/check share. Sourced by them.
# shellcheck shell=bash disable=SC2034

build_packages=(build-essential meson ninja-build pkgconf dpkg-dev debhelper git libinih-dev libsystemd-dev
        libsmartcols-dev libmount-dev libjson-c-dev libcmocka-dev systemd mandoc)
vm_packages=(mmdebstrap debian-archive-keyring qemu-system-x86 ovmf e2fsprogs)
check_packages=(clang-14 clang-format-14 libclang-rt-14-dev lintian shellcheck python3-jsonschema zsh fish
        rpm rpmlint createrepo-c cpio faketime qemu-system-arm qemu-user-static)

# Installs those of the packages that are not there yet.
install_packages() {
        local missing=() package
        for package; do
                [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
        done
        [ ${#missing[@]} -gt 0 ] || return 0
        echo "Installing ${missing[*]}" >&2
        {
                apt-get update -q &&
                        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
        } >&2 </dev/null
}
