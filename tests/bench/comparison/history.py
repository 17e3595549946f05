# SPDX-License-Identifier: Apache-2.0
"""Has the measured code changed since a commit? Comments and white space do not count as code."""

import re
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
CODE = (".cc", ".hpp", ".c", ".h", ".cu", ".cuh", ".py")
LIBRARY = ("btl", "coll", "include", "pml", "src")  # the rooms of the library
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
HASH = re.compile(r"[0-9a-f]{7,40}")


def git(*arguments, top=TOP):
    """The output of a git command, or None if git fails or is missing."""
    try:
        return subprocess.run(["git", "-C", str(top), *arguments], capture_output=True, text=True, check=True, errors="replace").stdout
    except (OSError, subprocess.CalledProcessError):
        return None


def files_of(commit, names, top=TOP):
    """The texts of a commit's files by name, by one git process; missing files are left out."""
    try:
        done = subprocess.run(["git", "-C", str(top), "cat-file", "--batch"], capture_output=True, check=True,
                              input="".join(f"{commit}:{name}\n" for name in names).encode())
    except (OSError, subprocess.CalledProcessError):
        return {}
    texts, at = {}, 0
    for name in names:
        end = done.stdout.index(b"\n", at)
        words = done.stdout[at:end].split()  # hash, type, size; or the name and `missing`
        at = end + 1
        if len(words) == 3 and words[1] == b"blob":
            texts[name] = done.stdout[at:at + int(words[2])].decode(errors="replace")
            at += int(words[2]) + 1
    return texts


def code_of(source, name):
    if name.endswith(".py"):
        return "".join(re.sub(r"(?m)^\s*#.*$", "", source).split())
    return "".join(TOKEN.sub(lambda found: " " if found[0].startswith("/") else found[0], source).split())


class History:
    """Answers for one checkout; each answer is computed once."""

    def __init__(self, top=TOP):
        self.top, self.answers = top, {}
        shallow = git("rev-parse", "--is-shallow-repository", top=top)
        self.is_complete = shallow is not None and shallow.strip() == "false"

    def has_changed(self, commit, paths):
        """None without a history to ask. True also for a commit missing in a complete history."""
        key = commit, tuple(paths)
        if key not in self.answers:
            self.answers[key] = self.ask(commit, paths)
        return self.answers[key]

    def ask(self, commit, paths):
        if not HASH.fullmatch(commit):
            return True
        if git("cat-file", "-e", f"{commit}^{{commit}}", top=self.top) is None:
            return True if self.is_complete else None
        names = git("diff", "--name-only", "--no-renames", commit, "--", *paths, top=self.top)
        if names is None:
            return None
        names = [name for name in names.splitlines() if name.endswith(CODE)]
        old = files_of(commit, names, self.top)
        return any(name not in old or self.differs(old[name], name) for name in names)

    def differs(self, old, name):
        here = self.top / name
        return not here.is_file() or code_of(old, name) != code_of(here.read_text(errors="replace"), name)


def commit_here(top=TOP):
    """The short hash of this checkout's commit, with a remark if the library's sources differ from the commit."""
    commit = git("rev-parse", "--short=12", "HEAD", top=top)
    if commit is None:
        return "unknown"
    return commit.strip() + ("" if git("diff", "--quiet", "HEAD", "--", *LIBRARY, top=top) is not None else " and changes")


def newer_source(library, top=TOP):
    """A source that is newer than the file `library`, or None."""
    names = (git("ls-files", "--", *LIBRARY, top=top) or "").splitlines()
    built = library.stat().st_mtime
    return next((name for name in names if name.endswith(CODE) and (top / name).is_file() and (top / name).stat().st_mtime > built),
                None)
