# SPDX-License-Identifier: Apache-2.0
"""Checks the machine code of an image: `sass.py FATBIN` disassembles the image (cuobjdump, nvdisasm in PATH) and prints each fault; exit 1 after a fault.

A kernel must have
  no constant load (ld.global.nc, CONSTANT), because other ranks write the memory;
  no local memory (LDL, STL): no spill, no array on a stack;
  at most 32,768 registers a block: two blocks fit a multiprocessor, also beside a user's kernel;
  at least as many loads in a row as FLIGHT says;
  the whole accesses of its wire: WHOLE."""
import re
import subprocess
import sys

THREADS, MOST_REGISTERS = 256, 32768  # of a block: Kernels::launch (src/cuda/kernels.cc)
# Loads in a row keep a link busy.
FLIGHT = {"tern_push_bulk": 8, "tern_push_lines": 4, "tern_push": 16}
# An access in two parts may read or write torn data.
WHOLE = {
    "tern_push": ("LDG.E.64.STRONG.SYS", "STG.E.64.STRONG.SYS"),
    "tern_push_lines": ("LDG.E.128.STRONG.SYS", "STG.E.128.STRONG.SYS"),
}


def said(*command):
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError:
        sys.exit(f"{command[0]} is not in PATH: tests/images/setup-disassembler DIR puts it into DIR/bin")
    except subprocess.CalledProcessError as error:
        sys.exit(f"{' '.join(command)}: {error.stderr or error.stdout}")


def architectures(text, heading):
    """Yields (architecture, kernel, lines) of cuobjdump's output."""
    arch = None
    for part in re.split(rf"^(?=\s*arch = |\s*{heading})", text, flags=re.M):
        if found := re.match(r"\s*arch = (\w+)", part):
            arch = found[1]
        elif found := re.match(rf"\s*{heading}\s*(\w+)", part):
            yield arch, found[1], part


def faults_of_code(kernel, code):
    words = [word for word in re.findall(r"\b[A-Z][A-Z0-9_]*(?:\.[A-Z0-9_.]+)?", code)]
    for word in sorted(set(words)):
        if word.startswith("LDG") and "CONSTANT" in word:
            yield f"{word} is a constant load of memory that other ranks may write"
        if re.match(r"(LDL|STL)\b", word):
            yield f"{word} is an access to local memory (a spill, or an array that is no register)"
    for whole in WHOLE.get(kernel, ()):
        if whole not in words:
            yield f"no {whole}: the wire's access is not whole"
    if (most := loads_in_flight(words)) < FLIGHT.get(kernel, 0):
        yield f"at most {most} loads of 8 or 16 bytes in flight, fewer than {FLIGHT[kernel]}"


def loads_in_flight(words):
    """The most loads in a row; stores, calls, shuffles and barriers end a row."""
    most = row = 0
    for word in words:
        if re.match(r"LDG\.E\.(64|128)", word):
            row += 1
            most = max(most, row)
        elif re.match(r"(STG|CALL|SHFL|MEMBAR|BAR)\b", word):
            row = 0
    return most


def main():
    image, count, faults = sys.argv[1], 0, []
    for arch, kernel, code in architectures(said("cuobjdump", "-sass", image), "Function :"):
        count += 1
        faults += [f"{arch} {kernel}: {fault}" for fault in faults_of_code(kernel, code)]
    for arch, kernel, usage in architectures(said("cuobjdump", "-res-usage", image), "Function"):
        registers, stack = (int(re.search(rf"{word}:(\d+)", usage)[1]) for word in ("REG", "STACK"))
        print(f"{arch} {kernel}: {registers} registers, {stack} bytes of stack")
        if stack > 0:
            faults.append(f"{arch} {kernel}: {stack} bytes of stack")
        if registers * THREADS > MOST_REGISTERS:
            faults.append(f"{arch} {kernel}: {registers} registers of {THREADS} threads are {registers * THREADS}, more than {MOST_REGISTERS} a block")
    print(f"{count} kernels", *faults, sep="\n")
    if count == 0:
        sys.exit(f"{image} has no kernel")
    sys.exit(1 if faults else 0)


main()
