# SPDX-License-Identifier: Apache-2.0
"""Writes mpif.h and the modules mpi and mpi_f08: constants from include/mpi.h, interfaces from the table.

The modules have no procedures of their own, so the library holds no compiled Fortran and serves each compiler.
"""
import re

import view
from emit_entries import names

HANDLE_TYPES = ('Comm', 'Datatype', 'Errhandler', 'File', 'Group', 'Info', 'Message', 'Op', 'Request', 'Session', 'Win')
FORTRAN_ONLY = {'MPI_STATUS_SIZE': 8, 'MPI_SOURCE': 1, 'MPI_TAG': 2, 'MPI_ERROR': 3, 'MPI_ADDRESS_KIND': 8, 'MPI_COUNT_KIND': 8,
                'MPI_INTEGER_KIND': 4, 'MPI_OFFSET_KIND': 8}
OTHER_KINDS = {'MPI_DISPLACEMENT_CURRENT': 'integer(8)'}
OTHER_KINDS_77 = {'MPI_DISPLACEMENT_CURRENT': 'integer*8'}
CALLBACKS_90 = tuple(f'MPI_{a}{b}' for a in ('COMM_', 'TYPE_', 'WIN_', '') for b in ('NULL_COPY_FN', 'DUP_FN', 'NULL_DELETE_FN')
                     ) + ('MPI_CONVERSION_FN_NULL', 'MPI_CONVERSION_FN_NULL_C')
CPTR = ('Alloc_mem', 'Win_allocate', 'Win_allocate_shared', 'Win_shared_query')
SENTINELS = (('MPI_BOTTOM', ''), ('MPI_IN_PLACE', ''), ('MPI_BUFFER_AUTOMATIC', ''), ('MPI_ERRCODES_IGNORE', '(1)'),
             ('MPI_UNWEIGHTED', '(1)'), ('MPI_WEIGHTS_EMPTY', '(1)'))


def constants(header):
    """(name, value, handle type or '') of the constants of mpi.h for Fortran."""
    found = []
    pattern = re.compile(r'^#define (MPI_\w+) +(?:\(\((MPI_\w+)\)(0x[0-9a-f]+)\)|\(?(-?\d+)\)?)$')
    for line in header.splitlines():
        match = pattern.match(line)
        if not match or re.match('MPI_(T_|F_)', match[1]) or match[1] == 'MPI_H_ABI':
            continue
        value = int(match[3], 16) if match[3] else int(match[4])
        if re.match('MPI_MAX_', match[1]):
            value -= 1  # without the end of C's strings
        if not match[2] or match[2][4:] in HANDLE_TYPES:
            found.append((match[1], value, match[2] or ''))
    return found + [(name, value, '') for name, value in FORTRAN_ONLY.items()]


def sentinels(status, statuses, indent):
    """The COMMON block of fort.h's fort_sentinels. character arrays fill their places of four bytes."""
    lines = [f'integer {name}{shape}' for name, shape in SENTINELS]
    lines += ['character MPI_ARGV_NULL(4)', 'character MPI_ARGVS_NULL(4,1)', status, statuses]
    lines += [f'common /MPIFORT_SENTINELS/ {name}' for name in
              [name for name, _ in SENTINELS] + ['MPI_ARGV_NULL', 'MPI_ARGVS_NULL', 'MPI_STATUS_IGNORE', 'MPI_STATUSES_IGNORE']]
    return ''.join(f'{indent}{line}\n' for line in lines)


def mpif_h(header):
    out = ['! SPDX-License-Identifier: Apache-2.0\n! Generated from include/mpi.h by src/fortran/generate.py, for fixed and free form.\n']
    for name, value, _ in constants(header):
        out.append(f'      {OTHER_KINDS_77.get(name, "integer")} {name}\n      parameter ({name}={value})\n')
    for name in ('MPI_SUBARRAYS_SUPPORTED', 'MPI_ASYNC_PROTECTS_NONBLOCKING'):
        out.append(f'      logical {name}\n      parameter ({name}=.false.)\n')
    out.append(sentinels('integer MPI_STATUS_IGNORE(8)', 'integer MPI_STATUSES_IGNORE(8,1)', '      '))
    for name in CALLBACKS_90:
        out.append(f'      external {name}\n')
    for prefix in ('MPI_', 'PMPI_'):
        for name in ('WTIME', 'WTICK'):
            out.append(f'      double precision {prefix}{name}\n      external {prefix}{name}\n')
        for name in ('AINT_ADD', 'AINT_DIFF'):
            out.append(f'      integer*8 {prefix}{name}\n      external {prefix}{name}\n')
    return ''.join(out)


