# SPDX-License-Identifier: Apache-2.0
"""A suite's lines: a verdict for each run, the command to repeat a failure, and totals."""
import shlex
import sys
import threading

MOST_LINES = 80  # of the output of a failed test


class Verdicts:
    def __init__(self):
        self.totals = {"PASS": 0, "FAIL": 0, "SKIP": 0}
        self.reporting = threading.Lock()

    def report(self, verdict, name, detail="", done=None, counts=None):
        """`done` has the seconds. `counts`: verdicts of a program with several tests."""
        took = f" ({done.seconds:.2f} s, CPU {done.worked:.2f} s)" if done else ""
        lines = [f"{verdict} {name}{took}"] + ["    " + line for line in detail.strip().splitlines()[-MOST_LINES:]]
        with self.reporting:
            for key, number in ({verdict: 1} if counts is None else counts).items():
                self.totals[key] += number
            print("\n".join(lines), flush=True)

    def fail(self, name, text, faults, again, done=None, counts=None):
        detail = "\n".join([text.rstrip(), *faults, "again: " + shlex.join(map(str, again))])
        self.report("FAIL", name, detail, done, counts)

    def end(self):
        print("{PASS} passed, {FAIL} failed, {SKIP} skipped".format(**self.totals))
        sys.exit(1 if self.totals["FAIL"] else 0)
