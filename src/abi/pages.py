# SPDX-License-Identifier: Apache-2.0
"""Texts of the manual pages of section 3: pages/CHAPTER.txt as objects, and the text of each function.

src/abi/pages/README.md explains the form of an entry. A function without an entry uses the text of its
blocking form behind a text of shared.txt for nonblocking or persistent forms.
"""
import os
import re
from dataclasses import dataclass, field

import table

TEXTS = ('blocks', 'order', 'threads', 'device buffers', 'Tern')  # sections of paragraphs
LISTS = ('arguments', 'errors')                                  # sections of `name: text`
WORDS = ('see also', 'with')                                     # sections of words
SECTION = re.compile(rf'^({"|".join(TEXTS + LISTS + WORDS)}):(?: (.*))?$')
UNKNOWN = re.compile(r'^[a-z][a-z -]{2,20}:( |$)')
ITEM = re.compile(r'^ {2}(\w+): (.*)$')
BUFFERS = ('buffer', 'inplace')


class PageError(Exception):
    pass


def filled(text, words):
    """The text with words in place of {name}, {1} and so on."""
    return re.sub(r'\{([\w ]*)\}', lambda found: words.get(found[1], found[0]), text)


@dataclass
class Text:
    """The text of a page: paragraphs, sections of paragraphs, and lists. A paragraph is a list of lines."""
    paragraphs: list = field(default_factory=list)
    sections: dict = field(default_factory=dict)
    arguments: dict = field(default_factory=dict)
    errors: dict = field(default_factory=dict)
    related: list = field(default_factory=list)

    def behind(self, other):
        """Appends the paragraphs of `other`, and its sections and list items if not yet present."""
        self.paragraphs += other.paragraphs
        for mine, more in ((self.sections, other.sections), (self.arguments, other.arguments),
                           (self.errors, other.errors)):
            for key, value in more.items():
                mine.setdefault(key, value)
        self.related += [one for one in other.related if one not in self.related]

    def filled(self, words):
        """A copy with words in place of {name}, {1} and so on."""
        def fill(text):
            return filled(text, words)

        def lines(paragraphs):
            return [[fill(line) for line in paragraph] for paragraph in paragraphs]
        return Text(lines(self.paragraphs), {key: lines(value) for key, value in self.sections.items()},
                    {key: fill(value) for key, value in self.arguments.items()},
                    {fill(key): fill(value) for key, value in self.errors.items()},
                    [fill(one) for one in self.related])


@dataclass
class Entry:
    """One entry of a chapter file: for functions (with words for blanks), or a shared text."""
    chapter: str
    line: int
    functions: dict = field(default_factory=dict)  # name -> words
    shared: str = ''
    adds: bool = False
    text: Text = field(default_factory=Text)
    takes: list = field(default_factory=list)

    @property
    def place(self):
        return f'src/abi/pages/{self.chapter}.txt:{self.line}'


def head(text, chapter, line):
    """`[Send]`, `[A: noun, other; B: noun, other]`, `[+Iscan]`, `[*shared text]`."""
    entry = Entry(chapter, line)
    inner = ' '.join(text[1:-1].split())
    if inner.startswith('*'):
        entry.shared = inner[1:]
        return entry
    entry.adds = inner.startswith('+')
    prefix = 'MPIX_' if chapter in table.EXTENSIONS else 'MPI_'
    for one in inner.lstrip('+').split(';'):
        name, _, words = one.strip().partition(':')
        if not re.fullmatch(r'\w+', name):
            raise PageError(f'{entry.place}: cannot read the head "{text[:60]}"')
        given = [word.strip() for word in words.split(',') if word.strip()]
        entry.functions[name] = {'name': prefix + name, **{str(i): w for i, w in enumerate(given, 1)}}
    return entry


