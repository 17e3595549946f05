# SPDX-License-Identifier: Apache-2.0
"""C++ declarations of the bodies in src/api, one per row."""
from table import HANDLES, WIDE

BODIES_HEAD = '''// SPDX-License-Identifier: Apache-2.0
// Generated from src/abi/functions.txt by src/abi/generate.py: the bodies of the MPI functions.
// Arguments are checked and resolved: handles are objects, counts are wide. A body returns
// MPI_SUCCESS or tern::fail(...). Results are user handles and statuses.
#pragma once

#include "mpix.h"

namespace tern::core {
class Communicator;
class Datatype;
class ErrorHandler;
class Group;
class Info;
class Op;
class Session;
}  // namespace tern::core
namespace tern::rma {
class Window;
}
namespace tern::io {
class File;
}
namespace tern::stream {
class Stream;
}

namespace tern::api {
struct Form;
'''


def body_name(function, large):
    return function.name.lower() + ('_c' if large and function.own_c else '')


def body_param(function, p):
    """The parameter of the body, or None."""
    if p.raw == '...':
        return None
    if function.raw or p.raw is not None:
        return p.declare(large=True)
    if p.handle and p.direction == 'in' and not p.array and HANDLES[p.kind][1]:
        return f"{HANDLES[p.kind][1]}{'*' if p.null else '&'} {p.name}"
    if p.wide:
        const = 'const ' if p.direction == 'in' and p.array else ''
        star = '*' if p.array or p.direction != 'in' else ''
        return f'{const}{WIDE[p.kind][2]}{star} {p.name}'
    return pointer(p.declare(large=True))


def pointer(declaration):
    """`const int ranks[]` -> `const int* ranks`."""
    kind, name = declaration.rsplit(' ', 1)
    return f'{kind}* {name[:-2]}' if name.endswith('[]') else declaration


def shared_params(function):
    """The parameters of the row, without parameters added by a form."""
    return [p for p in function.params if p.kind not in ('request', 'hints')]


def prototype_of_body(function, large):
    if function.form:
        shown = ', '.join(body_param(function, p) for p in shared_params(function))
        return f'int {function.base.lower()}({shown}, Form form) noexcept;'
    shown = ', '.join(filter(None, (body_param(function, p) for p in function.params)))
    if function.own_c and not large:
        shown = shown.replace('_function_c*', '_function*')
    return f'{function.returns} {body_name(function, large)}({shown}) noexcept;'


def bodies_file(chapters):
    parts = [BODIES_HEAD]
    for chapter, rows in chapters.items():
        parts.append(f'\n// {chapter}\n')
        for f in rows:
            if f.mode or f.form not in ('', 'blocking'):
                continue
            parts.append(prototype_of_body(f, False) + '\n')
            if f.own_c:
                parts.append(prototype_of_body(f, True) + '\n')
    parts.append('\n}  // namespace tern::api\n')
    return ''.join(parts)
