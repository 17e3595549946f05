#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sentences.py [COMMIT]: ten sentences from each of 20 rooms, drawn by the commit's hash, for a check by meaning.

A reader writes down subject and claim of each sentence without the code, then opens FILE:LINE and compares."""
import os
import random
import re
import subprocess
import sys
from prose import WORD
from tree import TOP, code, text

ROOMS, EACH, LEAST = 20, 10, 6  # LEAST words: shorter comments are labels


def comments(name):
    """Runs of comment lines: first line's number, text."""
    found, start = [], 0
    for number, line in enumerate([*text(name).splitlines(), ""], 1):
        comment = re.match(r"^\s*//+[/!]*\s?(.*)", line)
        if comment and not comment[1].startswith(("SPDX", "NOLINT", "clang-format")):
            if not start:
                start, found = number, [*found, [number, ""]]
            found[-1][1] += " " + comment[1]
        else:
            start = 0
    return found


def sentences_of(room):
    for name in code():
        if os.path.dirname(name) != room:
            continue
        for number, run in comments(name):
            for sentence in re.split(r"(?<=[^.]\.)\s+", run.strip()):
                if len(WORD.findall(sentence)) >= LEAST:
                    yield f"{name}:{number}: {sentence}"


def main():
    commit = subprocess.run(["git", "-C", TOP, "rev-parse", sys.argv[1] if len(sys.argv) > 1 else "HEAD"],
                            capture_output=True, text=True, check=True).stdout.strip()
    draw = random.Random(commit)
    rooms = {}
    for room in sorted({os.path.dirname(name) for name in code()}):
        found = sorted(set(sentences_of(room)))
        if not room.startswith("tests") and len(found) >= EACH:
            rooms[room] = found
    print(f"# {commit}")
    for room in sorted(draw.sample(sorted(rooms), min(ROOMS, len(rooms)))):
        for sentence in draw.sample(rooms[room], EACH):
            print(sentence)


main()
