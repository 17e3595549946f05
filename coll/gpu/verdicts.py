# SPDX-License-Identifier: Apache-2.0
"""Compiles the record of GPU engines and wires run on hardware: verdicts.py --record verdicts.txt --out gen/gpu_verdicts.inc.
A line with an unknown name, or without date or device, ends the build."""
import argparse
import re
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
TABLES = {"coll/gpu/engine.hpp": "kEngineNames", "src/base/wire.hpp": "kWireNames"}


def names():
    found = []
    for file, table in TABLES.items():
        text = (TOP / file).read_text()
        words = re.search(rf"{table}\[\] = {{(.*?)}}", text, re.S)[1]
        found += re.findall(r'"(\w+)"', words)[1:]  # the first means "none"
        found += re.findall(r"ROW\(k\w+, (\w+),", text)
    return found


def rows(record):
    known, seen = names(), set()
    for number, line in enumerate(Path(record).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        at = f"{record}:{number}"
        if name not in known:
            sys.exit(f"{at}: {name} is not an engine or a wire; the names are {', '.join(known)}")
        if name in seen:
            sys.exit(f"{at}: {name} has two lines; keep one")
        if not re.fullmatch(r'\d{4}-\d\d-\d\d [^"\\]+', rest):
            sys.exit(f"{at}: after {name} come a date (2027-01-31) and the device, not \"{rest}\"")
        seen.add(name)
        yield f'    {{"{name}", "{rest}"}},'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", required=True)
    parser.add_argument("--out", required=True)
    asked = parser.parse_args()
    Path(asked.out).write_text("// Made by coll/gpu/verdicts.py.\n" + "".join(f"{row}\n" for row in rows(asked.record)))


main()
