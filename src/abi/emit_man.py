# SPDX-License-Identifier: Apache-2.0
"""Manual pages of section 3: synopsis, parameters and checks from the table, texts from src/abi/pages."""
import emit_modules
import mdoc
import view
from table import HANDLES, MEANING, WIDE

HANDLE_KINDS = ('request', 'live_request', 'message')
HEARS = ('comm', 'win', 'session')  # kinds of objects with an error handler
WAYS = {'in': 'input', 'out': 'output', 'inout': 'input and output'}
ERRORS = {  # kind -> error class and cause
    'count': ('MPI_ERR_COUNT', 'a count is negative'),
    'length': ('MPI_ERR_COUNT', 'a length is negative'),
    'bytes': ('MPI_ERR_SIZE', 'a number of bytes is negative'),
    'tag': ('MPI_ERR_TAG', 'a tag is negative; MPI_ANY_TAG is for receives'),
    'anytag': ('MPI_ERR_TAG', 'a tag is negative and not MPI_ANY_TAG'),
    'dest': ('MPI_ERR_RANK', '`{0}` is neither a rank of the communicator (on an inter-communicator: of the '
                             'remote group) nor MPI_PROC_NULL'),
    'source': ('MPI_ERR_RANK', '`{0}` is neither a rank of the communicator (on an inter-communicator: of '
                               'the remote group) nor MPI_ANY_SOURCE nor MPI_PROC_NULL'),
    'rank': ('MPI_ERR_RANK', '`{0}` is not a rank of the communicator'),
    'target': ('MPI_ERR_RANK', '`{0}` is neither a rank of the window nor MPI_PROC_NULL'),
    'root': ('MPI_ERR_ROOT', '`{0}` is not a rank of the communicator; MPI_ROOT and MPI_PROC_NULL are '
                             'for inter-communicators'),
    'buffer': ('MPI_ERR_BUFFER', '`{0}` is null while its count is not 0, or MPI_IN_PLACE where not allowed'),
    'inplace': ('MPI_ERR_BUFFER', 'a buffer is null while its count is not 0'),
    'keyval': ('MPI_ERR_KEYVAL', '`{0}` is not a valid attribute key'),
    'string': ('MPI_ERR_ARG', 'a string or an address for a result is null'),
}
NOUNS = {'hints': 'info object', 'request': 'request', 'live_request': 'request', 'message': 'message'}
LENGTHS = {'': '', 'peers': ' with an entry for each rank', 'members': ' with an entry for each rank',
           'indegree': ' with an entry for each source',
           'outdegree': ' with an entry for each destination'}
UNSUPPORTED = 'always: Tern does not implement this function yet'


def meaning(p):
    text = MEANING.get(p.kind, 'callback' if p.kind.endswith(('*', '~')) else p.kind)
    if p.array:
        text += ', an array' + LENGTHS.get(p.length, f' of `{p.length}`')
    if p.root_only:
        text += '; only at the root'
    return text


def errors(function):
    """Error class -> cause, for the checks which every entry point or body makes."""
    if not function.has_body:
        none = 'MPI_T_ERR_NOT_SUPPORTED' if function.chapter == 'tool' else 'MPI_ERR_UNSUPPORTED_OPERATION'
        return {none: UNSUPPORTED}
    if function.raw:
        return {}
    found = {}
    moves_data = any(p.kind in ('buffer', 'inplace') for p in function.params)
    has_ranks = any(p.kind in ('comm', 'group', 'win') for p in function.params)
    for p in function.params:
        if p.handle and p.direction != 'out':
            noun = NOUNS.get(p.kind, MEANING[p.kind].split(',')[0])
            also = '; or not committed' if p.kind == 'datatype' and moves_data else ''
            also = '; or MPI_REPLACE or MPI_NO_OP' if p.kind == 'op' and moves_data else also
            subject = f'an entry of `{p.name}`' if p.array else f'`{p.name}`'
            null = '' if p.kind == 'hints' else 'a null handle, '
            found.setdefault(HANDLES[p.kind][2],
                             f'{subject} is not a valid {noun}: {null}already freed, or never created{also}')
        elif p.kind in ERRORS and p.direction != 'out' and (p.kind != 'rank' or has_ranks):
            error, why = ERRORS[p.kind]
            found.setdefault(error, why.format(p.name))
        elif p.direction != 'in' and p.raw is None or p.array:
            found.setdefault('MPI_ERR_ARG', 'a result address or an array is null')
    if not function.anytime:
        found['MPI_ERR_OTHER'] = 'called before MPI_Init or after MPI_Finalize'
    return found


