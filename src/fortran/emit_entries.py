# SPDX-License-Identifier: Apache-2.0
"""Writes the C entries mpi_x_ of Fortran programs, and their entries mpi_x_f08ts_ with array descriptors.

The text is compiled twice (entries.c, entries_profiled.c): FORT(send) is mpi_send_ or pmpi_send_, CALL(Send) MPI_Send or PMPI_Send.
"""
import re

import view

TEXTS = {  # (function, parameter) or parameter -> bytes of a string with its end
    'version': 'MPI_MAX_LIBRARY_VERSION_STRING', 'name': 'MPI_MAX_PROCESSOR_NAME', 'string': 'MPI_MAX_ERROR_STRING',
    'key': 'MPI_MAX_INFO_KEY', 'port_name': 'MPI_MAX_PORT_NAME', 'datarep': 'MPI_MAX_DATAREP_STRING',
    'type_name': 'MPI_MAX_OBJECT_NAME', 'comm_name': 'MPI_MAX_OBJECT_NAME', 'win_name': 'MPI_MAX_OBJECT_NAME',
}
SENTINELS = ('weights', 'sourceweights', 'destweights', 'array_of_errcodes')
STRIPPED = ('Info_set', 'Info_delete', 'Info_get_valuelen')
# Of collectives: the buffers with one count and one datatype. A datatype of the section can stand for them.
SINGLE = re.compile(r'Bcast buffer|(Gatherv?|Allgatherv?|Neighbor_allgatherv?) sendbuf|Scatterv? recvbuf')
WHOLE = re.compile(r'Win_|Free_mem|Get_address|Abi_|.*ttach_buffer|Buffer_attach|F_sync|Sizeof|File_\w+_end')  # the address is the argument


