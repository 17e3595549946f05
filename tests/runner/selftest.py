# SPDX-License-Identifier: Apache-2.0
"""Tests of the runner without compilers: heads, variants, patterns, the sample of machines, processes."""
import os
import unittest

from . import machines, processes
from .directives import KNOWN, Mistake, matches, read_head

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
// A sentence with a word: of its own.
// ranks: 1 2 4
// env: TERN_EXPLAIN=1
// env: A=1
// cflags: -pthread
// variant: copied
//   The kernel copies.
//   ranks: 2
//   env: TERN_TEST=rma=copied
//   env: B=2
// variant: plain
#include <mpi.h>
"""


def read(text):
    return read_head(text.splitlines(), KNOWN)


def below(*lines):
    return read(HEAD.replace("// variant: plain", "\n".join(lines)))


class Heads(unittest.TestCase):
    def test_lines_of_the_head(self):
        self.assertEqual(read(HEAD)[0], {"ranks": "1 2 4", "env": "TERN_EXPLAIN=1 A=1", "cflags": "-pthread"})

    def test_a_variant_has_its_own_lines_alone(self):
        self.assertEqual(read(HEAD)[1], {"copied": {"ranks": "2", "env": "TERN_TEST=rma=copied B=2"}, "plain": {}})

    def test_a_script_has_other_comments(self):
        head = "#!/bin/bash\n# env: A=1\n# variant: b\n#   env: A=2\necho\n"
        self.assertEqual(read(head), ({"env": "A=1"}, {"b": {"env": "A=2"}}))

    def test_a_variant_ends_at_the_first_line_that_is_not_indented(self):
        self.assertEqual(below("// A sentence.")[1], {"copied": {"ranks": "2", "env": "TERN_TEST=rma=copied B=2"}})

    def test_mistakes_are_refused(self):
        for lines in (["// timeout: 5"], ["// A sentence.", "//   timeout: 5"], ["// variant: copied"], ["// variant: a b"], ["// variant: c", "//   rank: 2"],
                      ["// It is slow. timeout: 5"]):
            with self.assertRaises(Mistake, msg=lines):
                below(*lines)

    def test_an_indented_line_of_no_variant_is_the_heads(self):
        self.assertEqual(read("//   ranks: 3\n")[0], {"ranks": "3"})


class Patterns(unittest.TestCase):
    def test_a_part_of_the_path_takes_the_variants_too(self):
        for pattern in ("rma_sync", "mpi/rma", "rma_sync.c:copied", ":copied"):
            self.assertTrue(matches("tests/mpi/rma_sync.c:copied", [pattern]), pattern)

    def test_a_whole_path_is_the_source_alone(self):
        self.assertTrue(matches("tests/mpi/rma_sync.c", ["tests/mpi/rma_sync.c"]))
        self.assertFalse(matches("tests/mpi/rma_sync.c:copied", ["tests/mpi/rma_sync.c"]))


class Sample(unittest.TestCase):
    def runs(self, numbers, *names):
        return machines.sample([(ranks, name) for ranks in numbers for name in names])

    def test_three_ranks_are_seen_on_the_other_machine(self):
        self.assertEqual(self.runs((2, 3, 4), "1", "4-peers"), [(2, "4-peers"), (3, "1"), (4, "4-peers")])

    def test_one_machine_has_all_numbers(self):
        self.assertEqual(self.runs((2, 3, 4), "4-peers"), [(2, "4-peers"), (3, "4-peers"), (4, "4-peers")])

    def test_three_ranks_stay_without_two_and_four(self):
        self.assertEqual(self.runs((2, 3), "1", "4-peers"), [(2, "4-peers"), (3, "1"), (3, "4-peers")])

    def test_one_number_of_ranks_is_seen_on_all_machines(self):
        self.assertEqual(self.runs((1, 2), "1"), [(1, "1"), (2, "1")])
        self.assertEqual(self.runs((2, ), "1", "4-peers"), [(2, "1"), (2, "4-peers")])


class Processes(unittest.TestCase):
    def run_shell(self, script, limit):
        done = processes.perform(["bash", "-c", script], os.environ, limit, merged=True)
        return done, processes.trouble(done, limit)

    def test_an_end_in_time(self):
        done, faults = self.run_shell("echo a; echo b >&2; exit 3", 20)
        self.assertEqual((done.code, done.out, faults), (3, "a\nb\n", []))

    def test_the_limit_ends_it(self):
        self.assertEqual(self.run_shell("sleep 100", 0.1)[1], ["still running after 0 s"])

    def test_a_process_left_behind_is_found_and_killed(self):
        done, faults = self.run_shell('setsid sleep 100 & until grep -q sleep "/proc/$!/comm"; do sleep 0.01; done; echo $!', 20)
        self.assertEqual(faults, [f"left running: sleep (pid {done.out.strip()})"])


def faults():
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromModule(__import__(__name__, fromlist=["x"])).run(result)
    found = [f"{test.id().split('.', 2)[2]}: {text.strip().splitlines()[-1]}" for test, text in result.failures + result.errors]
    return result.testsRun, found
