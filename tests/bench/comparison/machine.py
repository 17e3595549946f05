# SPDX-License-Identifier: Apache-2.0
"""The machine of the figures, in a few words."""

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


def busy_share(seconds=0.2):
    """Used share of all cores in the next `seconds` (0 to 1)."""
    def ticks():
        words = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
        return sum(words[:8]), words[3] + words[4]
    total, idle = ticks()
    time.sleep(seconds)
    later, later_idle = ticks()
    return 1 - (later_idle - idle) / max(later - total, 1)


def wait_for_quiet(patience, share=0.1):
    """Waits until others use less than `share` of the cores; False after `patience` seconds."""
    end = time.monotonic() + patience
    while busy_share() > share:
        if time.monotonic() > end:
            return False
    return True


def describe():
    return f"{os.cpu_count()} cores, {processor()}, {caches()}, {memory_gib():.0f} GiB, Linux {platform.release()}"


def conditions(options, results):
    """The method of the run, in one line."""
    return (f"better quartiles of {options.repeat} rounds, "
            f"{'ranks bound while they fit the cores' if options.bind else 'ranks not bound'}; others used the machine "
            f"at the start of {results.disturbed} of {results.runs} runs"
            f"{' (--priority)' if options.priority else ''}"
            f"{f'; {options.hogs} other programs computed all the time, and values are means' if options.hogs else ''}"
            f"{'; on cores ' + ','.join(map(str, sorted(options.cores))) + ' alone' if options.cores else ''}")