class Reader:
    """Reads one file, line by line; `into` is the current list of paragraphs."""

    def __init__(self, chapter):
        self.chapter, self.entries, self.entry = chapter, [], None
        self.section, self.into, self.paragraph = None, None, None

    def fail(self, number, why):
        raise PageError(f'src/abi/pages/{self.chapter}.txt:{number}: {why}')

    def read(self, path):
        begun, at = '', 0
        with open(path, encoding='utf-8') as lines:
            for number, line in enumerate(lines, 1):
                line = line.rstrip()
                if begun or re.match(r'\[[*+\w]', line):
                    begun, at = f'{begun} {line.strip()}'.strip(), at or number
                    if begun.endswith(']'):
                        self.begin(begun, at)
                        begun, at = '', 0
                elif not line.startswith('#'):
                    self.line(line, number)
        return self.entries

    def begin(self, text, number):
        self.entry = head(text, self.chapter, number)
        self.entries.append(self.entry)
        self.section, self.into, self.paragraph = None, self.entry.text.paragraphs, None

    def line(self, line, number):
        found = SECTION.match(line)
        if not line:
            self.paragraph = None
        elif self.entry is None:
            self.fail(number, 'text in front of the first [Name]')
        elif found:
            self.begin_section(found[1], found[2], number)
        elif self.section in LISTS:
            self.item(line, number)
        elif self.section in WORDS:
            self.words(line)
        elif UNKNOWN.match(line) and self.paragraph is None:
            self.fail(number, f'there is no section "{line.split(":")[0]}:"')
        else:
            self.add(line)

    def begin_section(self, name, rest, number):
        if name in self.entry.text.sections:
            self.fail(number, f'a second "{name}:"')
        self.section, self.paragraph = name, None
        if name in TEXTS:
            self.into = self.entry.text.sections[name] = []
            if rest:
                self.add(rest)
        elif name in WORDS:
            self.words(rest or '')

    def add(self, line):
        if self.paragraph is None:
            self.paragraph = []
            self.into.append(self.paragraph)
        self.paragraph.append(line)

    def words(self, line):
        into = self.entry.text.related if self.section == 'see also' else self.entry.takes
        into += line.replace(',', ' ').split()

    def item(self, line, number):
        into = self.entry.text.arguments if self.section == 'arguments' else self.entry.text.errors
        found = ITEM.match(line)
        if found:
            into[found[1]] = found[2]
        elif line.startswith('    ') and into:
            last = next(reversed(into))
            into[last] += ' ' + line.strip()
        else:
            self.fail(number, f'"{self.section}:" wants lines "  name: text"')


def base_of(function, names):
    """The blocking function of a nonblocking or persistent form, and the form."""
    if not function.params or function.params[-1].name != 'request':
        return None, ''
    name = function.name
    tries = [(name[:-5], 'persistent')] if name.endswith('_init') else []
    tries += [(name[1:].capitalize(), 'nonblocking')] if name.startswith('I') else []
    tries += [(name.replace('_i', '_', 1), 'nonblocking')] if '_i' in name else []
    return next(((base, form) for base, form in tries if base in names), (None, ''))


def listed(names):
    """`a`, `b` and `c`"""
    shown = [f'`{name}`' for name in names]
    return ', '.join(shown[:-1]) + ' and ' + shown[-1] if len(shown) > 1 else ''.join(shown)


def untouched(function):
    """Restrictions on buffers and arrays until the operation completes, in words."""
    data = [p for p in function.params if p.kind in BUFFERS]
    reads = [p.name for p in data if p.direction == 'in']
    writes = [p.name for p in data if p.direction != 'in']
    arrays = [p.name for p in function.params if p.array and p.direction == 'in']
    said = [f'{listed(reads)} must not be modified'] if reads else []
    said += [f'{listed(writes)} must be neither read nor modified'] if writes else []
    still = f'{listed(arrays)} must not be modified' if arrays else ''
    return {'untouched': ', and '.join(said), 'arrays': f', and {still}' if arrays else '',
            'arrays until freed': f'{still} until the request is freed.' if arrays else ''}


