# SPDX-License-Identifier: Apache-2.0
"""The committed list of failing runs, verdicts and figures.

A line at the left margin begins a group: `skip`, `fails` or `unsteady` and the reason, or `with`, words for mpirun, a
semicolon and the reason: these runs must pass with the words. Indented lines are names of runs; * matches any text.
"""
import collections
import re
import threading
import time

KINDS = ("skip", "fails", "unsteady", "with")
SHOWN = 30  # lines of output of a failure


class Group:
    def __init__(self, kind, reason):
        self.kind, self.reason = kind, reason
        self.patterns = []

    def pattern_of(self, name):
        return next((text for text, pattern in self.patterns if pattern.fullmatch(name)), None)


class Expected:
    def __init__(self, file):
        self.file = file
        self.groups = []
        for number, line in enumerate(file.read_text().splitlines(), 1):
            if not line.strip() or line.startswith("#"):
                continue
            if line[0].isspace():
                if not self.groups:
                    raise SystemExit(f"{file}:{number}: a name before the first reason")
                text = line.strip()
                self.groups[-1].patterns.append((text, re.compile(".*".join(map(re.escape, text.split("*"))))))
                continue
            kind, _, reason = line.partition(" ")
            if kind not in KINDS or not reason.strip():
                raise SystemExit(f"{file}:{number}: a group begins with {', '.join(KINDS)} and a reason: {line}")
            self.groups.append(Group(kind, reason.strip()))

    def of(self, name, kinds=KINDS):
        return next((group for group in self.groups if group.kind in kinds and group.pattern_of(name)), None)

    def words(self, name):
        group = self.of(name, ("with",))
        return group.reason.partition(";")[0].split() if group else []

    def unused(self, names):
        return [text for group in self.groups for text, pattern in group.patterns
                if not any(map(pattern.fullmatch, names))]


class Verdicts:
    """Prints a line per run, and counts. Expected failures count as skipped in the total, and separately in the figures."""

    def __init__(self, expected, results, resume=False):
        """`results`: a file with the names of passed runs. With `resume`, these runs count as passed."""
        self.expected = expected
        self.before = set(results.read_text().splitlines()) if resume and results.is_file() else set()
        results.parent.mkdir(parents=True, exist_ok=True)
        self.results = open(results, "w", buffering=1)
        self.counts = collections.Counter()
        self.reasons = {kind: collections.Counter() for kind in KINDS}
        self.names = []
        self.lock = threading.Lock()

    def line(self, verdict, text, output=""):
        print("\n".join([f"{verdict} {text}", *("    " + line for line in output.strip().splitlines()[-SHOWN:])]), flush=True)

    def passed_before(self, name):
        return name in self.before and not self.expected.of(name, ("fails", "unsteady"))

    def skipped(self, name, reason):
        with self.lock:
            self.names.append(name)
            self.reasons["skip"][reason] += 1
            self.counts["SKIP"] += 1
            self.line("SKIP", f"{name}: {reason}")

    def ran(self, name, complaint, output="", seconds=0.0):
        group = self.expected.of(name, ("fails", "unsteady"))
        took = f" ({seconds:.1f} s)" if seconds else ""
        with self.lock:
            if not complaint:
                self.results.write(name + "\n")
            self.names.append(name)
            self.counts["runs"] += 1
            if complaint and group:
                self.reasons[group.kind][group.reason] += 1
                self.counts["SKIP"] += 1
                self.line("SKIP", f"{name}{took}: fails, as expected: {group.reason}")
            elif complaint:
                self.counts["FAIL"] += 1
                self.line("FAIL", f"{name}{took}: {complaint}", output)
            elif group and group.kind == "fails":
                self.counts["FAIL"] += 1
                self.line("FAIL", f"{name}{took}: passes, though {self.expected.file.name} says that it fails "
                          f"({group.reason}): remove it there")
            else:
                given = self.expected.of(name, ("with",))
                if given:
                    self.reasons["with"][given.reason] += 1
                self.counts["PASS"] += 1
                self.line("PASS", name + took)

    def figures(self, **more):
        """Lines of key and value. Kinds of groups have the number of runs and the reason; `with` counts passed runs."""
        lines = [f"{key} {value}" for key, value in more.items()]
        lines += [f"date {time.strftime('%Y-%m-%d')}", f"runs {self.counts['runs']}", f"passed {self.counts['PASS']}",
                  f"failed {self.counts['FAIL']}"]
        for kind in KINDS:
            lines += [f"{kind} {number} {reason}" for reason, number in sorted(self.reasons[kind].items())]
        return "\n".join(lines) + "\n"

    def total(self):
        return "{PASS} passed, {FAIL} failed, {SKIP} skipped".format(PASS=self.counts["PASS"], FAIL=self.counts["FAIL"],
                                                                    SKIP=self.counts["SKIP"])
