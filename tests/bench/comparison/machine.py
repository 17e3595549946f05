# SPDX-License-Identifier: Apache-2.0
"""The machine that the figures come from, in a few lines."""

import os
import platform
import time
from pathlib import Path


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def caches():
    words = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind = (index / "level").read_text().strip(), (index / "type").read_text().strip()
        if kind != "Instruction":
            words.append(f"L{level} {(index / 'size').read_text().strip()}")
    return ", ".join(words)


def memory_gib():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemTotal"):
            return int(line.split()[1]) / (1 << 20)
    return 0


def describe(measured, options):
    versions = ", ".join(f"{library.name} {library.version}" for library in measured)
    return (f"{time.strftime('%Y-%m-%d')}: {os.cpu_count()} cores, {processor()}, {caches()}, "
            f"{memory_gib():.0f} GiB, Linux {platform.release()}, load {os.getloadavg()[0]:.1f} at the start.\n"
            f"{versions}; medians of {options.repeat} alternating runs, "
            f"{'ranks bound while they fit the cores' if options.bind else 'ranks not bound'}.")
