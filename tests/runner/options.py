# SPDX-License-Identifier: Apache-2.0
"""Options common to all commands."""
import argparse
import sys
from pathlib import Path

from . import TOP
from .processes import sanitizers

COMMAND = Path(sys.argv[0]).resolve()
SHOWN = str(COMMAND.relative_to(TOP)) if COMMAND.is_relative_to(TOP) else str(COMMAND)  # in messages


def parser(description, build=TOP / "_build/mpi-tests"):
    """Options of tests with mpicc and mpirun."""
    found = argparse.ArgumentParser(description=description.splitlines()[0])
    found.add_argument("--prefix", default=TOP / "_install", help="the installed Tern (default _install)")
    found.add_argument("--build", default=build, help="directory of compiled test programs")
    found.add_argument("--full", action="store_true", help="also long tests")
    found.add_argument("--timeout-scale", type=float, default=1.0, help="factor for every limit")
    found.set_defaults(ranks=None, sanitizers=None)
    return found


def with_ranks(found):
    found.add_argument("--ranks", type=int, action="append", help="only this number of ranks (repeatable)")
    found.add_argument("--sanitizers", metavar="LIST", help="those of the library's build: no scripts, and the programs are "
                       "built so too")
    return found


def with_patterns(found):
    found.add_argument("pattern", nargs="*", help="only tests with one of these in the path")
    return found


def refuse(message):
    sys.exit(f"{SHOWN}: {message}")


def need(folder, *files):
    for file in files:
        if not (Path(folder) / file).exists():
            refuse(f"{folder}/{file} is missing: ./quickstart build, or --prefix=DIR")


def no_test(patterns):
    refuse("no test's path contains " + " or ".join(patterns))


def without_scripts(tests, options):
    """Adds sanitizer flags."""
    if not options.sanitizers:
        return tests
    return [test for test in tests if not test.script and test.say["sanitizers"] == "yes"]


def joined(*environments):
    """Merges environments: the last value of a name wins, but values of TERN_TEST add up."""
    all_names = {}
    for one in environments:
        parts = [value["TERN_TEST"] for value in (all_names, one) if value.get("TERN_TEST")]
        all_names.update(one)
        if parts:
            all_names["TERN_TEST"] = ",".join(parts)
    return all_names


def environment(options, base):
    prefix = Path(options.prefix).resolve()
    env = dict(base, PREFIX=str(prefix), MPICC=str(prefix / "bin/mpicc"), MPICXX=str(prefix / "bin/mpicxx"),
               MPIFORT=str(prefix / "bin/mpifort"), MPIRUN=str(prefix / "bin/mpirun"), TOP=str(TOP), FULL="yes" if options.full else "")
    env["PATH"] = f"{prefix}/bin:{env['PATH']}"
    env.setdefault("TERN_COLL_TUNE", "off")  # keeps algorithms fixed
    if options.sanitizers:
        usual = sanitizers()
        usual["ASAN_OPTIONS"] += ":detect_stack_use_after_return=1"
        env = {**usual, **env, "CFLAGS": f"-fsanitize={options.sanitizers}"}
    return env
