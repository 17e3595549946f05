# SPDX-License-Identifier: Apache-2.0
"""Runs rows of tests on the scratch tree with one active mutation, up to the first failure."""
import os
import select
import signal
import subprocess
import tempfile
import time
import uuid
from pathlib import Path

from rooms import LONG

PATIENCE = 60  # seconds, added to five times the row's time without a mutation


class Judge:
    def __init__(self, tree):
        self.tree = tree

    def words(self, row, full):
        suite, pattern = row
        tree, more = self.tree, LONG[suite][1] if full else []
        return {"unit": ["tests/unit/run", "--build", tree.build, *more, pattern],
                "mpi": ["tests/mpi/run", "--prefix", tree.prefix, "--build", tree.build / "mpi-tests", *more, pattern],
                "gpu": ["tests/gpu/run", "soft", "--prefix", tree.prefix, "--tree", tree.build, *more, pattern]}[suite]

    def run(self, row, env, limit, full=False):
        """Returns the first failure or None, and the seconds of the run."""
        mark = uuid.uuid4().hex
        env = {**os.environ, **(LONG[row[0]][0] if full else {}), **env, "MUTATION_MARK": mark}
        start = time.monotonic()
        child = subprocess.Popen(list(map(str, self.words(row, full))), cwd=self.tree.path, env=env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        failure, text = None, b""
        while failure is None:
            left = start + limit - time.monotonic()
            if left <= 0 or not select.select([child.stdout], [], [], left)[0]:
                failure = f"{row[1]} (still running)"
                break
            chunk = os.read(child.stdout.fileno(), 65536)
            if not chunk:
                break
            text += chunk
            bad = [line for line in text.decode(errors="replace").splitlines()[:None if chunk.endswith(b"\n") else -1]
                   if line.startswith("FAIL ")]
            failure = bad[0][5:].split(" (")[0].split(": ")[0] if bad else None
        if failure is not None:
            end_all(child, mark)
        if child.wait() != 0 and failure is None:
            failure = f"{row[1]} (exit {child.returncode})"
        child.stdout.close()
        end_all(None, mark)
        return failure, time.monotonic() - start

    def record(self, rows, note):
        """Runs each row without a mutation. Returns seconds, failure and executed mutants."""
        found = {}
        for row in rows:
            with tempfile.TemporaryDirectory() as seen:
                failure, seconds = self.run(row, {"TERN_MUTANTS_SEEN": seen}, 600)
                reached = sorted({int(path.rsplit(".", 1)[1]) for path in os.listdir(seen)})
            found[" ".join(row)] = {"seconds": round(seconds, 1), "failure": failure, "reached": reached}
            note(row, found[" ".join(row)])
        return found

    def first_kill(self, rows, number, record, full=False):
        """Returns the failure of the first row that fails with this mutation."""
        for row in rows:
            known = record[" ".join(row)]
            limit = PATIENCE + (20 if full else 5) * known["seconds"]
            failure, _ = self.run(row, {"TERN_MUTANT": str(number)}, limit, full)
            if failure is not None:
                return failure
        return None


def end_all(child, mark):
    needle = f"MUTATION_MARK={mark}".encode()
    if child is not None:
        child.kill()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and needle in (entry / "environ").read_bytes():
                os.kill(int(entry.name), signal.SIGKILL)
        except OSError:
            continue
