#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a tool that interposes every function of mpi.h, as profilers do.

  abi_interpose.py TOP > interpose.c

Each MPI_X counts the call and calls PMPI_X. A profiler must never see calls of the library itself, so a caller inside
the library is an error. The linked program calls interposed() at its end.
"""
import re
import sys

HEAD = '''#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
static int inside, from_inside;
static void enter(const char* call, int* count, void* caller) {
  Dl_info of_caller, of_library;
  ++*count;
  if (inside++ == 0) return;  // a callback of the program may call, too
  if (!dladdr(caller, &of_caller) || !dladdr(dlsym(RTLD_NEXT, "PMPI_Init"), &of_library)) return;
  if (of_caller.dli_fbase != of_library.dli_fbase) return;
  ++from_inside;
  printf("%s was called by the library itself\\n", call);
}
'''
TAIL = '''
int interposed(void) {
  int called = 0, wrong = from_inside;
  for (int i = 0; i < FUNCTIONS; ++i) {
    char profiled[128];
    snprintf(profiled, sizeof profiled, "P%s", names[i]);
    called += counts[i] != 0;
    void *plain = dlsym(RTLD_NEXT, names[i]), *behind = dlsym(RTLD_NEXT, profiled);
    if (plain != NULL && plain == behind) continue;
    ++wrong;
    printf("%s and %s are not one function of the library\\n", names[i], profiled);
  }
  printf("%d functions interposed, %d of them called, %d wrong\\n", FUNCTIONS, called, wrong);
  return wrong;
}
'''


def prototypes(header):
    text = re.sub(r'/\*.*?\*/', '', header, flags=re.S)
    text = re.sub(r'^#.*$|//.*$', '', text, flags=re.M)
    for match in re.finditer(r'^([\w ]+[ *])(MPI_\w+)\s*\(([^;{]*)\)\s*;', text, re.M):
        if not match[1].startswith('typedef'):
            yield match[1].strip(), match[2], ' '.join(match[3].split())


def names_of(params):
    if params in ('', 'void'):
        return []
    return [re.search(r'(\w+)\s*(\[[^\]]*\])*$', one.strip())[1] for one in params.split(',')]


def wrapper(kind, name, params, index):
    if '...' in params:
        return (f'{kind} {name}({params}) {{ enter("{name}", &counts[{index}], __builtin_return_address(0)); {kind} given_ = P{name}(level); '
                f'--inside; return given_; }}')
    passed = ', '.join(names_of(params))
    return (f'{kind} {name}({params}) {{ enter("{name}", &counts[{index}], __builtin_return_address(0)); {kind} given_ = P{name}({passed}); '
            f'--inside; return given_; }}')


def main():
    with open(sys.argv[1] + '/include/mpi.h', encoding='utf-8') as file:
        found = list(prototypes(file.read()))
    print(HEAD)
    print(f'enum {{ FUNCTIONS = {len(found)} }};\nstatic int counts[FUNCTIONS];')
    print('static const char* const names[] = {' + ', '.join(f'"{name}"' for _, name, _ in found) + '};')
    for index, (kind, name, params) in enumerate(found):
        print(wrapper(kind, name, params, index))
    print(TAIL)


if __name__ == '__main__':
    main()
