# SPDX-License-Identifier: Apache-2.0
"""The list of tests/bundle: `python3 -m runner.bundle` prints a line for each test of tests/gpu/mpi linked with the driver:
name, source, cflags, and the columns of the bundle's tests/list."""
from .directives import discover

COLUMNS = ("timeout", "expect-exit", "env", "mpirun", "args")


def row(test):
    ranks = f"{test.say['ranks']} {test.say['full-ranks']}"
    program = test.binary.rsplit("/", 1)[1]
    return "|".join([test.short, str(test.source), test.say["cflags"], program, ranks, *(test.say[word] for word in COLUMNS)])


if __name__ == "__main__":
    print(*(row(test) for test in discover([], ("tests/gpu/mpi", )) if not test.script and test.say["cuda"] == "yes"), sep="\n")
