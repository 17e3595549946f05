# SPDX-License-Identifier: Apache-2.0
"""Runs programs of tests/mpi under mpirun, at each number of ranks in their heads.

A test is a C or C++ file of tests/mpi or an example (also of manual pages), compiled by the installed mpicc or mpicxx, or
a shell script with MPICC, MPICXX, MPIRUN and PREFIX in its environment."""
import os

from . import options as common
from .directives import discover
from .programs import Runner

FOLDERS = ("tests/mpi", "examples", "src/abi/pages")


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
    if not tests:
        common.no_test(options.pattern)
    Runner(options).run_all(tests)
