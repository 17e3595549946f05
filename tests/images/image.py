# SPDX-License-Identifier: Apache-2.0
"""Reads images of kernels. `image.py code FATBIN` prints kind (elf, ptx) and compute capability of each part. `image.py missing PTX` prints kernels
looked up by the library (src/cuda/kernels.hpp, kernels/arguments.hpp) but missing in the PTX; exit 1 if any is missing."""
import re
import struct
import sys
from pathlib import Path

KERNELS = Path(__file__).resolve().parents[2] / "src/cuda"
MAGIC, KINDS = 0xBA55ED50, {1: "ptx", 2: "elf"}


def code(file):
    data = Path(file).read_bytes()
    magic, _, at, size = struct.unpack_from("<IHHQ", data)
    if magic != MAGIC:
        sys.exit(f"{file} is no fatbin: the first word is {magic:#x}")
    end = at + size
    while at < end:
        kind, _, header, length = struct.unpack_from("<HHIQ", data, at)
        print(KINDS.get(kind, kind), struct.unpack_from("<I", data, at + 28)[0])
        at += header + length


def looked_up():
    rows = re.search(r"#define TERN_KERNELS\(ROW\)(.*?)\n\n", (KERNELS / "kernels.hpp").read_text(), re.S)[1]
    pushes = (KERNELS.parent / "base/wire.hpp").read_text()
    suffixes = re.search(r"#define TERN_REDUCE_KERNELS\(X\)(.*?)\n\n", (KERNELS / "kernels/arguments.hpp").read_text(), re.S)[1]
    return re.findall(r"ROW\((\w+)\)", rows) + re.findall(r"ROW\(k\w+, \w+, (\w+),", pushes) + ["reduce_" + one for one in re.findall(r"X\((\w+),", suffixes)]


def missing(file):
    there = set(re.findall(r"\.entry tern_(\w+)", Path(file).read_text()))
    lacking = [name for name in looked_up() if name not in there]
    print(f"{len(looked_up())} kernels are looked up, {len(there)} are present", *(f"no tern_{name}" for name in lacking), sep="\n")
    sys.exit(1 if lacking or len(looked_up()) < 8 else 0)


{"code": code, "missing": missing}[sys.argv[1]](sys.argv[2])
