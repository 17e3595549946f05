# SPDX-License-Identifier: Apache-2.0
"""The recorded twin of an entry point: a copy of the body, between the begin and the end of a record (traced.hpp).

Twins have files of their own, because the compiler inlines less into the entry points of a larger file."""

QUIET = ('abi', 'info', 'errhandler', 'attribute', 'status', 'datatype', 'op', 'group', 'tool', 'trace')  # chapters of local calls
BEGUN_BY_CALL = ('Init', 'Init_thread', 'Session_init')  # start the recorder
# Each rank of this number gets a block of the given size.
BLOCKS = {'Alltoall': 'peers', 'Reduce_scatter_block': 'members', 'Scatter': 'peers', 'Neighbor_alltoall': 'outdegree'}
DONE = {'kSendStart': 'kSendDone', 'kReceiveStart': 'kReceiveDone', 'kCollectiveStart': 'kCollectiveDone'}


def is_recorded(f):
    """Whether the function has a twin."""
    return f.has_body and not f.raw and not f.local and f.chapter not in QUIET and \
        f.name not in BEGUN_BY_CALL and not any(p.raw == '...' for p in f.params)


def recorded_names(rows):
    """The names in the order of their numbers; 0 is no function."""
    names = ['MPI_' + name for name in BEGUN_BY_CALL]
    return ['', *names, *(f.prefix + name for f in rows if is_recorded(f) for name, _ in f.forms())]