def free_form(text):
    """Lines of at most 120 characters, continued by &."""
    out = []
    for line in text.splitlines():
        while len(line) > 120:
            cut = line.rfind(',', 0, 118) + 1
            out.append(line[:cut] + ' &')
            line = '      ' + line[cut:]
        out.append(line)
    return '\n'.join(out) + '\n'


class Module:
    """One of the modules: `f08` or not."""

    def __init__(self, procedures, f08):
        self.f08 = f08
        self.procedures = [p for p in procedures if (p.in_f08 if f08 else not p.large)]

    def declared(self, p):
        """(type, shape) of a parameter."""
        array = '(*)' if p.array else ''
        if p.kind in view.HANDLES:
            return f'type({view.HANDLES[p.kind][0]})' if self.f08 else 'integer', array
        if p.kind in view.INTEGERS:
            return view.DECLARED[p.kind], array
        if p.kind == 'status':
            return ('type(MPI_Status)', array) if self.f08 else ('integer', '(MPI_STATUS_SIZE,*)' if p.array else '(MPI_STATUS_SIZE)')
        if p.kind == 'pointer':
            return ('type(c_ptr)', '') if self.f08 else ('integer(MPI_ADDRESS_KIND)', '')
        return {'flag': ('logical', array), 'index': ('integer', array), 'ranges': ('integer', '(3,*)'),
                'string': ('character(len=*)', ''), 'strings': ('character(len=*)', '(*)'),
                'string_rows': ('character(len=*)', '(count,*)'),
                'f_status': ('integer', '(MPI_STATUS_SIZE)'),
                'detached': ('type(c_ptr)', '')}[p.kind]

    def line(self, p):
        if p.kind == 'buffer' or p.kind == 'detached' and not self.f08:
            return self.choice(p)
        if p.kind == 'callback':
            return [f'      procedure({p.callback}) :: {p.name}' if self.f08 else f'      external :: {p.name}']
        kind, shape = self.declared(p)
        intent = ''
        if p.direction == 'in' if p.kind == 'status' else self.f08 and p.name not in view.WITHOUT_INTENT:
            intent = f', intent({p.direction})'
        return [f'      {kind}{intent} :: {p.name}{shape}']

    def choice(self, p):
        if not self.f08:
            return [f'!GCC$ ATTRIBUTES NO_ARG_CHECK :: {p.name}', f'!DIR$ IGNORE_TKR {p.name}', f'      type(*) :: {p.name}(*)']
        asynchronous = ', asynchronous' if p.nonblocking else ''
        intent = ', intent(in)' if p.direction == 'in' and not p.nonblocking else ''
        return [f'      type(*), dimension(..){intent}{asynchronous} :: {p.name}']

    def procedure(self, p, specific, params=None):
        """The interface body of a specific procedure."""
        params = params or p.params
        with_error = not p.result and p.name not in ('F_sync_reg', 'Pcontrol')
        shown = [q.name for q in params] + ['ierror'] * with_error
        kind = {'double': 'double precision', 'MPI_Aint': 'integer(MPI_ADDRESS_KIND)'}.get(p.result)
        word = 'function' if kind else 'subroutine'
        out = [f'    {word} {specific}({", ".join(shown)})', '      import']
        for q in params:
            out += self.line(q)
        if with_error:
            out.append(f'      integer, {"optional, intent(out)" if self.f08 else "intent(out)"} :: ierror')
        if kind:
            out.append(f'      {kind} :: {specific}')
        return out + [f'    end {word}']

    def generic(self, name, bodies):
        return [f'  interface {name}', *bodies, f'  end interface {name}']

    def interfaces(self, prefix):
        """A generic interface per name; it holds the procedure of large counts where arguments tell it apart."""
        by_name, out = {}, []
        for p in self.procedures:
            together = self.f08 and p.large and told_apart(by_name[p.row.name][0], p)
            by_name.setdefault(p.row.name if together else p.name, []).append(p)
        for name, forms in by_name.items():
            if self.f08:
                bodies = [line for p in forms for line in self.procedure(p, prefix + names_f08(p))]
                out += self.generic(prefix + name, bodies)
            elif name == 'Sizeof':
                described = Module(forms, True)
                body = [line.replace(', optional', '') for line in described.procedure(forms[0], f'{prefix}Sizeof_f08ts')]
                out += self.generic(prefix + name, body)
            elif name in CPTR:
                body = self.procedure(forms[0], f'{prefix}{name}')
                pointer = [line.replace('integer(MPI_ADDRESS_KIND) :: baseptr', 'type(c_ptr) :: baseptr')
                           for line in self.procedure(forms[0], f'{prefix}{name}_cptr')]
                out += self.generic(prefix + name, body + pointer)
            elif not name.startswith('Status_f'):
                out += ['  interface', *self.procedure(forms[0], prefix + name), '  end interface']
        return out


