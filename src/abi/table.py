# SPDX-License-Identifier: Apache-2.0
"""The table of MPI functions as objects, and the C types of parameter kinds.

functions.txt explains its syntax; HANDLES, WIDE and PLAIN below are the parameter kinds.
"""
import re
from dataclasses import dataclass, field, replace

HANDLES = {  # kind -> (C type, class of the object behind it, error class of a bad handle)
    'comm': ('MPI_Comm', 'core::Communicator', 'MPI_ERR_COMM'),
    'datatype': ('MPI_Datatype', 'core::Datatype', 'MPI_ERR_TYPE'),
    'group': ('MPI_Group', 'core::Group', 'MPI_ERR_GROUP'),
    'op': ('MPI_Op', 'core::Op', 'MPI_ERR_OP'),
    'rma_op': ('MPI_Op', 'core::Op', 'MPI_ERR_OP'),
    'errhandler': ('MPI_Errhandler', 'core::ErrorHandler', 'MPI_ERR_ERRHANDLER'),
    'info': ('MPI_Info', 'core::Info', 'MPI_ERR_INFO'),
    'hints': ('MPI_Info', 'core::Info', 'MPI_ERR_INFO'),
    'session': ('MPI_Session', 'core::Session', 'MPI_ERR_SESSION'),
    'win': ('MPI_Win', 'rma::Window', 'MPI_ERR_WIN'),
    'file': ('MPI_File', 'io::File', 'MPI_ERR_FILE'),
    'stream': ('MPIX_Stream', 'stream::Stream', 'MPIX_ERR_STREAM'),
    # Checked, but passed as handles: null is legal (request), or the body replaces the handle.
    'request': ('MPI_Request', None, 'MPI_ERR_REQUEST'),
    'live_request': ('MPI_Request', None, 'MPI_ERR_REQUEST'),
    'message': ('MPI_Message', None, 'MPI_ERR_REQUEST'),
}

WIDE = {  # kind -> (C type, C type in the _c function, type the body sees)
    'count': ('int', 'MPI_Count', 'MPI_Count'),
    'wide': ('int', 'MPI_Count', 'MPI_Count'),
    'disp': ('int', 'MPI_Aint', 'MPI_Aint'),
    'span': ('MPI_Aint', 'MPI_Count', 'MPI_Count'),
}

PLAIN = {  # kind -> C type, the same in every form
    'int': 'int', 'flag': 'int', 'keyval': 'int', 'tag': 'int', 'anytag': 'int', 'dest': 'int',
    'length': 'int',
    'source': 'int', 'root': 'int', 'rank': 'int', 'target': 'int', 'aint': 'MPI_Aint',
    'bytes': 'MPI_Aint', 'offset': 'MPI_Offset', 'longcount': 'MPI_Count', 'status': 'MPI_Status',
    'large_count': 'MPI_Count', 'large_counts': 'MPI_Count',
}

MEANING = {  # kind -> its words in the manual pages
    'comm': 'communicator', 'datatype': 'datatype', 'group': 'group', 'op': 'reduction operation',
    'rma_op': 'predefined reduction operation', 'errhandler': 'error handler',
    'info': 'info object', 'hints': 'info object with hints, or MPI_INFO_NULL',
    'session': 'session', 'win': 'window', 'file': 'file', 'stream': 'stream', 'request': 'request',
    'message': 'matched message', 'live_request': 'request, not MPI_REQUEST_NULL',
    'count': 'number of elements, not negative', 'length': 'length of an array, not negative',
    'wide': 'integer', 'disp': 'displacement', 'span': 'bytes', 'int': 'integer',
    'flag': 'true (not 0) or false (0)', 'keyval': 'attribute key',
    'tag': 'message tag, 0 to MPI_TAG_UB', 'anytag': 'message tag or MPI_ANY_TAG',
    'dest': 'rank of the receiver, or MPI_PROC_NULL',
    'source': 'rank of the sender, MPI_ANY_SOURCE or MPI_PROC_NULL',
    'root': 'rank of the root', 'rank': 'rank', 'target': 'rank of the target, or MPI_PROC_NULL',
    'aint': 'address or bytes', 'bytes': 'bytes, not negative', 'offset': 'file offset',
    'longcount': 'large integer', 'large_count': 'large integer', 'large_counts': 'large integers',
    'status': 'status', 'buffer': 'address of the data',
    'inplace': 'address of the data or MPI_IN_PLACE',
    'pointer': 'address', 'address': 'address of a pointer', 'string': 'string',
}

