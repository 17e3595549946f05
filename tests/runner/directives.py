# SPDX-License-Identifier: Apache-2.0
"""Directives in the head of a test's source: `// word: value` (Fortran: `! word: value`) lines, and variants with further lines.

tests/mpi/README.md lists the words and the rules of variants."""
import re
import sys

from . import TOP

HEAD = 60  # lines
DIRECTIVE = re.compile(r"^\s*(?://|#|!|/?\*)\s*([a-z][a-z0-9-]*):\s*(.*?)\s*(?:\*/)?$")
VARIANT_NAME = re.compile(r"^[a-z0-9_]+$")
INDENTED = re.compile(r"^(?://|#|!)(?: {2,}|\t)\S")
MERGED = re.compile(r"^(?://|#|!) .*\S (?:ranks: (?:\d|singleton)|timeout: \d|env: [A-Z_]+=|cflags: -|expect-\w+: \S|variant: \w)")
# Default value of each word.
KNOWN = {"ranks": "1 2 4", "env": "", "args": "", "mpirun": "", "timeout": "60", "expect-exit": "0",
         "expect-stderr": None, "expect-stdout": None, "prints": None, "cflags": "", "full": None,
         "sanitizers": "yes", "transport": "any", "waits": None, "alone": None, "full-ranks": "",
         # tests/gpu
         "configurations": "1 2-apart", "full-configurations": "", "cuda": "yes", "queues": "any",
         # tests/hosts
         "hosts": "yes", "shapes": "2x2", "messages": "yes", "network": "", "launchers": "slurm prte"}
EXAMPLES = {"ranks": "1 4", "timeout": "120"}  # of examples/
ADD_UP = {"env": " ", "prints": "\n"}


class Mistake(Exception):
    """A faulty head."""


def read_head(lines, known):
    """Returns the head's lines by word, and each variant's lines without inherited lines."""
    head, variants, into, own = {}, {}, None, None
    for line in lines[:HEAD]:
        if MERGED.match(line):
            raise Mistake(f"this says how the test is run, and needs a line of its own: {line}")
        if own is not None and not INDENTED.match(line):
            own = None  # the variant's lines are indented below its name
        into = head if own is None else own
        found = DIRECTIVE.match(line)
        if not found:
            continue
        word, value = found.groups()
        if word == "variant" and own is None:
            if not VARIANT_NAME.match(value) or value in variants:
                raise Mistake(f"a variant needs a name of its own, of a-z, 0-9 and _: {line}")
            own = variants[value] = {}
        elif own is not None and word not in known:
            raise Mistake(f"there is no line \"{word}:\" that a variant could have: {line}")
        elif own is None and variants and word in known:
            raise Mistake(f"below a variant: indent it as the variant's, or put it above: {line}")
        elif word in known:
            into[word] = into[word] + ADD_UP[word] + value if word in into and word in ADD_UP else value
    return head, variants


class Test:
    """A source or a variant, with the directives of its head."""

    def __init__(self, source, variant=None):
        self.source, self.variant, self.script = source, variant, source.suffix == ".sh"
        path = str(source.relative_to(TOP))
        suffix = f":{variant}" if variant else ""
        self.name, self.short = path + suffix, source.stem + suffix
        lines = source.read_text(errors="replace").splitlines()
        try:
            head, variants = read_head(lines, KNOWN)
        except Mistake as mistake:
            sys.exit(f"tests/runner: {path}: {mistake}")
        self.variants, own = tuple(variants), variants.get(variant, {})
        self.say = {**KNOWN, **(EXAMPLES if path.startswith("examples/") else {}), **head, **own}
        apart = own.get("cflags", head.get("cflags", "")) != head.get("cflags", "")
        self.binary = path.rsplit(".", 1)[0] + (f".{variant}" if apart else "")

    def counts(self, only, full=False):
        """Requested numbers of ranks may come from the numbers for --full."""
        if self.script:
            return [None]
        words = self.say["ranks"].split() + (self.say["full-ranks"].split() if full or only else [])
        wanted = sorted({None if word == "singleton" else int(word) for word in words}, key=lambda n: n or 0)
        return [n for n in wanted if only is None or n in only]

    def timeout(self, scale):
        return float(self.say["timeout"]) * scale


def matches(name, patterns):
    """A pattern is part of a name. A whole path selects the source without variants."""
    return not patterns or any(part in name and not name.startswith(part + ":") for part in patterns)


def discover(patterns, folders, kind=Test):
    """The tests of these folders; variants follow their source."""
    sources = [path for folder in folders for suffix in (".c", ".cc", ".f", ".f90", ".sh")
               for path in sorted((TOP / folder).rglob("*" + suffix))]
    tests = [test for path in sources for test in with_variants(path, kind)]
    return [test for test in tests if matches(test.name, patterns)]


def with_variants(source, kind=Test):
    first = kind(source)
    return [first, *(kind(source, name) for name in first.variants)]
