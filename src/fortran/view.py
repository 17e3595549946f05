# SPDX-License-Identifier: Apache-2.0
"""The rows of src/abi/functions.txt as Fortran procedures.

A parameter has a kind of the table below and so a declaration in `mpi`, in `mpi_f08` and in C. Kinds derive from the kinds of
functions.txt; RENAMED holds the few exceptions. tests/fortran/table.py compares the result with the standard's data.
"""
import re
from dataclasses import dataclass, replace

import table

HANDLES = {  # kind of functions.txt -> (type of mpi_f08, prefix of MPI_X_toint)
    'comm': ('MPI_Comm', 'Comm'), 'datatype': ('MPI_Datatype', 'Type'), 'group': ('MPI_Group', 'Group'),
    'op': ('MPI_Op', 'Op'), 'rma_op': ('MPI_Op', 'Op'), 'errhandler': ('MPI_Errhandler', 'Errhandler'),
    'info': ('MPI_Info', 'Info'), 'hints': ('MPI_Info', 'Info'), 'session': ('MPI_Session', 'Session'),
    'win': ('MPI_Win', 'Win'), 'file': ('MPI_File', 'File'), 'request': ('MPI_Request', 'Request'),
    'live_request': ('MPI_Request', 'Request'), 'message': ('MPI_Message', 'Message'),
}
INTEGERS = {  # kind -> C type behind the Fortran integer
    'int': 'int', 'address': 'MPI_Aint', 'offset': 'MPI_Offset', 'count': 'MPI_Count',
}
DECLARED = {'int': 'integer', 'address': 'integer(MPI_ADDRESS_KIND)', 'offset': 'integer(MPI_OFFSET_KIND)',
            'count': 'integer(MPI_COUNT_KIND)'}
WIDER = {'count': 'count', 'wide': 'count', 'disp': 'address', 'span': 'count'}  # in the _c procedure
FIXED = {'aint': 'address', 'bytes': 'address', 'offset': 'offset', 'longcount': 'count', 'large_count': 'count',
         'large_counts': 'count', 'span': 'address'}
# Positions in arrays start at 1; the other parameters are pointers of C with another meaning in Fortran.
RENAMED = {
    **{(f, p): 'index' for f, p in (
        ('Waitany', 'index'), ('Testany', 'index'), ('Request_get_status_any', 'index'), ('Waitsome', 'array_of_indices'),
        ('Testsome', 'array_of_indices'), ('Request_get_status_some', 'array_of_indices'))},
    **{(f, p): 'int' for f in ('Attr_get', 'Attr_put', 'Keyval_create') for p in ('attribute_val', 'extra_state')},
    **{(f, 'buffer_addr'): 'detached' for f in ('Buffer_detach', 'Comm_detach_buffer', 'Session_detach_buffer')},
    ('Comm_spawn', 'argv'): 'strings', ('Comm_spawn_multiple', 'array_of_commands'): 'strings',
    ('Comm_spawn_multiple', 'array_of_argv'): 'string_rows', ('Comm_spawn_multiple', 'array_of_maxprocs'): 'int',
    ('Comm_spawn_multiple', 'array_of_info'): 'info',
    ('Group_range_incl', 'ranges'): 'ranges', ('Group_range_excl', 'ranges'): 'ranges',
    ('Pcontrol', 'level'): 'int',
}
WITHOUT_INTENT = {'array_of_errcodes', 'sourceweights', 'destweights'}
ABSENT = {('Init', 'argc'), ('Init', 'argv'), ('Init_thread', 'argc'), ('Init_thread', 'argv'),
          ('Info_create_env', 'argc'), ('Info_create_env', 'argv'), ('Pcontrol', '...')}
POINTERS = {'attribute_val': 'address', 'extra_state': 'address'}
# Bodies in special.c and callbacks.c: the C function has other parameters or the values need more than a conversion.
SPECIAL = re.compile(
    r'Pcontrol|Info_get|Info_get_string|Session_get_nth_pset|Comm_spawn(_multiple)?|Op_create|Keyval_create|Grequest_start'
    r'|Register_datarep|Attr_(get|put)|(Comm|Type|Win)_(create_keyval|[gs]et_attr)|(Comm|File|Session|Win)_create_errhandler')