FAMILIES = (  # (how the name ends, words) where summaries.txt has no line
    ('_toint', 'a handle as an integer'), ('_fromint', 'the handle of an integer'),
    ('_create_errhandler', 'creates an error handler from a function'),
    ('_get_errhandler', 'the error handler of an object'),
    ('_set_errhandler', 'sets the error handler of an object'),
    ('_call_errhandler', 'calls the error handler of an object'),
    ('_create_keyval', 'creates an attribute key'), ('_free_keyval', 'frees an attribute key'),
    ('_get_attr', 'the value of an attribute'), ('_set_attr', 'sets an attribute'),
    ('_delete_attr', 'deletes an attribute'),
    ('_attach_buffer', 'attaches memory for buffered sends'),
    ('_detach_buffer', 'detaches the memory for buffered sends'),
    ('_iflush_buffer', 'waits for all buffered sends, nonblocking'),
    ('_flush_buffer', 'waits for all buffered sends'))


def read_summaries(path):
    with open(path, encoding='utf-8') as lines:
        rows = [line.rstrip().split(': ', 1) for line in lines if not line.startswith('#')]
    return dict(rows)


def summary(name, words):
    """The NAME line: from summaries.txt, else from the blocking form, the family or the name."""
    if name in words:
        return words[name]
    if name.endswith('_init') and name[:-5] in words:
        return words[name[:-5]] + ', persistent'
    if name[0] == 'I' and name[1:].capitalize() in words:
        return words[name[1:].capitalize()] + ', nonblocking'
    if name.endswith('_enqueue') and name[:-8] in words:
        return words[name[:-8]] + ', in the order of a stream'
    family = next((text for end, text in FAMILIES if name.endswith(end)), None)
    spelt = name.lower().replace('_', ' ')
    return family or (f'tool interface: {spelt[2:]}' if name.startswith('T_') else spelt)


def folded(line):
    """A line of at most 72 characters, continued behind a comma."""
    if len(line) <= 72 or ', ' not in line[:70]:
        return line
    cut = line.rfind(', ', 0, 70) + 1
    return line[:cut] + ' &\n    ' + folded(line[cut + 1:])