class Twin:
    def __init__(self, function, large):
        self.f, self.large = function, large
        self.params = function.c_params(large)
        self.kinds = {p.kind for p in self.params}
        self.request = next((p for p in self.params if p.kind == 'request' and p.direction == 'out'), None)
        self.init = self.f.form == 'persistent' or self.f.name.endswith('_init') and self.request is not None
        self.enqueued = self.f.name.endswith('_enqueue')
        self.message = next((p for p in self.params if p.kind == 'message' and p.direction != 'out'), None)
        self.final = self.final_kind()
        self.kind = self.recorded_kind()

    def recorded_kind(self):
        if self.enqueued and self.final == 'kCollective':
            return 'kCollectiveStart'  # ends on the stream
        return 'kCall' if self.init or self.enqueued else self.final

    def has(self, *kinds):
        return any(kind in self.kinds for kind in kinds)

    def timed(self, kind):
        """`kind`, or the kind of its start."""
        return f'{kind}Start' if self.request else kind

    def final_kind(self):
        f, moves = self.f, self.has('buffer', 'inplace')
        if f.home in ('coll', 'neighbor'):
            return self.timed('kCollective')
        if f.chapter == 'request' and (f.name.startswith(('Wait', 'Test')) or 'get_status' in f.name):
            return 'kWait'
        if moves and (self.has('source') or self.message) and not self.has('dest'):
            return self.timed('kReceive')
        if self.has('dest'):
            return self.timed('kSend')
        if self.has('source'):
            return 'kProbe'
        if f.chapter == 'rma':
            return self.window_kind()
        if f.chapter == 'io' and moves:
            return 'kFile'
        return self.timed('kCollective') if self.is_collective() else 'kCall'

    def window_kind(self):
        if self.has('buffer'):
            return 'kOneSided'
        given = any(p.kind == 'win' and p.direction == 'in' for p in self.params)
        return 'kEpoch' if given else 'kCollective'

    def is_collective(self):
        """All members of the communicator, window or file call in the same order."""
        f = self.f
        return bool(f.part) or f.home in ('coll', 'neighbor') or f.name in ('Win_fence', 'Win_free', 'File_close') or \
            f.chapter == 'dynamic' and self.has('root') or \
            f.chapter == 'fault' and f.name.endswith(('shrink', 'agree'))

    # -- data

    def groups(self):
        """(buffer, count, datatype) of each data argument."""
        found = []
        for at, p in enumerate(self.params):
            if p.kind != 'datatype' or p.direction != 'in':
                continue
            before = self.params[:at]
            buffers = self.buffers(before)
            count = next((q for q in reversed(before) if q.kind in ('count', 'longcount')), None)
            if count or self.f.name in ('Compare_and_swap', 'Fetch_and_op'):
                found += [(buffer, count, p) for buffer in buffers]
        return found

    @staticmethod
    def buffers(before):
        """The buffers since the last datatype: two in reductions."""
        found = []
        for p in reversed(before):
            if p.kind == 'datatype':
                break
            if p.kind in ('buffer', 'inplace'):
                found.insert(0, p)
        return found

    def data(self):
        """The sent data of this rank; if none, the received data."""
        lines = []
        for buffer, count, kind in self.groups()[:2]:
            length = f'traced.{count.length}()' if count and count.array else ''
            counted = f'{count.name}, {length}' if length else count.name if count else '1'
            line = f'traced.data({buffer.name}, {counted}, {kind.name});'
            conditions = ['traced.lacks_data()'] if lines else []
            if buffer.root_only or kind.root_only:
                conditions.append('traced.is_root(root)')
            lines.append(f'if ({" && ".join(conditions)}) {line}' if conditions else line)
            if self.final in ('kSend', 'kSendStart', 'kReceiveStart', 'kOneSided', 'kFile'):
                break
        base = self.f.base or self.f.name
        if base in BLOCKS:
            sends = 'traced.is_root(root)' if base == 'Scatter' else ''
            call = f'traced.blocks(traced.{BLOCKS[base]}());'
            lines.append(f'if ({sends}) {call}' if sends else call)
        return lines

    # -- the text

    def named(self, *kinds):
        return [p.name for p in self.params if p.kind in kinds and not p.array]

    def objects(self):
        """The communicator, window, file or message with the communicator."""
        if self.message:
            return [f'if ({self.message.name} != nullptr) traced.on(*{self.message.name});']
        p = next((p for p in self.params if p.kind in ('comm', 'win', 'file') and not p.array), None)
        if p is None or p.direction == 'out':
            return []
        return [f'traced.on({p.name});' if p.direction == 'in' else
                f'if ({p.name} != nullptr) traced.on(*{p.name});']

    def envelope(self):
        dest, source, tags = self.named('dest'), self.named('source'), self.named('tag', 'anytag')
        if self.f.chapter == 'partitioned' and self.init:
            return [f'traced.address({(dest + source)[0]}, {tags[0]});', 'traced.partitioned();']
        if self.f.home == 'coll' or self.f.chapter == 'dynamic':
            return [f'traced.root({name});' for name in self.named('root')]
        starts = not (self.init or self.enqueued)
        lines = []
        if dest:
            lines.append(f'traced.{"send" if starts else "address"}({dest[0]}, {tags[0]});')
        if source and dest:
            lines.append(f'traced.receive_too({source[0]}, {tags[1]});')
        elif source:
            lines.append(f'traced.receive({source[0]}, {tags[0]});')
        return lines + [f'traced.peer({name});' for name in self.named('target')]

    def before(self):
        lines = self.objects()
        if self.final not in ('kReceive', 'kProbe', 'kWait', 'kCall', 'kEpoch'):
            lines += self.data()
        lines += self.envelope()
        if self.is_collective() and not self.init:
            lines.append('traced.collective();')
        if self.enqueued:
            lines.append('traced.enqueued();')
        if self.f.name in ('Start', 'Startall'):
            lines.append('traced.start(count, array_of_requests);' if self.f.name == 'Startall' else
                         'if (request != nullptr) traced.start(1, request);')
        return lines

    def argument(self, p):
        replaced = p.kind == 'status' and p.direction == 'out' and not p.array and \
            self.kind in ('kReceive', 'kSend', 'kProbe', 'kFile')
        return f'traced.status({p.name})' if replaced else p.name

    def end(self, call):
        if self.init:
            return f'traced.end_init({call}, {self.request.name}, trace::RecordKind::{DONE[self.final]})'
        if self.request:
            return f'traced.end_start({call}, {self.request.name})'
        if self.kind == 'kProbe':
            flag = next((p.name for p in self.params if p.kind == 'flag'), None)
            return f'traced.end_probe({call}, {flag or "nullptr"})'
        return f'traced.end_file({call})' if self.kind == 'kFile' else f'traced.end({call})'

    def text(self, number, suffix):
        name = self.f.name + suffix
        shown = ', '.join(p.declare(self.large) for p in self.params)
        arguments = ', '.join([*(self.argument(p) for p in self.params), 'traced.site()'])
        lines = [f'Traced traced({number}, trace::RecordKind::{self.kind}, "{self.f.prefix}{name}", '
                 '__builtin_frame_address(0), __builtin_return_address(0));', *self.before(),
                 f'return {self.end(f"body_{name}({arguments})")};']
        return f'int traced_{name}({shown}) {{\n' + ''.join(f'  {line}\n' for line in lines) + '}\n'


def twin(function, large, number, body):
    """A copy of the entry point's body, and the twin. `body`: its lines, which use `site`."""
    suffix = '_c' if large else ''
    declared = ', '.join([*(p.declare(large) for p in function.c_params(large)), 'const void* site'])
    return (f'[[gnu::always_inline]] static inline int body_{function.name}{suffix}({declared}) {{\n{body}\n}}\n'
            f'{Twin(function, large).text(number, suffix)}')


def shown(function, large):
    return ', '.join(p.declare(large) for p in function.c_params(large)) or 'void'


def declaration(function, large):
    name = function.name + ('_c' if large else '')
    return f'TERN_INNER int traced_{name}({shown(function, large)});\n'


def entry(function, large, body):
    """The entry point, which calls the plain function or the twin. `body`: the lines of the plain one."""
    name = function.name + ('_c' if large else '')
    passed = ', '.join(p.name for p in function.c_params(large))
    return (f'{declaration(function, large)}TERN_INNER int plain_{name}({shown(function, large)}) {{\n{body}\n}}\n'
            f'TERN_FORK(P{function.prefix}{name}, ({shown(function, large)}), {name}, ({passed}))\n')