EXTENSIONS = ('stream', 'fault', 'trace')  # chapters whose functions are MPIX_

MODES = {'': 'kStandard', 'S': 'kSynchronous', 'R': 'kReady'}  # of @modes: prefix of the name -> pml::Mode


@dataclass
class Param:
    """One parameter. `length` is None for a scalar, the text between the brackets for an array."""
    kind: str
    name: str
    direction: str = 'in'  # in, out, inout
    length: str = None
    root_only: bool = False
    may_be_null: bool = False
    raw: str = None  # a verbatim C declaration

    @property
    def array(self):
        return self.length is not None

    @property
    def wide(self):
        return self.kind in WIDE

    @property
    def only_large(self):
        return self.kind.startswith('large_')

    @property
    def handle(self):
        return self.kind in HANDLES

    @property
    def null(self):
        """The null handle if it is a legal argument (the body then gets a pointer), else ''."""
        if self.kind == 'hints':
            return 'MPI_INFO_NULL'
        legal = self.may_be_null and self.handle and not self.array and self.direction == 'in'
        return f'{HANDLES[self.kind][0].upper()}_NULL' if legal else ''

    def _scalar(self, large):
        if self.kind in WIDE:
            return WIDE[self.kind][1 if large else 0]
        if self.kind in HANDLES:
            return HANDLES[self.kind][0]
        if self.kind.endswith('~'):  # a callback with another type in the _c function
            return self.kind[:-2] + ('_c*' if large else '*')
        return PLAIN.get(self.kind, self.kind)

    def declare(self, large=False):
        """The parameter in the C prototype."""
        if self.raw is not None:
            return self.raw
        if self.kind in ('buffer', 'inplace', 'pointer', 'address', 'string'):
            base = 'char' if self.kind == 'string' else 'void'
            reads = self.direction == 'in' and self.kind not in ('pointer', 'address')
            const = 'const ' if reads else ''
            return f'{const}{base}* {self.name}'
        scalar = self._scalar(large)
        if self.array:
            const = 'const ' if self.direction == 'in' else ''
            return f'{const}{scalar} {self.name}[]'
        if self.kind == 'status' and self.direction == 'in':
            return f'const MPI_Status* {self.name}'
        return f"{scalar}{'' if self.direction == 'in' else '*'} {self.name}"


@dataclass
class Function:
    name: str  # without MPI_ or MPIX_
    chapter: str
    has_body: bool
    params: list = field(default_factory=list)
    anytime: bool = False
    returns: str = 'int'
    own_c: bool = False   # the _c function has a body of its own
    same_c: bool = False  # the _c function is the same function
    line: int = 0
    home: str = ''        # chapter of the row
    base: str = ''        # of @forms and @modes: the name in the row
    form: str = ''        # of @forms and @modes: blocking, nonblocking, persistent, enqueue
    mode: str = ''        # of @modes: an enumerator of pml::Mode
    part: str = ''        # @part=
    local: bool = False   # not recorded

    @property
    def extends(self):
        """Declared in mpix.h, not in mpi.h."""
        return self.chapter in EXTENSIONS

    @property
    def prefix(self):
        return 'MPIX_' if self.extends else 'MPI_'

    @property
    def gives_code(self):
        return self.returns == 'int' and not self.name.endswith('_toint')

    @property
    def raw(self):
        """The body gets the handles unresolved."""
        return not self.gives_code or self.chapter == 'tool'

    @property
    def has_large(self):
        return self.same_c or any(
            p.wide or p.only_large or p.kind.endswith('~') for p in self.params)

    def forms(self):
        """(C name without MPI_, large) of each entry point of this row."""
        yield self.name, False
        if self.has_large:
            yield self.name + '_c', not self.same_c

    def c_params(self, large):
        return [p for p in self.params if large or not p.only_large]

    def prototype(self, large, before='', suffix=''):
        shown = ', '.join(p.declare(large) for p in self.c_params(large)) or 'void'
        return f'{self.returns} {before}{self.prefix}{self.name}{suffix}({shown})'


