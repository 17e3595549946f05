#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generates the Fortran interface from the table of MPI functions and from mpi.h.

  generate.py --top DIR --out gen     gen/fortran/entries.inc, gen/mpif/mpif.h, gen/mpif/mpi.f90, gen/mpif/mpi_f08.f90
  generate.py --top DIR --list        procedures and parameters, one procedure a line
"""
import argparse
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, '../abi'), os.path.join(HERE, '../base')]
import emit_entries  # noqa: E402
import emit_modules  # noqa: E402
import table  # noqa: E402
import view  # noqa: E402
from generated import write  # noqa: E402


def read(path):
    with open(path, encoding='utf-8') as file:
        return file.read()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument('--top', required=True)
    options.add_argument('--out')
    options.add_argument('--list', action='store_true')
    chosen = options.parse_args()
    procedures = [*view.procedures(table.read(f'{chosen.top}/src/abi/functions.txt')), *view.fortran_only()]
    if chosen.list:
        for p in procedures:
            print(p.name, *(f'{q.direction}:{q.kind}{"[]" if q.array else ""}:{q.name}' for q in p.params))
    if chosen.out:
        header = read(f'{chosen.top}/include/mpi.h')
        write(f'{chosen.out}/fortran/entries.inc', emit_entries.entry_file(procedures))
        write(f'{chosen.out}/fortran/compared.inc', emit_modules.compared())
        write(f'{chosen.out}/mpif/mpif.h', emit_modules.mpif_h(header))
        write(f'{chosen.out}/mpif/mpi.f90', emit_modules.module_mpi(header, procedures))
        write(f'{chosen.out}/mpif/mpi_f08.f90', emit_modules.module_f08(header, procedures, read(os.path.join(HERE, 'callbacks.f90'))))


if __name__ == '__main__':
    main()
