# SPDX-License-Identifier: Apache-2.0
"""Manual pages of section 3: synopsis, parameters and errors as the table has them."""
from table import HANDLES, MEANING

ERRORS = {  # kind -> what goes wrong with it
    'count': ('MPI_ERR_COUNT', 'a count is negative'),
    'length': ('MPI_ERR_COUNT', 'a length is negative'),
    'tag': ('MPI_ERR_TAG', 'a tag is not within 0 to MPI_TAG_UB'),
    'anytag': ('MPI_ERR_TAG', 'a tag is neither within 0 to MPI_TAG_UB nor MPI_ANY_TAG'),
    'dest': ('MPI_ERR_RANK', 'a rank is not in the communicator'),
    'source': ('MPI_ERR_RANK', 'a rank is not in the communicator'),
    'target': ('MPI_ERR_RANK', 'a rank is not in the window'),
    'rank': ('MPI_ERR_RANK', 'a rank is not in the communicator'),
    'root': ('MPI_ERR_ROOT', 'the root is not in the communicator'),
    'buffer': ('MPI_ERR_BUFFER', 'an address cannot hold the data'),
    'inplace': ('MPI_ERR_BUFFER', 'an address cannot hold the data'),
    'keyval': ('MPI_ERR_KEYVAL', 'the attribute key is not valid'),
}
WAYS = {'in': 'input', 'out': 'output', 'inout': 'input and output'}


def meaning(p):
    if p.raw is not None:
        return ''
    text = MEANING.get(p.kind, 'callback' if p.kind.endswith(('*', '~')) else p.kind)
    if p.array:
        text += ', an array' + (f' of {p.length}' if p.length else '')
    if p.root_only:
        text += '; only at the root'
    return f'{WAYS[p.direction]}: {text}'


def errors(function):
    found = {}
    for p in function.params:
        if p.handle and p.direction != 'out':
            noun = MEANING[p.kind].split(',')[0]
            found.setdefault(HANDLES[p.kind][2], f'a handle is no valid {noun}')
        elif p.kind in ERRORS:
            found.setdefault(*ERRORS[p.kind])
        elif p.direction != 'in' and p.raw is None:
            found.setdefault('MPI_ERR_ARG', 'an address for a result is null')
    if not function.has_body:
        found = {'MPI_ERR_UNSUPPORTED_OPERATION': 'always: Tern does not have this function yet'}
    return found


FAMILIES = (  # (how the name ends, words) where summaries.txt has no line
    ('_toint', 'a handle as an integer'), ('_fromint', 'the handle of an integer'),
    ('_create_errhandler', 'makes an error handler of a function'),
    ('_get_errhandler', 'the error handler of an object'),
    ('_set_errhandler', 'sets the error handler of an object'),
    ('_call_errhandler', 'calls the error handler of an object'),
    ('_create_keyval', 'makes an attribute key'), ('_free_keyval', 'frees an attribute key'),
    ('_get_attr', 'the value of an attribute'), ('_set_attr', 'sets an attribute'),
    ('_delete_attr', 'deletes an attribute'),
    ('_attach_buffer', 'gives memory for buffered sends'),
    ('_detach_buffer', 'takes back the memory for buffered sends'),
    ('_iflush_buffer', 'waits for all buffered sends, nonblocking'),
    ('_flush_buffer', 'waits for all buffered sends'))


def read_summaries(path):
    with open(path, encoding='utf-8') as lines:
        rows = [line.rstrip().split(': ', 1) for line in lines if not line.startswith('#')]
    return dict(rows)


def summary(name, words):
    """The words of the function, of the one it is a form of, of its family, or of its name."""
    if name in words:
        return words[name]
    if name.endswith('_init') and name[:-5] in words:
        return words[name[:-5]] + ', persistent'
    if name[0] == 'I' and name[1:].capitalize() in words:
        return words[name[1:].capitalize()] + ', nonblocking'
    family = next((text for end, text in FAMILIES if name.endswith(end)), None)
    spelt = name.lower().replace('_', ' ')
    return family or (f'tool interface: {spelt[2:]}' if name.startswith('T_') else spelt)


def page(function, words):
    name = f'MPI_{function.name}'
    lines = [f'.\\" Generated from src/abi/functions.txt by src/abi/generate.py.',
             f'.TH {name} 3 "" "Tern MPI" "MPI functions: {function.chapter}"',
             '.SH NAME', f'{name} \\- {summary(function.name, words)}',
             '.SH SYNOPSIS', '.nf', '#include <mpi.h>', '']
    for form, large in function.forms():
        lines.append(function.prototype(large, suffix='_c' if form != function.name else '') + ';')
    lines.append('.fi')
    shown = [p for p in function.params if p.raw is None]
    if shown:
        lines.append('.SH PARAMETERS')
        for p in shown:
            lines += ['.TP', f'.I {p.name}', meaning(p)]
    if function.gives_code:
        lines += ['.SH RETURN VALUE',
                  'MPI_SUCCESS or an error code, which goes to the error handler first.']
        if errors(function):
            lines.append('.SH ERRORS')
            for error, why in errors(function).items():
                lines += ['.TP', f'.B {error}', why]
    lines += ['.SH SEE ALSO', '.BR mpirun (1),', 'the MPI-5.0 standard']
    return '\n'.join(lines) + '\n'