class Example:
    """A program of a page; its head lists functions shown, ranks and expected output."""

    def __init__(self, path):
        self.name = os.path.basename(path)
        with open(path, encoding='utf-8') as source:
            lines = source.read().rstrip().split('\n')
        begin = next((i for i, line in enumerate(lines) if not line.startswith('// ')), len(lines))
        self.code = '\n'.join(lines[begin:])
        said = [line[3:] for line in lines[:begin] if 'SPDX' not in line]
        self.sentence = ' '.join(line for line in said if not re.match(r'[a-z-]+: ', line))

        def after(word):
            return [line[len(word) + 2:] for line in said if line.startswith(f'{word}: ')]
        self.shows = [name for line in after('shows') for name in line.split()]
        self.prints = after('prints')
        self.ranks = ' '.join(after('ranks')).split()[:1]


class Pages:
    """All entries and examples. `folder` is src/abi/pages; `rows` the table's functions."""

    def __init__(self, folder, rows):
        self.folder = folder
        self.functions = {row.name: row for row in rows}
        self.entries = {}
        self.shared = {}
        self.again = []
        self.examples = [Example(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
                         if name.endswith('.c')]
        for name in sorted(os.listdir(folder)):
            if name.endswith('.txt') and name != 'most_used.txt':
                for entry in Reader(name[:-4]).read(os.path.join(folder, name)):
                    self.keep(entry)

    def full(self, name):
        return self.functions[name].prefix + name

    def keep(self, entry):
        names = [(self.shared, entry.shared)] if entry.shared else \
            [(self.entries, name) for name in entry.functions]
        for known, name in names:
            if name in known:
                self.again.append((entry, name))
            known[name] = entry

    def taken(self, entry, words):
        """The entry's text, followed by the texts of its `with:`, whose names may have blanks."""
        text = Text()
        text.behind(entry.text)
        for name in [filled(one, words) for one in entry.takes]:
            if name not in self.shared:
                raise PageError(f'{entry.place}: with: there is no [*{name}]')
            text.behind(self.taken(self.shared[name], {}))
        return text.filled(words)

    def text(self, name):
        """The text of this function's page, or None."""
        entry = self.entries.get(name)
        base = None
        if entry is None or entry.adds:
            base = self.derived(name)
        if entry is None:
            return base
        text = self.taken(entry, entry.functions[name])
        if base is None:
            return text
        return self.added(base, text)

    @staticmethod
    def added(base, text):
        """The derived text with added paragraphs and replaced sections."""
        paragraphs = base.paragraphs + text.paragraphs
        text.paragraphs = []
        text.behind(base)
        text.paragraphs = paragraphs
        return text

    def derived(self, name):
        """The text of a nonblocking or persistent form, derived from the blocking form, or None."""
        base, form = base_of(self.functions[name], self.functions)
        of = self.text(base) if base else None
        if of is None:
            return None
        form += '' if self.functions[name].chapter in self.collective else ' message'
        words = {'name': self.full(name), 'base': self.full(base), **untouched(self.functions[name])}
        if not words['untouched'] and f'{form} without data' in self.shared:
            form += ' without data'
        text = self.taken(self.shared[form], words)
        begins = text.paragraphs
        text.paragraphs = []
        of.sections.pop('blocks', None)
        text.behind(of)
        text.paragraphs = begins + text.paragraphs
        text.related = [base] + [one for one in text.related if one != base]
        return text

    collective = ('coll', 'neighbor')

    def examples_of(self, name):
        return [one for one in self.examples if name in one.shows]

    def related(self, name, text):
        """Names for SEE ALSO: from the text, and other forms of the function."""
        found = set(text.related) if text else set()
        for other, row in self.functions.items():
            if base_of(row, self.functions)[0] == name:
                found.add(other)
        return sorted(found - {name})