class Entry:
    """One C entry: declarations, conversions before the call, arguments, conversions after it."""

    def __init__(self, procedure, f08):
        self.procedure, self.f08 = procedure, f08
        self.declared, self.hidden, self.before, self.after = [], [], [], []
        self.arguments = ['0' if name == 'argc' and procedure.name == 'Info_create_env' else 'NULL'
                          for function, name in sorted(view.ABSENT) if function == procedure.row.name and name != '...']
        for p in procedure.params:
            self.add(p)
        if procedure.row.name in ('Init', 'Init_thread', 'Session_init'):
            self.after.append('if (code == MPI_SUCCESS) fort_describe();')

    def add(self, p):
        if p.kind in view.HANDLES:
            (self.handles if p.array else self.handle)(p, *view.HANDLES[p.kind])
            self.requests(p)
        elif p.kind in view.INTEGERS:
            self.integer(p, view.INTEGERS[p.kind])
        else:
            getattr(self, p.kind)(p)

    def pass_on(self, p, c_type, argument):
        const = 'const ' if p.direction == 'in' and c_type != 'void' else ''
        self.declared.append(f'{const}{c_type}* {p.name}')
        self.arguments.append(argument)

    def integer(self, p, c_type):
        if p.name in SENTINELS:
            self.pass_on(p, c_type, f'fort_address({p.name})')
        else:
            self.pass_on(p, c_type, p.name if p.array or p.direction != 'in' else f'*{p.name}')

    def index(self, p):
        if p.array:
            self.pass_on(p, 'int', p.name)
            self.before.append('*outcount = MPI_UNDEFINED;')
            self.after.append(f'if (*outcount != MPI_UNDEFINED) for (int i = 0; i < *outcount; ++i) ++{p.name}[i];')
        else:
            self.pass_on(p, 'int', p.name)
            self.after.append(f'if (*{p.name} != MPI_UNDEFINED) ++*{p.name};')
            self.before.append(f'*{p.name} = MPI_UNDEFINED;')

    def length(self, p):
        """The C expression of an array's length."""
        comm = 'fort_Comm(*comm)'
        known = {'peers': f'fort_peers({comm})', 'indegree': f'fort_indegree({comm})', 'outdegree': f'fort_outdegree({comm})',
                 '': f'fort_cart_dims({comm})'}
        in_place = p.name == 'sendtypes' and 'Neighbor' not in self.procedure.row.base and 'sendbuf' in [
            q.name for q in self.procedure.params]
        text = known.get(p.length, f'*{p.length}')
        return f'fort_address(sendbuf) == MPI_IN_PLACE ? 0 : {text}' if in_place else text

    def flag(self, p):
        if not p.array:
            self.pass_on(p, 'int', f'*{p.name} != 0' if p.direction == 'in' else p.name)
            if p.direction != 'in':
                self.before.append(f'*{p.name} = 0;')
                self.after.append(f'*{p.name} = *{p.name} != 0;')
            return
        self.pass_on(p, 'int', f'{p.name}_c')
        self.before.append(f'FORT_ARRAY(int, {p.name}_c, {self.length(p)});')
        fill = f'{p.name}[i] != 0' if p.direction == 'in' else '-1'
        self.before.append(f'for (long i = 0; i < {p.name}_c_count; ++i) {p.name}_c[i] = {fill};')
        if p.direction != 'in':
            self.after.append(f'for (long i = 0; i < {p.name}_c_count; ++i) if ({p.name}_c[i] >= 0) '
                              f'{p.name}[i] = {p.name}_c[i] != 0;')

    def handle(self, p, c_type, prefix):
        if p.direction == 'in':
            self.pass_on(p, 'int', f'fort_{prefix}(*{p.name})')
            return
        self.pass_on(p, 'int', f'&{p.name}_c')
        start = f'fort_{prefix}(*{p.name})' if p.direction == 'inout' else f'{c_type.upper()}_NULL'
        self.before.append(f'{c_type} {p.name}_c = {start};')
        only = 'if (code == MPI_SUCCESS) ' if p.direction == 'out' else ''
        self.after.append(f'{only}*{p.name} = fort_{prefix}_int({p.name}_c);')

    def handles(self, p, c_type, prefix):
        self.pass_on(p, 'int', f'{p.name}_c')
        self.before.append(f'FORT_ARRAY({c_type}, {p.name}_c, {self.length(p)});')
        fill = '0' if p.direction == 'out' else f'fort_{prefix}({p.name}[i])'
        self.before.append(f'for (long i = 0; i < {p.name}_c_count; ++i) {p.name}_c[i] = {fill};')
        if p.direction != 'in':
            only = f'if ({p.name}_c[i]) ' if p.direction == 'out' else ''
            self.after.append(f'for (long i = 0; i < {p.name}_c_count; ++i) {only}{p.name}[i] = fort_{prefix}_int({p.name}_c[i]);')

    def requests(self, p):
        """Packed sections of pending requests (pending.c)."""
        if self.procedure.row.chapter != 'request' or p.kind not in ('request', 'live_request') or p.direction == 'out':
            return
        count = f'(*{p.length} > 0 ? *{p.length} : 0)' if p.array else '1'
        pending = '(int)__builtin_expect(__atomic_load_n(&fort_pending, __ATOMIC_ACQUIRE), 0)'
        if self.procedure.name.startswith('Start'):
            self.before.append(f'if ({pending}) fort_starting({p.name}, {count});')
            return
        self.before.append(f'struct fort_pending* const taken = {pending} ? fort_take({p.name}, {count}) : NULL;')
        free = int(self.procedure.name == 'Request_free')
        self.after.append(f'if (taken) fort_settle(taken, {p.name}, {free});')

    def status(self, p):
        self.pass_on(p, 'MPI_Status', f'fort_address({p.name})' if p.direction != 'in' else p.name)

    def f_status(self, p):
        self.pass_on(p, 'int', p.name)

    def buffer(self, p):
        self.declared.append(f'void* {p.name}')
        self.arguments.append(f'fort_address({p.name})')

    def pointer(self, p):
        self.pass_on(p, 'void', p.name)

    def detached(self, p):
        self.pass_on(p, 'void', '&detached')
        self.before.append('void* detached = 0;')
        if self.f08:
            self.after.append(f'if (detached == MPI_BUFFER_AUTOMATIC) detached = &mpifort_sentinels_.buffer_automatic;\n'
                              f'  if (code == MPI_SUCCESS) *(void**){p.name} = detached;')
        else:
            self.after.append(f'(void){p.name};')

    def ranges(self, p):
        self.pass_on(p, 'int', f'(int(*)[3])(uintptr_t){p.name}')

    def string(self, p):
        self.hidden.append(f'size_t {p.name}_length')
        self.pass_on(p, 'char', f'{p.name}_c')
        if p.direction == 'in':
            way = 'FORT_STRIPPED' if self.procedure.row.name in STRIPPED else 'FORT_STRING'
            self.before.append(f'{way}({p.name}_c, {p.name}, {p.name}_length);')
        else:
            self.before.append(f'char {p.name}_c[{TEXTS[p.name]}];')
            self.after.append(f'if (code == MPI_SUCCESS) fort_pad({p.name}, {p.name}_length, {p.name}_c);')

    def signature(self, name, descriptors=False):
        declared = [re.sub(r'^void\* ', 'const struct fort_array* ', d) if descriptors and d.split('* ')[1] in
                    {p.name for p in self.procedure.buffers} else d for d in self.declared]
        ends = [] if self.procedure.result or self.procedure.name == 'F_sync_reg' else ['int* ierror']
        shown = ', '.join([*declared, *ends, *self.hidden]) or 'void'
        return f'{self.procedure.result or "void"} FORT({name})({shown})'

    def text(self, name):
        p = self.procedure
        call = f'CALL({p.row.name}{"_c" if p.large else ""})({", ".join(self.arguments)})'
        if p.result:
            return f'{self.signature(name)} {{ return {call}; }}\n'
        if not self.before and not self.after:
            return f'{self.signature(name)} {{\n  fort_set(ierror, {call});\n}}\n'
        lines = [*self.before, f'const int code = {call};', *self.after, 'fort_set(ierror, code);']
        return f'{self.signature(name)} {{\n' + ''.join(f'  {line}\n' for line in lines) + '}\n'


