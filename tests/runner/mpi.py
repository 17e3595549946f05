# SPDX-License-Identifier: Apache-2.0
"""Runs programs of tests/mpi under mpirun, at each number of ranks in their heads.

A test is a C, C++ or Fortran file of tests/mpi, tests/fortran or an example (also of manual pages), compiled by the installed
mpicc, mpicxx or mpifort, or a shell script with MPICC, MPICXX, MPIRUN and PREFIX in its environment."""
import os
from pathlib import Path

from . import options as common
from .directives import discover
from .programs import Runner

FOLDERS = ("tests/mpi", "tests/fortran", "examples", "src/abi/pages")


def main():
    parser = common.with_patterns(common.with_ranks(common.parser(__doc__)))
    parser.add_argument("--transport", metavar="LIST", help="TERN_TRANSPORT of all tests, without tests of shared memory")
    options = parser.parse_intermixed_args()
    if options.transport:
        os.environ["TERN_TRANSPORT"] = options.transport
    common.need(options.prefix, "bin/mpicc", "bin/mpirun", "include/mpi.h")
    tests = common.without_scripts(discover(options.pattern, FOLDERS), options)
    if options.transport:
        tests = [test for test in tests if test.say["transport"] == "any"]
    if not (Path(options.prefix) / "bin/mpifort").exists():
        print("without the Fortran tests: this Tern was built without a Fortran compiler")
        tests = [test for test in tests if test.source.suffix not in (".f", ".f90")]
    if not tests:
        common.no_test(options.pattern)
    Runner(options).run_all(tests)
