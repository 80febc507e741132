# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the benches share: running a program for its cost, and trees of made-up machines for HUGEPAGES_ROOT."""

import pathlib
import subprocess
import typing

DEFAULT_KB = 2048
GIB_IN_KB = 1 << 20


class Cost(typing.NamedTuple):
    usec: int  # wall time from fork to exit
    cpu_usec: int  # of the program and of what it has run; what other load on the machine does not change
    peak_kb: int
    status: int


def cost(build, *command, env=None):
    """Cost of one run of the program, through the small process that measure(1) is; see measure.c."""
    out = subprocess.run([f"{build}/tests/bench/measure", *map(str, command)], env=env, check=True,
                         stdout=subprocess.PIPE, text=True).stdout
    return Cost(*map(int, out.split()))


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")


def counters(path, names):
    for name in names:
        write(path / name, 0)


def make_host(root, nodes=1, sizes_kb=(2048, 1048576), node_gib=16):
    """The kernel's side of a machine without a huge page: what hugepages-setup and the generator read."""
    total = nodes * node_gib * GIB_IN_KB
    write(root / "proc/meminfo", f"MemTotal: {total} kB\nMemFree: {total} kB\nMemAvailable: {total} kB\n"
                                 f"Hugepagesize: {DEFAULT_KB} kB")
    write(root / "proc/cmdline", "root=/dev/vda ro quiet")
    top = root / "sys/devices/system/node"
    for name in ("online", "has_memory", "has_cpu"):
        write(top / name, f"0-{nodes - 1}" if nodes > 1 else "0")
    for kb in sizes_kb:
        counters(root / f"sys/kernel/mm/hugepages/hugepages-{kb}kB",
                 ("nr_hugepages", "free_hugepages", "surplus_hugepages", "resv_hugepages",
                  "nr_overcommit_hugepages"))
    for n in range(nodes):
        write(top / f"node{n}/cpulist", n)
        write(top / f"node{n}/meminfo", f"Node {n} MemTotal: {node_gib * GIB_IN_KB} kB\n"
                                        f"Node {n} MemFree: {node_gib * GIB_IN_KB} kB")
        write(top / f"node{n}/compact", "")
        for kb in sizes_kb:
            counters(top / f"node{n}/hugepages/hugepages-{kb}kB",
                     ("nr_hugepages", "free_hugepages", "surplus_hugepages"))
    (root / "run").mkdir()


def forget_run(root):
    """Takes back what a run of hugepages-setup left in a tree."""
    for path in pathlib.Path(root).glob("run/hugepages-setup/*"):
        path.unlink()
    for path in pathlib.Path(root).glob("sys/devices/system/node/node*/hugepages/*/nr_hugepages"):
        path.write_text("0\n")


def drop_in(i, page_sizes=("2M",)):
    return (f"[Pool p{i}]\nPageSize={page_sizes[i % len(page_sizes)]}\nSize=64M\n\n"
            f"[Mount m{i}]\nWhere=/dev/hugepages/m{i}\nPool=p{i}\nMode=0700\n")


def write_drop_ins(root, n, page_sizes=("2M",)):
    directory = root / "etc/hugepages.d"
    directory.mkdir(parents=True)
    for i in range(n):
        (directory / f"{i:05}.conf").write_text(drop_in(i, page_sizes))
