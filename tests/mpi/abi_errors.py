#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C program that passes each kind of wrong argument to every implemented function.

  abi_errors.py TOP > errors.c

Exactly one argument of a call is wrong: a null, garbage, freed or foreign handle; a negative
count; an invalid tag, rank, root, key or operation; a null pointer; an uncommitted datatype. Each call
must return the standard's error class, and a text that begins with the function and names the parameter
and its value. A crash or success is a failure.
"""
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + '/src/abi')
sys.path.insert(0, sys.argv[1] + '/tests/mpi')
import abi_errors_tool as tool  # noqa: E402
import table  # noqa: E402
from abi_errors_program import HEAD, KINDS, TAIL  # noqa: E402

GOOD = dict(comm='MPI_COMM_SELF', datatype='MPI_INT', group='MPI_GROUP_EMPTY', op='MPI_SUM', rma_op='MPI_SUM',
            errhandler='MPI_ERRORS_RETURN', info='info', hints='MPI_INFO_NULL', request='partitioned',
            live_request='partitioned', message='message', session='session', win='window', file='file', stream='stream', string='"word"', keyval='comm_key',
            status='(MPI_Status*)room')
SKIP = {'Abort'}


def argument(p, large):
    """A valid value."""
    if p.raw is not None:
        return {'argc': '0', 'remote_group': 'MPI_GROUP_EMPTY', 'peer_comm': 'MPI_COMM_SELF', 'argv': 'MPI_ARGV_NULL'}.get(p.name, '(void*)room')
    if p.handle and p.direction == 'inout' and not p.array:
        return f'&({table.HANDLES[p.kind][0]}[]){{{GOOD[p.kind]}}}[0]'
    if p.kind == 'keyval' and p.direction == 'inout':
        return '&(int[]){comm_key}[0]'
    if p.kind.endswith('function*') or p.kind.endswith('*~'):
        return '(void*)nothing'
    if p.direction != 'in' or p.array or p.kind in ('buffer', 'inplace', 'pointer', 'address'):
        return '(void*)room'
    return GOOD.get(p.kind, '0')


class Calls:
    """The wrong calls of one C function."""

    def __init__(self, function, large, suffix):
        self.f, self.large, self.name = function, large, f'{function.prefix}{function.name}{suffix}'
        self.shown_name = self.name if large or not suffix else f'{function.prefix}{function.name}'  # the error text names the small form of a function
        self.shown = function.c_params(large)
        self.moves_data = any(p.kind in ('buffer', 'inplace') for p in self.shown)

    def call(self, changes):
        passed = [changes.get(p.name) or argument(p, self.large) for p in self.shown]
        return f"{self.name}({', '.join(passed)})"

    def expect(self, p, value, error, shown='NULL', **more):
        changes = {p.name: value, **more}
        return f'  expect("{self.shown_name}", "{p.name}", {shown}, {error}, {self.call(changes)});'

    def lines(self):
        for p in self.shown:
            if p.raw is None:
                yield from self.handle(p) if p.handle else self.plain(p)

    def handle(self, p):
        kind, _, error = table.HANDLES[p.kind]
        if p.direction == 'out':
            if not p.array and not p.may_be_null:
                yield self.expect(p, 'NULL', 'MPI_ERR_ARG')
            return
        word = f'({kind})bad_words[i]'
        count = next((q for q in self.shown if q.name == p.length), None) if p.array else None
        if p.array and count is None:
            return
        if p.direction == 'inout' or p.array:
            word = f'({kind}[]){{{word}}}'
        loop = f'for (int i = 0; i < bad_count; ++i) if (wrong_for(i, k_{KINDS[kind]}, {self.null_allowed(p)}))'
        more = {count.name: '1'} if count else {}
        yield f'{loop}\n  {self.expect(p, word, error, "shown(i)" if not p.array else "NULL", **more)}'
        if p.direction == 'inout' and not p.array:
            yield self.expect(p, 'NULL', 'MPI_ERR_ARG')
        elif count:
            yield self.expect(p, 'NULL', 'MPI_ERR_ARG', **more)
        if p.kind == 'datatype' and self.moves_data and p.direction == 'in' and not p.array:
            yield self.expect(p, 'uncommitted', error)

    def null_allowed(self, p):
        return int(bool(p.null) or p.kind == 'request' or p.array and 'request' in p.kind
                   and self.f.name != 'Startall')

    def plain(self, p):
        if p.array:
            yield from self.array(p)
        elif p.direction != 'in' and p.kind not in ('buffer', 'inplace'):
            if not p.may_be_null:
                yield self.expect(p, 'NULL', 'MPI_ERR_ARG')
        elif p.kind in ('buffer', 'inplace'):
            yield from self.data(p)
        else:
            for value, error in self.scalars(p):
                yield self.expect(p, value, error, f'"{value}"')
        if p.kind in ('string', 'status') and p.direction == 'in' and not p.may_be_null:
            yield self.expect(p, 'NULL', 'MPI_ERR_ARG')
        if p.kind == 'keyval':
            for value in ('MPI_KEYVAL_INVALID', '-5', '123456789', 'stale_key', 'other_key(' f'"{self.name}")'):
                word = f'&(int[]){{{value}}}[0]' if p.direction == 'inout' else value
                if p.direction != 'out':
                    yield self.expect(p, word, 'MPI_ERR_KEYVAL')

    def array(self, p):
        count = next((q for q in self.shown if q.name == p.length), None)
        if count and not p.may_be_null:
            yield self.expect(p, 'NULL', 'MPI_ERR_ARG', **{count.name: '1'})

    def scalars(self, p):
        ranked = any(q.kind == 'comm' and q.direction == 'in' for q in self.shown) and \
            not any(q.kind == 'group' for q in self.shown)
        return {
            'count': [('-1', 'MPI_ERR_COUNT')], 'length': [('-1', 'MPI_ERR_COUNT')],
            'bytes': [('-1', 'MPI_ERR_SIZE')],
            'tag': [('-77', 'MPI_ERR_TAG')], 'anytag': [('-77', 'MPI_ERR_TAG')],
            'root': [('1', 'MPI_ERR_ROOT'), ('-77', 'MPI_ERR_ROOT')],
            'dest': [('1', 'MPI_ERR_RANK'), ('-77', 'MPI_ERR_RANK')],
            'source': [('1', 'MPI_ERR_RANK'), ('-77', 'MPI_ERR_RANK')],
            'rank': [('1', 'MPI_ERR_RANK'), ('-77', 'MPI_ERR_RANK')] if ranked else [],
        }.get(p.kind, [])

    def data(self, p):
        behind = self.shown[self.shown.index(p) + 1:]
        count = next((q for q in behind if q.kind == 'count' and not q.array), None)
        kind = next((q for q in behind if q.kind == 'datatype' and not q.array), None)
        if count and kind and behind.index(count) < behind.index(kind):
            more = {count.name: '1'}
            if p.may_be_null:  # rank 0's buffer is significant, too
                more['sendbuf'] = 'MPI_IN_PLACE'
            for value in ('NULL', '(void*)64'):
                yield self.expect(p, value, 'MPI_ERR_BUFFER', **more)
            if p.kind == 'buffer':
                yield self.expect(p, 'MPI_IN_PLACE', 'MPI_ERR_BUFFER', **more)


def tool_calls(rows):
    """Two functions of the program: calls before and after MPI_T_init_thread."""
    for name, calls in (('early', tool.early), ('late', tool.late)):
        print(f'static void tools_{name}(void) {{', *(line for f in rows for line in calls(f)), '}', sep='\n')


def main():
    rows = table.read(sys.argv[1] + '/src/abi/functions.txt')
    print(HEAD, tool.HEAD)
    tool_calls([f for f in rows if f.has_body and f.chapter == 'tool'])
    names = []
    for f in rows:
        if not f.has_body or not f.gives_code or f.name in SKIP or f.chapter == 'tool':
            continue
        for form, large in f.forms():
            lines = list(Calls(f, large, '_c' if form != f.name else '').lines())
            if lines:
                names.append(form)
                print(f'static void of_{form}(void) {{', *lines, '}', sep='\n')
    print(TAIL % '\n'.join(f'  of_{name}();' for name in names))


if __name__ == '__main__':
    main()
