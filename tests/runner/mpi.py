# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of many processes: each program under mpirun, at each number of ranks in its head.

A test is a C or C++ file of tests/mpi (or an example, those of manual pages too), compiled by the installed mpicc or mpicxx
alone, or a shell script that gets MPICC, MPICXX, MPIRUN and PREFIX."""
import os

from . import options as common
from .directives import discover
from .programs import Runner

FOLDERS = ("tests/mpi", "examples", "src/abi/pages")


def main():
    parser = common.with_patterns(common.with_ranks(common.parser(__doc__)))
    parser.add_argument("--transport", metavar="LIST", help="TERN_TRANSPORT of all tests: without those that need shared memory")
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