class TableError(Exception):
    pass


ROW = re.compile(r'^(?P<mark>[+-]) (?P<name>\w+)(?P<tags>( @\w+(=\w+)?)*)( -> (?P<returns>\w+))?:'
                 r'(?P<params>.*)$')
PARAM = re.compile(r'^(?P<root>root:)?(?P<dir><>|>)?(?P<null>\?)?(?P<kind>\w+(?:\*~|\*)?)'
                   r'(?: (?P<name>\w+))?(?:\[(?P<length>\w*)\])?$')
TAGS = ('@anytime', '@local', '@own_c', '@same_c', '@forms', '@modes', '@part')
KNOWN = {*HANDLES, *WIDE, *PLAIN, 'buffer', 'inplace', 'pointer', 'address', 'string'}


def parse_param(text, line):
    if text.startswith('{'):
        raw = text[1:-1]
        found = re.search(r'(\w+)(\[\d*\])*$', raw)
        return Param('raw', found.group(1) if found else '...', raw=raw)
    found = PARAM.match(text)
    if not found:
        raise TableError(f'line {line}: cannot read the parameter "{text}"')
    kind = found['kind']
    if kind not in KNOWN and not kind.startswith('MPI_'):
        raise TableError(f'line {line}: "{kind}" in "{text}" is not a kind; see the list at the top')
    direction = {'>': 'out', '<>': 'inout', None: 'in'}[found['dir']]
    may_be_null = bool(found['null']) or kind == 'status' and direction == 'out'
    return Param(kind, found['name'] or kind, direction, found['length'], bool(found['root']),
                 may_be_null)


def parse_row(text, chapter, line):
    """The functions of a row: one, or its forms and modes."""
    found = ROW.match(text)
    if not found:
        raise TableError(f'line {line}: cannot read the row "{text[:60]}"')
    tags = dict(tag.partition('=')[::2] for tag in found['tags'].split())
    for tag in tags:
        if tag not in TAGS:
            raise TableError(f'line {line}: there is no tag "{tag}"; see the list at the top')
    function = Function(found['name'], chapter, found['mark'] == '+', line=line, home=chapter,
                        anytime='@anytime' in tags, local='@local' in tags, own_c='@own_c' in tags, part=tags.get('@part', ''),
                        same_c='@same_c' in tags, returns=found['returns'] or 'int')
    listed = [t.strip() for t in found['params'].split(',') if t.strip()]
    function.params = [parse_param(t, line) for t in listed]
    if '@modes' in tags:
        return [form for prefix, mode in MODES.items() for form in forms_of(function, prefix, mode)]
    return [*forms_of(function), enqueued(function)] if '@forms' in tags else [function]


def forms_of(function, prefix='', mode=''):
    """Name, Iname and Name_init of a row."""
    base, request = function.name, Param('request', 'request', 'out')
    name = (prefix + base).capitalize()
    for form, called, more in (('blocking', name, []), ('nonblocking', f'I{name.lower()}', [request]),
                               ('persistent', f'{name}_init', ([] if mode else [Param('hints', 'info')]) + [request])):
        yield replace(function, name=called, base=base, form=form, mode=mode, params=[*function.params, *more])


def enqueued(function):
    return replace(function, name=f'{function.name}_enqueue', chapter='stream', base=function.name, form='enqueue')


def read(path):
    """All rows of the table, in order. A line indented by four continues a row."""
    rows, chapter, pending, start = [], None, '', 0
    with open(path, encoding='utf-8') as lines:
        for number, line in enumerate([*lines, '\n'], 1):
            line = line.rstrip()
            if line.startswith('    ') and pending:
                pending += ' ' + line.strip()
                continue
            if pending:
                rows += parse_row(pending, chapter, start)
                pending = ''
            if line.startswith('[') and line.endswith(']'):
                chapter = line[1:-1]
            elif line and not line.startswith('#'):
                pending, start = line, number
    return rows


def chapters(rows):
    found = {}
    for row in rows:
        found.setdefault(row.chapter, []).append(row)
    return found
