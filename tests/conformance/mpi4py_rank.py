# SPDX-License-Identifier: Apache-2.0
"""A rank of mpi4py's tests: runs mpi4py's test/main.py, and records the outcome of each test.

CONFORMANCE_RECORDS names a folder; each rank writes a file with a line of JSON at the begin and the end of a test.
CONFORMANCE_SKIP has patterns of skipped tests, one per line.
"""
import fnmatch
import json
import os
import runpy
import sys
import unittest


class Result(unittest.TextTestResult):
    """Prints unittest's output, and a line for each outcome. The worst part of a test counts."""
    file = open(os.path.join(os.environ["CONFORMANCE_RECORDS"], str(os.getpid())), "w", buffering=1)

    def write(self, test, outcome, detail=""):
        self.file.write(json.dumps([test.id(), outcome, detail]) + "\n")

    def startTest(self, test):
        super().startTest(test)
        self.write(test, "began")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.write(test, "passed")

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.write(test, "failed", str(err[1]))

    def addError(self, test, err):
        super().addError(test, err)
        self.write(test, "failed", f"{err[0].__name__}: {err[1]}")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.write(test, "skipped", reason)

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.write(test, "passed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.write(test, "failed", "succeeds, and mpi4py expects a failure")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err:
            self.write(test, "failed", f"{subtest}: {err[1]}")


SKIPPED = os.environ["CONFORMANCE_SKIP"].split("\n")
run_test = unittest.TestCase.run


def run_unless_skipped(test, result=None):
    if not any(fnmatch.fnmatchcase(test.id(), pattern) for pattern in SKIPPED):
        return run_test(test, result)
    result.startTest(test)
    result.addSkip(test, "listed")
    result.stopTest(test)
    return result


if __name__ == "__main__":
    unittest.TestCase.run = run_unless_skipped
    unittest.TextTestRunner.resultclass = Result
    main, *sys.argv[1:] = sys.argv[1:]
    sys.argv[0] = main
    runpy.run_path(main, run_name="__main__")
