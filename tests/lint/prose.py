# SPDX-License-Identifier: Apache-2.0
"""The prose of a file (comments, long messages, pages), its sentences, and its pronouns.

Prose with a noun in each place has 1 to 4 of these pronouns per 100 words (counted in MSCCL++, Gloo, UCX and NCCL)."""
import re
from tree import CODE, SCRIPTS

PRONOUNS = frozenset("what who whom whose which so it its they them their there such ones those these one that".split())
WORD = re.compile(r"[A-Za-z']+")
MESSAGE = re.compile(r'"((?:[^"\\\n]|\\.){24,})"')


def prose(name, content):
    """The lines of prose. Messages shorter than 24 characters are mostly names and formats."""
    if name.endswith((".md", ".txt")):
        return [line for line in re.sub(r"```.*?```", " ", content, flags=re.S).split("\n") if not line.startswith("|---")]
    if re.search(r"\.[1-9]$", name):
        return [line for line in content.split("\n") if not line.startswith('.\\"')]
    if name.endswith((*CODE, ".inc")):
        return re.findall(r"//+[ /!]*(.*)", content) + MESSAGE.findall(content)
    if name.endswith(SCRIPTS) or "." not in name.rsplit("/", 1)[-1]:
        return re.findall(r"(?:^|\s)#\s+(.*)", content)
    return []


def count(lines):
    """Words and pronouns."""
    words = WORD.findall(" ".join(lines))
    return len(words), sum(word.lower() in PRONOUNS for word in words)


def sentences(lines):
    return [one.strip() for one in re.split(r"(?<=[.;:])\s+", " ".join(lines)) if one.strip()]


def pronouns_of(sentence):
    return sum(word.lower() in PRONOUNS for word in WORD.findall(sentence))