def names(procedure):
    """(name of the entry in `mpi`, name in `mpi_f08`), lower case without mpi_."""
    plain = procedure.name.lower()
    return plain, plain + ('_f08ts' if procedure.buffers else '_f08')


def described(entry):
    """The entry of mpi_f08 with descriptors: it gives an address, and for sections a datatype or a copy."""
    p = entry.procedure
    plain, f08 = names(p)
    given = {q.name: q.name for q in p.params}
    for q in p.buffers:
        given[q.name] = f'{q.name}->base'
    ends = [] if p.result or p.name == 'F_sync_reg' else ['ierror']
    hidden = [h.split()[1] for h in entry.hidden]
    call = f'FORT({plain})({", ".join([*given.values(), *ends, *hidden])});'
    head = f'{entry.signature(f08, True)} {{\n'
    if WHOLE.match(p.row.name):
        return f'{head}  {call}\n}}\n'
    # Both ends of the short entry are tail calls, so it saves no registers.
    slow = entry.signature(f08 + '_slow', True)
    passed = ', '.join([*(q.name for q in p.params), *ends, *hidden])
    short = f'{head}  if ({" && ".join(f"fort_plain({q.name})" for q in p.buffers)})\n    {call}\n' \
        f'  else\n    FORT({f08}_slow)({passed});\n}}\n'
    head = f'static __attribute__((noinline)) {slow} {{\n'
    fast = ' && '.join(f'fort_contiguous({q.name})' for q in p.buffers)
    for q in p.buffers:
        head += f'  struct fort_array {q.name}_a;\n  {q.name} = fort_normal({q.name}, &{q.name}_a);\n'
    head += f'  if ({fast}) {{\n    {call}\n    return;\n  }}\n'
    lines, close = [], []
    kept = any(q.kind == 'request' and q.direction == 'out' for q in p.params) and p.row.chapter != 'partitioned'
    for q in p.buffers:
        count, kind = following(p, q)
        typed = kind and (p.row.home not in ('coll', 'neighbor', 'op') or SINGLE.fullmatch(f'{p.row.base} {q.name}'))
        whole = '(*partitions == 1 ? kFortTyped : 0)' if p.row.chapter == 'partitioned' else 'kFortTyped'
        ways = [whole] * bool(typed) + ['kFortCopied'] * (kept or not q.nonblocking)
        ways += ['kFortRead'] + ['kFortWrite'] * (q.direction != 'in')
        shown = (f'*{count.name}', f'*{kind.name}') if typed else ('0', '0')
        lines += [f'struct fort_section {q.name}_s;',
                  f'const int {q.name}_code = fort_open(&{q.name}_s, {q.name}, {shown[0]}, {shown[1]}, {" | ".join(ways)});']
        close.append(f'fort_close(&{q.name}_s);')
        given[q.name] = f'{q.name}_s.address'
        if typed:
            large = count.kind == 'count'
            given[count.name] = f'&{q.name}_s.count' if large else f'&{q.name}_s.count_int'
            given[kind.name] = f'&{q.name}_s.type'
    codes = [f'{q.name}_code' for q in p.buffers]
    lines.append(f'const int bad = {"".join(f"{code} ? {code} : " for code in codes[:-1])}{codes[-1]};')
    call = f'FORT({plain})({", ".join([*given.values(), *ends, *hidden])});'
    lines.append(f'if (bad) {{ fort_refuse(ierror, bad, "MPI_{p.name}"); {handler(p)}; }}')
    if kept:
        lines += ['int code = MPI_ERR_BUFFER;', f'if (!bad) {call.replace("ierror", "&code")}',
                  f'struct fort_section* sections[] = {{{", ".join(f"&{q.name}_s" for q in p.buffers)}}};',
                  f'if (code == MPI_SUCCESS && ({" | ".join(f"{q.name}_s.ways" for q in p.buffers)}) & kFortCopied) {{',
                  f'  fort_keep(*request, {int(p.name.endswith(("_init", "_init_c")))}, {len(p.buffers)}, sections);',
                  '} else {', *(f'  {line}' for line in close), '}', 'if (!bad) fort_set(ierror, code);']
    else:
        lines += [f'else {call}', *close]
    return head + ''.join(f'  {line}\n' for line in lines) + '}\n\n' + short


