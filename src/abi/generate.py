#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates entry points, declarations and manual pages from the table of MPI functions.

  generate.py --table src/abi/functions.txt --out gen    gen/abi, gen/api/bodies.hpp, gen/man3, gen/recorded.inc
  generate.py --table src/abi/functions.txt --chapters   the chapters (one .cc file each)
  generate.py --table src/abi/functions.txt --prototypes all C prototypes of mpi.h, one a line
  generate.py --table src/abi/functions.txt --names      all names, one a line

Unchanged files keep their times, so nothing is rebuilt for them.
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '../base'), os.path.join(HERE, '../fortran')]
import emit_bodies  # noqa: E402
import emit_entry  # noqa: E402
import emit_man  # noqa: E402
import emit_traced  # noqa: E402
import pages  # noqa: E402
import table  # noqa: E402
from generated import write  # noqa: E402


def generate(rows, out):
    chapters = table.chapters(rows)
    names = emit_traced.recorded_names(rows)
    numbers = {name: number for number, name in enumerate(names)}
    write(f'{out}/recorded.inc', ''.join(f'"{name}",\n' for name in names))
    for chapter, functions in chapters.items():
        write(f'{out}/abi/{chapter}.cc', emit_entry.chapter_file(chapter, functions))
        write(f'{out}/abi/twin/{chapter}.cc', emit_entry.twin_file(chapter, functions, numbers))
    write(f'{out}/api/bodies.hpp', emit_bodies.bodies_file(chapters))
    missing = sorted(f.prefix + name for f in rows if not f.has_body for name, _ in f.forms())
    write(f'{out}/unsupported.inc', ''.join(f'"{name}",\n' for name in missing))
    words = emit_man.read_summaries(os.path.join(HERE, 'summaries.txt'))
    said = pages.Pages(os.path.join(HERE, 'pages'), rows)
    for function in rows:
        own = function.prefix + function.name
        write(f'{out}/man3/{own}.3', emit_man.page(function, said, words))
        for name, _ in function.forms():
            if name != function.name:
                write(f'{out}/man3/{function.prefix}{name}.3', f'.so man3/{own}.3\n')


def prototypes(rows):
    for function in rows:
        for name, large in () if function.extends else function.forms():
            yield function.prototype(large, suffix='_c' if name != function.name else '')


def main():
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument('--table', required=True)
    options.add_argument('--out')
    options.add_argument('--chapters', action='store_true')
    options.add_argument('--prototypes', action='store_true')
    options.add_argument('--names', action='store_true')
    chosen = options.parse_args()
    try:
        rows = table.read(chosen.table)
    except table.TableError as error:
        sys.exit(f'{chosen.table}: {error}')
    if chosen.out:
        try:
            generate(rows, chosen.out)
        except pages.PageError as error:
            sys.exit(str(error))
    if chosen.chapters:
        print('\n'.join(table.chapters(rows)))
    if chosen.prototypes:
        print('\n'.join(prototypes(rows)))
    if chosen.names:
        print('\n'.join(row.prefix + name for row in rows for name, _ in row.forms()))


if __name__ == '__main__':
    main()
