# SPDX-License-Identifier: Apache-2.0
"""Draws lines from a room's sources by a seed, and writes each with its mutation behind a switch."""
import random
import re

SUFFIXES = (".cc", ".cu", ".cuh")
SWAPS = [(" < ", " <= "), (" <= ", " < "), (" > ", " >= "), (" >= ", " > "), (" == ", " != "), (" != ", " == "), (" + ", " - "),
         (" - ", " + "), (" && ", " || "), (" || ", " && "), ("true", "false"), ("false", "true")]
KEYWORDS = ("return", "if", "for", "while", "switch", "case", "delete", "throw", "using", "static_assert", "else", "goto", "do")
STRINGS = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'')


class Mutant:
    """`text` is the complete new line, with %d for the mutant's number."""

    def __init__(self, room, name, line, change, text, number=None):
        self.room, self.name, self.line, self.change, self.text, self.number = room, name, line, change, text, number

    def place(self):
        return f"{self.name}:{self.line}"

    def key(self):
        return f"{self.place()} {self.change}"


def blank(text):
    return STRINGS.sub(lambda found: '"' + " " * (len(found[0]) - 2) + '"', text)


def closing(text, at):
    """Returns the index of the closing bracket for the bracket at `at`, or None."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] in "([{") - (text[i] in ")]}")
        if depth == 0:
            return i
    return None


def balanced(text):
    depth = 0
    for char in blank(text):
        depth += (char in "([{") - (char in ")]}")
        if depth < 0:
            return False
    return depth == 0


def changes(expression, condition):
    """Yields pairs: description, changed expression."""
    plain = blank(expression)
    for old, new in SWAPS:
        pattern = re.escape(old) if old[0] == " " else rf"\b{old}\b"
        for found in re.finditer(pattern, plain):
            yield f"{old.strip()} to {new.strip()}", expression[:found.start()] + new + expression[found.end():]
    for found in re.finditer(r"(?<![\w.'])\d+(?![\w.'])", plain):
        more = str(int(found[0]) + 1)
        yield f"{found[0]} to {more}", expression[:found.start()] + more + expression[found.end():]
    if condition:
        yield "negated", f"!({expression})"


def places_of(line):
    """Yields the expressions of a one-line statement: begin, end, is a condition."""
    plain = blank(line)
    word = re.match(r"\s*(?:\} )?(?:else )?(if|while|for) \(", plain)
    if word:
        begin, end = word.end(), closing(plain, word.end() - 1)
        if end is None:
            return
        parts = plain[begin:end].split(";")
        if word[1] == "for" and len(parts) == 3 and parts[1].strip():
            begin, end = begin + len(parts[0]) + 2, begin + len(parts[0]) + 1 + len(parts[1])
        elif word[1] == "for" or len(parts) > 1 or re.search(r" = ", parts[0]):
            return
        yield begin, end, True
        return
    if not plain.endswith(";"):
        return
    value = re.match(r"\s*return (?![{\[])", plain) or re.match(
        r"\s+(?!.*\b(?:constexpr|static|using|k[A-Z]\w*)\b)[\w:<>*., \[\]()>-]+ [-+|&]?= (?![{\[])", plain)
    # Several declarators would become one expression.
    if value and balanced(line[value.end():-1]) and " = " not in plain[value.end():]:
        yield value.end(), len(line) - 1, False


def mutations_of(line):
    """Yields pairs: description, and the line with both expressions behind the switch."""
    for begin, end, condition in places_of(line):
        expression = line[begin:end]
        cast = "bool" if condition else ""
        for what, changed in changes(expression, condition):
            yield what, f"{line[:begin]}tern_mutant(%d) ? {cast}({changed}) : {cast}({expression}){line[end:]}"
    call = re.match(r"(\s+)([A-Za-z_][\w.:\[\]>-]*\(.*\));$", blank(line))
    if call and balanced(line[:-1]) and not re.match(rf"(?:{'|'.join(KEYWORDS)}|[A-Z_]+)\b|.*\.reserve\(", call[2]):
        yield "left out", f"{call[1]}(tern_mutant(%d) ? void() : void({line.strip()[:-1]}));"


def candidates(tree, room, folders):
    """Returns a list of mutations for each suitable line."""
    found = []
    for folder in folders:
        path = tree / folder
        for file in [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES):
            name, before = str(file.relative_to(tree)), ""
            for number, line in enumerate(file.read_text().splitlines(), 1):
                # Skips continued lines, macros and format strings.
                begins = not before or before[-1] in ";{})" or before.lstrip().startswith("//") or before.endswith((":", "else"))
                if begins and not line.lstrip().startswith(("#", "//")) and "%" not in line and "//" not in line:
                    mutants = [Mutant(room, name, number, what, text) for what, text in mutations_of(line)]
                    if mutants:
                        found.append(mutants)
                before = line.rstrip()
    return found


def draw(tree, rooms, seed, each):
    """Draws `each` mutants per room, on different lines, in the order of judgement."""
    drawn = []
    for room, (folders, _) in rooms.items():
        chance = random.Random(f"{seed} {room}")
        lines = candidates(tree, room, folders)
        for mutants in chance.sample(lines, min(each, len(lines))):
            drawn.append(chance.choice(mutants))
    for number, mutant in enumerate(drawn):
        mutant.number = number
    return drawn


def write(tree, mutants, originals):
    """Writes the sources with these mutants. `originals` has the text of each file without mutants."""
    for name, text in originals.items():
        lines = text.splitlines()
        here = [mutant for mutant in mutants if mutant.name == name]
        for mutant in here:
            lines[mutant.line - 1] = mutant.text.replace("%d", str(mutant.number), 1)
        if here:  # replaces the first comment, so line numbers do not change
            lines[0] = '#include "tests/mutations/switch.hpp"'
        new = "\n".join(lines) + "\n"
        if (tree / name).read_text() != new:
            (tree / name).write_text(new)