def handler(procedure):
    """The call of the error handler for `bad`: of the first communicator, window or file."""
    for q in procedure.params:
        if q.kind in ('comm', 'win', 'file') and q.direction != 'out':
            prefix = view.HANDLES[q.kind][1]
            return f'PMPI_{prefix}_call_errhandler(fort_{prefix}(*{q.name}), bad)'
    return 'PMPI_Comm_call_errhandler(MPI_COMM_SELF, bad)'


def following(procedure, buffer):
    """The count and the datatype of a buffer: the next scalars of these kinds."""
    at = procedure.params.index(buffer)
    count = kind = None
    for q in procedure.params[at + 1:]:
        if q.array or q.kind == 'buffer':
            return None, None
        if count is None and q.kind in ('int', 'count') and re.search('count|size', q.name):
            count = q
        elif count and q.kind == 'datatype':
            return count, q
    return None, None


def entry_file(procedures):
    out = ['// SPDX-License-Identifier: Apache-2.0\n// Generated from src/abi/functions.txt by src/fortran/generate.py.\n']
    for p in procedures:
        plain, f08 = names(p)
        if p.special:
            if p.in_f08:
                out.append(f'ALIAS({plain}, {f08})\n')
            continue
        entry = Entry(p, False)
        if not p.row.name.startswith(('F_sync', 'Sizeof', 'Status_f')):
            out.append(entry.text(plain))
        if not p.in_f08:
            continue
        if p.buffers:
            if p.row.name != 'Sizeof':
                out.append(described(entry))
        elif any(q.kind == 'detached' for q in p.params):
            out.append(Entry(p, True).text(f08))
        else:
            out.append(f'ALIAS({plain}, {f08})\n')
        if any(q.kind == 'pointer' for q in p.params) and p.row.name in ('Alloc_mem', 'Win_allocate', 'Win_allocate_shared',
                                                                         'Win_shared_query') and not p.large:
            out.append(f'ALIAS({plain}, {plain}_cptr)\n')
    return '\n'.join(out)
