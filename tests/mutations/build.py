# SPDX-License-Identifier: Apache-2.0
"""The scratch clone, with all drawn mutations in one build."""
import os
import re
import shutil
import subprocess
import sys

import draw

FLAGS = "-O1"  # proofs and sweeps take minutes without optimization


def command(words, cwd, log, env=None):
    with open(log, "ab") as out:
        return subprocess.run(words, cwd=cwd, stdout=out, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}).returncode


class Tree:
    def __init__(self, top, path, jobs):
        self.top, self.path, self.build, self.prefix = top, path, path / "_build", path / "_install"
        self.jobs, self.log = jobs, path / "mutations.log"
        self.originals = {}

    def prepare(self):
        """Clones the last commit and configures a build tree. Edits in an older scratch clone are lost."""
        if not self.path.exists():
            subprocess.run(["git", "clone", "-q", str(self.top), str(self.path)], check=True)
        elif not self.log.exists():
            sys.exit(f"tests/mutations/run: {self.path} is no scratch clone of this command; remove it, or name another --tree")
        else:
            for words in (["fetch", "-q", "origin", "HEAD"], ["reset", "-q", "--hard", "FETCH_HEAD"]):
                subprocess.run(["git", *words], cwd=self.path, check=True)
        self.log.write_text("")
        (self.path / "tests/mutations").mkdir(exist_ok=True)
        shutil.copy2(self.top / "tests/mutations/switch.hpp", self.path / "tests/mutations")
        if not (self.build / "config.status").exists():
            self.must(["autoreconf", "-fi"], self.path)
            self.build.mkdir(exist_ok=True)
            self.must(["../configure", "--silent", f"--prefix={self.prefix}", "--with-cuda=no", f"CFLAGS={FLAGS}", f"CXXFLAGS={FLAGS}"],
                      self.build)

    def must(self, words, cwd=None):
        if command(words, cwd or self.build, self.log) != 0:
            sys.exit(f"tests/mutations/run: {' '.join(map(str, words))} failed; see {self.log}")

    def committed(self, name):
        return subprocess.run(["git", "show", f"HEAD:{name}"], cwd=self.path, stdout=subprocess.PIPE, text=True, check=True).stdout

    def compile(self, mutants, programs):
        """Returns the mutants that compile, and removes the others."""
        for mutant in mutants:
            self.originals.setdefault(mutant.name, self.committed(mutant.name))
        while True:
            draw.write(self.path, mutants, self.originals)
            self.log.write_text("")
            goals = [[], ["driver-built"], ["units-built", f"BUILD={programs}"]]
            if all(command(["make", "-s", "-k", f"-j{self.jobs}", *goal], self.build, self.log) == 0 for goal in goals):
                self.must(["make", "-s", "install"])
                return mutants
            wrong = self.wrong(mutants)
            if not wrong:
                sys.exit(f"tests/mutations/run: the build failed, and no mutation is named; see {self.log}")
            mutants = [mutant for mutant in mutants if mutant not in wrong]

    def wrong(self, mutants):
        """Mutants on lines with errors, else mutants in files with errors."""
        errors = re.findall(r"^(?:\.\./)*([\w/.-]+):(\d+):\d+: error", self.log.read_text(errors="replace"), re.M)
        lines = {(name, int(line)) for name, line in errors}
        files = {name for name, _ in errors}
        return ([mutant for mutant in mutants if (mutant.name, mutant.line) in lines] or
                [mutant for mutant in mutants if mutant.name in files])
