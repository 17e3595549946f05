# SPDX-License-Identifier: Apache-2.0
"""Wrong calls of the tool interface, which has its own error codes, and neither error handlers nor texts."""

HANDLES = {'MPI_T_cvar_handle': 'MPI_T_ERR_INVALID_HANDLE', 'MPI_T_pvar_handle': 'MPI_T_ERR_INVALID_HANDLE',
           'MPI_T_pvar_session': 'MPI_T_ERR_INVALID_SESSION', 'MPI_T_enum': 'MPI_T_ERR_INVALID_HANDLE',
           'MPI_T_event_registration': 'MPI_T_ERR_INVALID_HANDLE',
           'MPI_T_event_instance': 'MPI_T_ERR_INVALID_HANDLE'}
INDICES = {'cat_index', 'cvar_index', 'pvar_index', 'event_index', 'source_index'}
GOOD = {'MPI_T_pvar_session': 'tool_session', 'int var_class': 'MPI_T_PVAR_CLASS_COUNTER', 'string': '"no such name"'}

HEAD = '''
static MPI_T_pvar_session tool_session;
static void expect_tool(const char* call, const char* parameter, int want, int code) {
  ++calls;
  if (code != want) complain(call, parameter, want, code, "a code of the tool interface");
  memset(room, 0, sizeof room);
}
'''


def argument(p):
    if p.kind in HANDLES and p.direction == 'inout':
        return f'&({p.kind}[]){{{GOOD.get(p.kind, "0")}}}[0]'
    if p.direction != 'in' or p.array or p.kind in ('buffer', 'pointer', 'address'):
        return '(void*)room'
    if p.kind.endswith('function*'):
        return '0'
    return GOOD.get(p.kind) or GOOD.get(f'{p.kind} {p.name}') or {'hints': 'MPI_INFO_NULL'}.get(p.kind, '0')


def call(f, changes=None):
    passed = [(changes or {}).get(p.name) or argument(p) for p in f.params]
    return f"MPI_{f.name}({', '.join(passed)})"


def early(f):
    """Before MPI_T_init_thread."""
    if f.name == 'T_init_thread':
        return
    yield f'  expect_tool("MPI_{f.name}", "time", MPI_T_ERR_NOT_INITIALIZED, {call(f)});'


def wrong_values(f, p):
    if p.kind in HANDLES and p.direction != 'out':
        for word in ('(void*)room', '(void*)0x1234', '(void*)-1', '0'):
            value = f'({p.kind}){word}'
            yield (f'&({p.kind}[]){{{value}}}[0]' if p.direction == 'inout' else value), HANDLES[p.kind]
    elif p.kind == 'int' and p.direction == 'in' and p.name in INDICES:
        for value in ('-1', '100000', '2147483647'):
            yield value, 'MPI_T_ERR_INVALID_INDEX'
    elif p.kind == 'string' and p.direction == 'in' and f.name.endswith('_get_index'):
        yield '"no such name"', 'MPI_T_ERR_INVALID_NAME'


def late(f):
    for p in f.params:
        for value, error in wrong_values(f, p):
            yield f'  expect_tool("MPI_{f.name}", "{p.name}", {error}, {call(f, {p.name: value})});'
