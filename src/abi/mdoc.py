# SPDX-License-Identifier: Apache-2.0
"""The markup of src/abi/pages as mdoc: paragraphs with `names`, lists and literal lines."""
import re
import textwrap

WORD = re.compile(r'(?:[^\s`]|`[^`]*`)+')
NAME = re.compile(r'`(?P<code>[^`]*)`|(?P<mpi>\bMPIX?_\w+\b)|(?P<env>\bTERN_[A-Z_0-9]+(?:=\w+)?)'
                  r'|(?P<page>\b[a-zA-Z_]\w*)\((?P<section>[137])\)')
SENTENCE = re.compile(r'(?<=[.!?:])\s+(?=["`(A-Z])')
CLOSING = '.,;:!?)'


def escape(text):
    text = text.replace('\\', '\\e')
    return '\\&' + text if text[:1] in ('.', "'") else text


def quoted(text):
    text = escape(text).replace('"', '\\(dq')
    return f'"{text}"' if ' ' in text or not text else text


class Prose:
    """Renders text for one page; knows the page's parameters and all functions."""

    def __init__(self, own, parameters, functions):
        self.own, self.parameters, self.functions = own, parameters, functions

    def macro(self, found):
        """The macro of one name, without the dot."""
        if found['page']:
            return f"Xr {found['page']} {found['section']}"
        code = found['code']
        if code is not None and re.sub(r'\[\w+\]$', '', code) in self.parameters:
            return f'Fa {code}'
        if code is not None and not re.fullmatch(r'MPIX?_\w+|TERN_[A-Z_0-9]+(=\w+)?', code):
            return f'Ql {quoted(code)}'
        return self.symbol(code or found['mpi'] or found['env'])

    def symbol(self, name):
        if name.startswith('TERN_'):
            variable, sign, value = name.partition('=')
            return f'Ev {variable}' + (f' Ns ={value}' if sign else '')
        prefix, _, function = name.partition('_')
        if name.endswith('_c') and function not in self.functions:
            function = function[:-2]
        if f'{prefix}_{function}' == self.own:
            return f'Nm {name}'
        if function in self.functions and self.functions[function].prefix == prefix + '_':
            return f'Xr {prefix}_{function} 3' if not name.endswith('_c') else f'Fn {name}'
        return f'Dv {name}' if re.fullmatch(r'MPIX?_[A-Z0-9_]+', name) else f'Vt {name}'

    def word(self, word):
        """A macro line for a word with names in it, or None."""
        parts, at = [], 0
        for found in NAME.finditer(word):
            parts += [word[at:found.start()], self.macro(found)]
            at = found.end()
        if not parts:
            return None
        tail = word[at:]
        line = '.'
        for i, part in enumerate(parts):
            if not part:
                continue
            text = f'No \\&{escape(part)}' if i % 2 == 0 else part
            line += text if line == '.' else f' Ns {text}'
        rest = tail.rstrip(CLOSING)
        if rest:
            line += f' Ns \\&{escape(rest)}'
        closing = ' '.join(tail[len(rest):])
        return f'{line} {closing}'.rstrip()

    def sentence(self, text):
        lines, plain = [], []

        def flush():
            if plain:
                wrapped = textwrap.wrap(' '.join(plain), 78, break_long_words=False,
                                        break_on_hyphens=False)
                lines.extend(escape(line) for line in wrapped)
                plain.clear()
        for word in WORD.findall(text):
            macro = self.word(word)
            if macro is None:
                plain.append(word)
            else:
                flush()
                lines.append(macro)
        flush()
        return lines

    def text(self, text):
        return [line for one in SENTENCE.split(text) for line in self.sentence(one)]

    def paragraph(self, lines):
        if lines[0].startswith('    '):
            return ['.Bd -literal -offset indent',
                    *(escape(line) for line in textwrap.dedent('\n'.join(lines)).split('\n')), '.Ed']
        if not lines[0].startswith('- '):
            return self.text(' '.join(line.strip() for line in lines))
        out, items = ['.Bl -bullet -compact'], []
        for line in lines:
            if line.startswith('- '):
                items.append(line[2:])
            else:
                items[-1] += ' ' + line.strip()
        for item in items:
            out += ['.It', *self.text(item)]
        return [*out, '.El']

    def paragraphs(self, all_lines):
        out = []
        for lines in all_lines:
            block = self.paragraph(lines)
            out += block if not out or block[0].startswith('.B') else ['.Pp', *block]
        return out


def literal(code):
    """Lines of a program between .Bd and .Ed."""
    return ['.Bd -literal', *(escape(line) if line else '' for line in code.split('\n')), '.Ed']