class Page:
    """Writes the page of one function."""

    def __init__(self, function, pages, words):
        self.function, self.pages, self.words = function, pages, words
        self.text = pages.text(function.name)
        self.own = function.prefix + function.name
        self.shown = [p for p in function.params if p.raw != '...']
        self.prose = mdoc.Prose(self.own, {p.name for p in self.shown}, pages.functions)
        self.out = []

    def head(self):
        names = [self.function.prefix + name for name, _ in self.function.forms()]
        self.out += ['.\\" Generated from src/abi/functions.txt and src/abi/pages by src/abi/generate.py.',
                     '.Dd $Mdocdate$', f'.Dt {self.own.upper()} 3', '.Os "Tern MPI"', '.Sh NAME',
                     *(f'.Nm {name} ,' for name in names[:-1]), f'.Nm {names[-1]}',
                     f'.Nd {summary(self.function.name, self.words)}']

    def synopsis(self):
        self.out += ['.Sh SYNOPSIS', '.In mpix.h' if self.function.extends else '.In mpi.h']
        for name, large in self.function.forms():
            declared = [p.declare(large) for p in self.function.c_params(large)]
            self.out += [f'.Ft {mdoc.quoted(self.function.returns)}', f'.Fo {self.function.prefix}{name}',
                         *(f'.Fa {mdoc.quoted(one)}' for one in declared or ['void']), '.Fc']
        self.fortran()

    def fortran(self):
        """The procedure of mpi_f08; `mpi` and mpif.h have INTEGER handles and statuses."""
        for procedure in view.procedures([self.function]):
            if procedure.row is self.function and not procedure.large:
                module = emit_modules.Module([procedure], procedure.in_f08)
                used = 'mpi_f08' if procedure.in_f08 else 'mpi'
                lines = [line[2:] for line in module.procedure(procedure, self.own) if line.strip() != 'import'
                         and not line.startswith('!') and not line.strip().startswith('end ')]
                self.out += ['.Pp', f'.Sy use {used}', *mdoc.literal('\n'.join(folded(line.strip()) for line in lines))]

    def section(self, title, paragraphs, level='Ss'):
        if paragraphs:
            self.out += [f'.{level} {title}', *self.prose.paragraphs(paragraphs)]

    def arguments(self):
        if not self.shown:
            return
        self.out += ['.Ss Parameters', '.Bl -tag -width Ds']
        for p in self.shown:
            said = f'({WAYS[p.direction]}) {meaning(p)}.' if p.raw is None else ''
            more = self.text.arguments.get(p.name, '') if self.text else ''
            more = more[:1].upper() + more[1:] + ('.' if more and more[-1] not in '.:!' else '')
            self.out += [f'.It Fa {p.name}', *self.prose.text(f'{said} {more}'.strip())]
        self.out.append('.El')

    def description(self):
        self.out.append('.Sh DESCRIPTION')
        paragraphs = self.not_yet() + (self.text.paragraphs if self.text else [])
        paragraphs += self.large() + self.anytime()
        self.out += self.prose.paragraphs(paragraphs)
        self.arguments()
        sections = self.text.sections if self.text else {}
        for key, title in (('blocks', 'When it returns'), ('order', 'Order'), ('threads', 'Threads'),
                           ('device buffers', 'Device buffers')):
            self.section(title, sections.get(key))
        self.section('IMPLEMENTATION NOTES', sections.get('Tern'), 'Sh')

    def not_yet(self):
        if self.function.has_body:
            return []
        error = next(iter(errors(self.function)))
        if self.function.chapter == 'tool':
            return [[f'Tern does not implement this function yet: every call returns {error}.']]
        text = f'Tern does not implement this function yet: every call fails with {error}.'
        comm = next((p.name for p in self.function.params if p.kind == 'comm' and p.direction != 'out'), None)
        whose = f'`{comm}`' if comm else 'MPI_COMM_SELF'
        return [[f'{text} The call invokes the error handler of {whose}; the default handler ends the program. '
                 'The rest of this page describes the function of the standard.']]

    def large(self):
        forms = list(self.function.forms())
        if len(forms) < 2:
            return []
        if self.function.same_c:
            return [[f'{self.function.prefix}{forms[1][0]} is another name of the same function.']]
        types = sorted({WIDE[p.kind][1] for p in self.function.params if p.wide} |
                       {'MPI_Count' for p in self.function.params if p.only_large})
        if not types:
            return [[f'{self.function.prefix}{forms[1][0]} takes a callback with counts of type MPI_Count.']]
        return [[f'{self.function.prefix}{forms[1][0]} takes {" and ".join(types)} in place of narrower '
                 'types.']]

    def anytime(self):
        if not self.function.anytime:
            return []
        return [[f'{self.own} may be called at any time, even before MPI_Init and after MPI_Finalize.']]

    def returned(self):
        self.out.append('.Sh RETURN VALUES')
        if self.function.chapter == 'tool':
            said = 'MPI_SUCCESS, or an error class. Functions of the tool interface call no error handler.'
        elif not self.function.gives_code:
            said = 'The result; there are no error codes.'
        else:
            said = f'MPI_SUCCESS, or an error code if the error handler of {self.hears()} returns. The ' \
                'default handler ends the program.'
            if self.function.chapter == 'io' or any(p.kind == 'file' for p in self.function.params):
                said = 'MPI_SUCCESS or an error code.'
        self.out += self.prose.text(said)

    def hears(self):
        if any(p.kind in HANDLE_KINDS and p.direction != 'out' for p in self.function.params):
            return 'the communicator of the operation, else of MPI_COMM_SELF,'
        at = next((p for p in self.function.params
                   if p.kind in HEARS and not p.array and p.direction != 'out'), None)
        if at and (at.kind != 'win' or self.function.has_body):
            return f'`{at.name}`'
        handler = next((p.name for p in self.function.params
                        if p.kind == 'errhandler' and p.direction == 'in'), None)
        return 'MPI_COMM_SELF' if handler is None else f'the new object (`{handler}`)'

    def examples(self):
        for i, one in enumerate(self.pages.examples_of(self.function.name)):
            self.out += ['.Sh EXAMPLES'] if i == 0 else ['.Pp']
            self.out += [*self.prose.text(one.sentence), *mdoc.literal(one.code)]
            if one.prints:
                several = one.ranks not in ([], ['1'])
                times = f'{one.ranks[0]} ranks' if several else 'one rank'
                order = ', in any order' if several and len(one.prints) > 1 else ''
                self.out += ['.Pp', f'Output of {times}{order}:', *mdoc.literal('\n'.join(one.prints))]

    def causes(self):
        if not self.function.gives_code:
            return
        found = errors(self.function)
        if self.function.has_body:
            found.update(self.text.errors if self.text else {})
        if not found:
            return
        self.out += ['.Sh ERRORS', '.Bl -tag -width Ds']
        for error, why in found.items():
            begin = why if why.startswith(('MPI_', 'TERN_')) else why[:1].upper() + why[1:]
            self.out += [f'.It Dv {error}', *self.prose.text(begin.rstrip('.') + '.')]
        self.out.append('.El')

    def see_also(self):
        names = [f'.Xr {self.pages.functions[name].prefix}{name} 3' for name in sorted(
            self.pages.related(self.function.name, self.text), key=lambda one: (self.pages.functions[one].prefix + one).lower())]
        self.out += ['.Sh SEE ALSO', *(line + ' ,' for line in ['.Xr mpirun 1', *names]), '.Xr tern 7',
                     '.Sh STANDARDS',
                     'An extension; stream functions have the names of MPICH.' if self.function.extends else 'MPI-5.0.']

    def render(self):
        for part in (self.head, self.synopsis, self.description, self.returned, self.examples,
                     self.causes, self.see_also):
            part()
        return '\n'.join(self.out) + '\n'


def page(function, pages, words):
    return Page(function, pages, words).render()