def told_apart(small, large):
    """Whether a compiler knows by the arguments which procedure is called: address, offset and count integers have one kind."""
    wide = [[p.kind in ('address', 'offset', 'count') for p in form.params] for form in (small, large)]
    return wide[0] != wide[1]


def names_f08(p):
    """The specific name of mpi_f08, as the standard's table of linker names."""
    return p.name + names(p)[1][len(p.name):]


def module_mpi(header, procedures):
    out = ['! SPDX-License-Identifier: Apache-2.0\n! Generated from src/abi/functions.txt by src/fortran/generate.py.',
           'module mpi', '  use, intrinsic :: iso_c_binding, only : c_ptr', '  implicit none', '  private :: c_ptr']
    for name, value, _ in constants(header):
        out.append(f'  {OTHER_KINDS.get(name, "integer")}, parameter :: {name} = {value}')
    out += [f'  logical, parameter :: {n} = .false.' for n in ('MPI_SUBARRAYS_SUPPORTED', 'MPI_ASYNC_PROTECTS_NONBLOCKING')]
    out.append(sentinels('integer MPI_STATUS_IGNORE(8)', 'integer MPI_STATUSES_IGNORE(8,1)', '  '))
    out += [f'  external :: {name}' for name in CALLBACKS_90]
    module = Module(procedures, False)
    out += module.interfaces('MPI_') + module.interfaces('PMPI_')
    return free_form('\n'.join(out) + '\nend module mpi\n')


def module_f08(header, procedures, callbacks):
    out = ['! SPDX-License-Identifier: Apache-2.0\n! Generated from src/abi/functions.txt by src/fortran/generate.py.',
           'module mpi_f08', '  use, intrinsic :: iso_c_binding, only : c_ptr, c_int', '  implicit none', '  private :: c_ptr, c_int']
    for name in HANDLE_TYPES:
        out += [f'  type, bind(C) :: MPI_{name}', '    integer(c_int) :: MPI_VAL', f'  end type MPI_{name}']
    out += ['  type, bind(C) :: MPI_Status', '    integer(c_int) :: MPI_SOURCE', '    integer(c_int) :: MPI_TAG',
            '    integer(c_int) :: MPI_ERROR', '    integer(c_int), private :: MPI_internal(5)', '  end type MPI_Status']
    for name, value, handle in constants(header):
        kind, shown = (f'type({handle})', f'{handle}({value})') if handle else (OTHER_KINDS.get(name, 'integer'), str(value))
        out.append(f'  {kind}, parameter :: {name} = {shown}')
    out += [f'  logical, parameter :: {n} = .true.' for n in ('MPI_SUBARRAYS_SUPPORTED', 'MPI_ASYNC_PROTECTS_NONBLOCKING')]
    out.append(sentinels('type(MPI_Status) :: MPI_STATUS_IGNORE', 'type(MPI_Status) :: MPI_STATUSES_IGNORE(1)', '  '))
    for operator, word in (('==', 'eq'), ('/=', 'ne')):
        bodies = []
        for name in HANDLE_TYPES:
            bodies += [f'    pure function mpifort_{name}_{word}(a, b)', '      import', f'      type(MPI_{name}), intent(in) :: a, b',
                       f'      logical :: mpifort_{name}_{word}', '    end function']
        out += [f'  interface operator({operator})', *bodies, '  end interface']
    out.append(callbacks)
    module = Module(procedures, True)
    out += module.interfaces('MPI_') + module.interfaces('PMPI_')
    return free_form('\n'.join(out) + '\nend module mpi_f08\n')


def compared():
    """The C functions behind == and /= of handles."""
    return ''.join(f'int mpifort_{name.lower()}_{word}_(const int* a, const int* b) {{ return *a {sign} *b; }}\n'
                   for name in HANDLE_TYPES for word, sign in (('eq', '=='), ('ne', '!=')))