NO_F08 = re.compile(r'Attr_|Keyval_')


@dataclass
class Param:
    name: str
    kind: str         # a key of HANDLES or INTEGERS, or flag, index, status, buffer, string, strings, callback, ...
    direction: str
    array: bool = False
    length: str = None
    callback: str = ''  # of a callback: its abstract interface
    nonblocking: bool = False


@dataclass
class Procedure:
    name: str    # without MPI_
    large: bool  # the procedure of large counts
    row: table.Function
    params: list
    result: str = ''  # of a function: its C type

    @property
    def special(self):
        return bool(SPECIAL.fullmatch(self.row.name))

    @property
    def in_f08(self):
        return not NO_F08.match(self.row.name)

    @property
    def buffers(self):
        return [p for p in self.params if p.kind == 'buffer']


def kind_of(function, p, large):
    renamed = RENAMED.get((function, p.name))
    if renamed:
        return renamed
    if p.kind in HANDLES or p.kind in ('flag', 'status', 'string'):
        return p.kind
    if p.kind in ('buffer', 'inplace'):
        return 'buffer'
    if p.kind in WIDER and large:
        return WIDER[p.kind]
    if p.kind in FIXED:
        return FIXED[p.kind]
    if p.kind == 'pointer':
        return POINTERS.get(p.name, 'buffer')
    if p.kind == 'address':
        return 'pointer'
    if '*' in p.kind:
        return 'callback'
    if p.kind.startswith('MPI_'):
        return next(kind for kind, (f08, _) in HANDLES.items() if f08 == p.kind)
    return 'int'


def nonblocking(row):
    return bool(re.match(r'I|R(put|get|acc)|Put|Get(_accumulate)?$|Get_address|Accumulate|Fetch|Compare|F_sync|Free_mem|Win_(create|attach|detach)'
                         r'|P(send|recv)_init|File_i|.*_(init|begin|end)$|(\w+_)?[Aa]ttach', row.name))


def param_of(row, p, large):
    kind = kind_of(row.name, p, large)
    callback = ''
    if kind == 'callback':
        callback = p.kind.rstrip('*~') + ('_c' if large and p.kind.endswith('~') else '')
    array = p.array or kind in ('strings', 'string_rows', 'ranges') or p.name in WITHOUT_INTENT or (
        row.name == 'Comm_spawn_multiple' and p.name.startswith('array_of'))
    return Param(p.name, kind, p.direction, array, p.length, callback, kind == 'buffer' and nonblocking(row))


def procedures(rows):
    """All procedures; a row with large counts gives two."""
    for row in rows:
        if row.extends or row.chapter == 'tool' or row.name.endswith(('_toint', '_fromint')):
            continue
        for large in (False, True) if row.has_large and not row.same_c else (False,):
            shown = [p for p in row.c_params(large) if (row.name, p.name) not in ABSENT]
            result = row.returns if row.returns != 'int' else ''
            yield Procedure(row.name + ('_c' if large else ''), large, row, [param_of(row, p, large) for p in shown], result)


def fortran_only():
    """Procedures without a function of C."""
    buffer = Param('buf', 'buffer', 'inout', nonblocking=True)
    none = table.Function('F_sync_reg', 'status', True)
    yield Procedure('F_sync_reg', False, none, [buffer])
    yield Procedure('Sizeof', False, replace(none, name='Sizeof'),
                    [replace(buffer, name='x', nonblocking=False), Param('size', 'int', 'out')])
    yield Procedure('Status_f2f08', False, replace(none, name='Status_f2f08'),
                    [Param('f_status', 'f_status', 'in'), Param('f08_status', 'status', 'out')])
    yield Procedure('Status_f082f', False, replace(none, name='Status_f082f'),
                    [Param('f08_status', 'status', 'in'), Param('f_status', 'f_status', 'out')])
