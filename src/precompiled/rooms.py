#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes OUT/ROOM.PART.cc, which include a room's sources, evenly divided: rooms.mk, README.md."""
import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "base"))
from generated import write  # noqa: E402

HEAD = "// Made by src/precompiled/rooms.py.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--room", nargs="+", action="append", required=True,
                        metavar=("NAME:PARTS", "SOURCE"), help="a room, and its sources in order")
    options = parser.parse_args()
    for room, *sources in options.room:
        name, parts = room.split(":")
        for part in range(int(parts)):
            begin, end = (len(sources) * at // int(parts) for at in (part, part + 1))
            lines = [f'#include "{source}"\n' for source in sources[begin:end]]
            write(options.out / f"{name}.{part + 1}.cc", HEAD + "".join(lines))


if __name__ == "__main__":
    main()
