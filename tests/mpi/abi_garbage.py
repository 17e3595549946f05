#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C program that calls every function that has a body with handles that are none.

  abi_garbage.py TOP > garbage.c

For each handle parameter of each function: null, garbage, a freed one and one of another kind, all other arguments
being right. Each call must return the error class of the kind; a crash or success is a failure.
"""
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1] + '/src/abi')
import table  # noqa: E402

GOOD = dict(comm='MPI_COMM_SELF', datatype='MPI_INT', group='MPI_GROUP_EMPTY', op='MPI_SUM', rma_op='MPI_SUM',
            errhandler='MPI_ERRORS_RETURN', info='MPI_INFO_ENV', hints='MPI_INFO_NULL', request='MPI_REQUEST_NULL', live_request='MPI_REQUEST_NULL',
            message='MPI_MESSAGE_NULL', session='session', win='MPI_WIN_NULL', file='MPI_FILE_NULL')
NULLS = dict(live_request='MPI_REQUEST_NULL', comm='MPI_COMM_NULL', datatype='MPI_DATATYPE_NULL', group='MPI_GROUP_NULL', op='MPI_OP_NULL',
             errhandler='MPI_ERRHANDLER_NULL', info='MPI_INFO_NULL', session='MPI_SESSION_NULL', win='MPI_WIN_NULL',
             file='MPI_FILE_NULL')
STALE = dict(comm='stale_comm', datatype='stale_type', group='stale_group', op='stale_op', info='stale_info',
             hints='stale_info', errhandler='stale_errhandler', session='stale_session')
SKIP = {'Abort', 'Status_set_elements'}  # the latter has a stub of a datatype only

HEAD = '''#include <mpi.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>
static int wrong = 0, calls = 0;
static char room[1 << 16];
static void expect(const char* call, int got, int want) {
  int class_of = -1;
  ++calls;
  MPI_Error_class(got, &class_of);
  if (class_of == want) return;
  ++wrong;
  printf("%s returned %d, class %d, but class %d is right\\n", call, got, class_of, want);
}
static void add(void* in, void* inout, int* len, MPI_Datatype* type) { (void)in; (void)inout; (void)len; (void)type; }
static void hear(MPI_Comm* comm, int* code, ...) { (void)comm; (void)code; }
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
'''
MAKE = {  # what a freed handle of a kind is made and freed by; the functions must have bodies
    'stale_comm': ('MPI_Comm', 'Comm_dup', 'MPI_Comm_dup(MPI_COMM_SELF, &{0}); c = {0}; MPI_Comm_free(&c);'),
    'stale_type': ('MPI_Datatype', 'Type_contiguous', 'MPI_Type_contiguous(2, MPI_INT, &{0}); c = {0}; MPI_Type_free(&c);'),
    'stale_group': ('MPI_Group', 'Comm_group', 'MPI_Comm_group(MPI_COMM_SELF, &{0}); c = {0}; MPI_Group_free(&c);'),
    'stale_op': ('MPI_Op', 'Op_create', 'MPI_Op_create(add, 1, &{0}); c = {0}; MPI_Op_free(&c);'),
    'stale_info': ('MPI_Info', 'Info_create', 'MPI_Info_create(&{0}); c = {0}; MPI_Info_free(&c);'),
    'stale_session': ('MPI_Session', 'Session_init',
                      'MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &{0}); c = {0}; MPI_Session_finalize(&c);'),
    'stale_errhandler': ('MPI_Errhandler', 'Comm_create_errhandler',
                         'MPI_Comm_create_errhandler(hear, &{0}); c = {0}; MPI_Errhandler_free(&c);'),
}


def bad_values(p, made):
    kind = table.HANDLES[p.kind][0]
    if p.kind in NULLS and not p.null:  # where null is legal, other tests say what it gives
        yield NULLS[p.kind]
    for word in ('0x0', '0x1', '0x3ff', '0xfff', '0x1000', '0x7fffffff', '0x123456789abcdef0', '~(uintptr_t)0'):
        yield f'({kind}){word}'
    other = 'MPI_COMM_WORLD' if p.kind != 'comm' else 'MPI_INT'
    yield f'({kind})({other})'
    if STALE.get(p.kind) in made:
        yield STALE[p.kind]


def argument(p, large):
    if p.raw is not None:
        return '0'
    if p.direction != 'in' and not p.array and p.handle:
        return f'&(({table.HANDLES[p.kind][0]}[]){{{GOOD[p.kind]}}})[0]' if p.direction == 'inout' else '(void*)room'
    if p.direction != 'in' or p.array or p.kind in ('buffer', 'inplace', 'pointer', 'address', 'status'):
        return '(void*)room'
    if p.handle:
        return GOOD[p.kind]
    return {'string': '"word"', 'keyval': '4096'}.get(p.kind, '0')


def calls(f, large, suffix, made):
    shown = f.c_params(large)
    targets = [p for p in shown if p.handle and p.direction != 'out' and not p.array
               and p.kind not in ('message', 'win', 'file')]
    for p in targets:
        for bad in bad_values(p, made):
            passed = [argument(q, large) for q in shown]
            kind = table.HANDLES[p.kind][0]
            passed[shown.index(p)] = bad if p.direction == 'in' else f'&(({kind}[]){{{bad}}})[0]'
            call = f"MPI_{f.name}{suffix}({', '.join(passed)})"
            shown_call = f'MPI_{f.name}{suffix} with {p.name} = {bad}'
            yield f'  memset(room, 0, sizeof room); expect("{shown_call}", {call}, {table.HANDLES[p.kind][2]});'


def main():
    rows = table.read(sys.argv[1] + '/src/abi/functions.txt')
    present = {f.name for f in rows if f.has_body}
    made = {name for name, (_, needs, _) in MAKE.items() if needs in present}
    print(HEAD)
    for name in sorted(made):
        kind, _, code = MAKE[name]
        print(f'  {kind} {name}; {{ {kind} c; {code.format(name)} }}')
    for f in rows:
        if not f.has_body or not f.gives_code or f.name in SKIP or f.chapter == 'tool':
            continue
        for form, large in f.forms():
            for line in calls(f, large, '_c' if form != f.name else '', made):
                print(line)
    print('  printf("%d calls with bad handles, %d wrong answers\\n", calls, wrong);')
    print('  MPI_Session_finalize(&session);\n  MPI_Finalize();\n  return wrong != 0 || calls == 0;\n}')


if __name__ == '__main__':
    main()
