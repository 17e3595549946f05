# SPDX-License-Identifier: Apache-2.0
"""`--update`: puts a run into docs/measurements/data and writes the pages anew."""

import os
import shlex
import sys
import time
from pathlib import Path

from . import data, history, machine, pages

BUSY = "_busy"  # suffix of figures measured beside other programs


def default_name(options):
    """From the benchmarks, and from options that change their meaning."""
    return "-".join([*(["hosts"] if getattr(options, "hosts", False) else []), (options.bench or "default").replace(",", "+"),
                     *([f"{'+'.join(map(str, options.ranks))}-ranks"] if options.ranks else []),
                     *([f"{options.hogs}-hogs"] if options.hogs else [])])


def portable(word):
    """A command's word without paths of this machine: relative to the checkout, or the last part."""
    parts = word.split("=") if not word.startswith("-") else [word]
    for place, part in enumerate(parts):
        path, comma, rest = part.partition(",")
        if os.path.isabs(path):
            inside = Path(path).is_relative_to(history.TOP)
            parts[place] = (str(Path(path).relative_to(history.TOP)) if inside else Path(path).name) + comma + rest
    return "=".join(parts)


def command():
    return shlex.join(["tests/bench/compare", *map(portable, sys.argv[1:])])


def begin(options, prefix):
    """Notes the commit before the run. Throws DataError if a source is newer than the library installed in `prefix`."""
    if options.update is None or options.commit:
        return
    built = prefix / "lib/libmpi_abi.so.1"
    newer = history.newer_source(built.resolve()) if built.exists() else None
    if newer:
        raise data.DataError(f"--update: {newer} is newer than {built}: build and install, or name the library's commit: --commit HASH")
    options.commit = history.commit_here()


def update(options, run):
    """Completes the run's head, and writes the data file and the pages. The run's head has `method`."""
    run.name = options.update or default_name(options)
    run.head = {"date": time.strftime("%Y-%m-%d %H:%M"), "commit": options.commit,
                "machine": machine.describe(), "command": command(), **run.head}
    if options.hogs:
        run.lines = [line._replace(figure=line.figure + BUSY) for line in run.lines]
    print("wrote", data.write(history.TOP / pages.FOLDER / "data", run).relative_to(history.TOP))
    changed, complaints = pages.write()
    print("\n".join([f"wrote {path.relative_to(history.TOP)}" for path in changed] + complaints))
