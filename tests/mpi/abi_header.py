#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a C program that compiles only if mpi.h equals the standard's data.

  abi_header.py FOLDER > check.c       FOLDER has mpi-5.0-abi.json, mpi-5.0-apis.json and abi-functions.txt

Every constant is compared by value and type, every function (MPI_ and PMPI_, with its _c twin) by its whole type.
This script derives the types from the standard's parameter kinds, not from Tern's table.
"""
import json
import sys

HANDLES = dict(COMMUNICATOR='MPI_Comm', DATATYPE='MPI_Datatype', GROUP='MPI_Group', OPERATION='MPI_Op',
               INFO='MPI_Info', ERRHANDLER='MPI_Errhandler', REQUEST='MPI_Request', MESSAGE='MPI_Message',
               WINDOW='MPI_Win', FILE='MPI_File', SESSION='MPI_Session', STATUS='MPI_Status',
               CVAR='MPI_T_cvar_handle', PVAR='MPI_T_pvar_handle', PVAR_SESSION='MPI_T_pvar_session',
               TOOLS_ENUM='MPI_T_enum', EVENT_REGISTRATION='MPI_T_event_registration',
               EVENT_INSTANCE='MPI_T_event_instance', CALLBACK_SAFETY='MPI_T_cb_safety',
               SOURCE_ORDERING='MPI_T_source_order')
AINT = {'ALLOC_MEM_NUM_BYTES', 'WINDOW_SIZE', 'WIN_ATTACH_SIZE', 'LOCATION_SMALL', 'DISPLACEMENT',
        'RMA_DISPLACEMENT_NNI', 'DISPLACEMENT_NNI'}
COUNT = {'XFER_NUM_ELEM', 'XFER_NUM_ELEM_NNI', 'NUM_BYTES', 'TOOLS_TICK_COUNT', 'GENERIC_DTYPE_COUNT'}
VOID = {'BUFFER', 'C_BUFFER', 'C_BUFFER2', 'EXTRA_STATE', 'EXTRA_STATE2', 'ATTRIBUTE_VAL', 'ATTRIBUTE_VAL_10',
        'TOOL_MPI_OBJ', 'LOGICAL_VOID'}
INT_TO_COUNT = {'POLYXFER_NUM_ELEM', 'POLYXFER_NUM_ELEM_NNI', 'POLYDTYPE_NUM_ELEM', 'POLYDTYPE_NUM_ELEM_NNI',
                'POLYDTYPE_NUM_ELEM_PI', 'POLYDISPLACEMENT_COUNT', 'POLYNUM_BYTES', 'POLYNUM_BYTES_NNI',
                'POLYNUM_PARAM_VALUES'}
INT_TO_AINT = {'POLYDISPLACEMENT', 'POLYRMA_DISPLACEMENT'}
AINT_TO_COUNT = {'POLYDISPLACEMENT_AINT_COUNT', 'POLYDTYPE_STRIDE_BYTES', 'POLYLOCATION', 'POLYDTYPE_PACK_SIZE',
                 'POLYDISPOFFSET'}
CALLBACKS = dict(EVENT_CB_FUNCTION='MPI_T_event_cb_function', EVENT_FREE_CB_FUNCTION='MPI_T_event_free_cb_function',
                 EVENT_DROP_CB_FUNCTION='MPI_T_event_dropped_cb_function')
RETURNS = dict(ERROR_CODE='int', ERROR_CLASS='int', KEY_INDEX='int', LOCATION_SMALL='MPI_Aint', DISPLACEMENT='MPI_Aint',
               TICK_RESOLUTION='double', WALL_TIME='double')


def base_type(kind, large):
    if kind in HANDLES:
        return HANDLES[kind]
    if kind in INT_TO_COUNT:
        return 'MPI_Count' if large else 'int'
    if kind in INT_TO_AINT:
        return 'MPI_Aint' if large else 'int'
    if kind in AINT_TO_COUNT:
        return 'MPI_Count' if large else 'MPI_Aint'
    return 'MPI_Aint' if kind in AINT else 'MPI_Count' if kind in COUNT else \
        'MPI_Offset' if kind == 'OFFSET' else 'int'


def special(function, p, large):
    """Types of irregular parameters. Returns None for the others."""
    kind, start = p['kind'], function.startswith('MPI_Init')
    table = {'VARARGS': '...', 'ARGUMENT_COUNT': 'int*' if start else 'int',
             'ARGUMENT_LIST': 'char***' if start else 'char**', 'STRING_ARRAY': 'char**',
             'STRING_2DARRAY': 'char***'}
    if kind in table:
        return table[kind]
    if kind in CALLBACKS:
        return CALLBACKS[kind] + '*'
    if kind in ('FUNCTION', 'POLYFUNCTION'):
        return p['func_type'] + ('_c*' if large and kind == 'POLYFUNCTION' else '*')
    return 'int(*)[3]' if p['name'] == 'ranges' else None


def parameter(function, p, large):
    found = special(function, p, large)
    if found:
        return found
    constant = 'const ' if p['constant'] in (True, 'true') else ''
    if p['kind'] in VOID or p['kind'] == 'STRING':
        return constant + ('char*' if p['kind'] == 'STRING' else 'void*')
    scalar = base_type(p['kind'], large)
    by_value = p['param_direction'] == 'in' and p['length'] is None and p['pointer'] is not True
    if by_value and p['kind'] != 'STATUS':
        return scalar
    if p['kind'] == 'REQUEST' and function.startswith('MPI_Request_get_status_'):
        constant = 'const '
    return f'{constant}{scalar}*'


def function_type(f, large):
    shown = [parameter(f['name'], p, large) for p in f['parameters']
             if 'c_parameter' not in p['suppress'] and (large or not p['large_only'])]
    result = RETURNS.get(f['return_kind']) or HANDLES[f['return_kind']]
    return f"{result}(*)({', '.join(shown) or 'void'})"


def assertion(condition, text):
    return f'_Static_assert({condition}, "{text}");'


def constants(data):
    for c in data['constants'].values():
        kind, name, value = c['handle_types']['c']['type'], c['name'], c['abi_value']
        if kind is None or name in ('MPI_SOURCE', 'MPI_TAG', 'MPI_ERROR'):
            continue
        yield f'CONSTANT({name}, {value}, {"int" if kind.startswith("MPI_T_") and kind.endswith(("safety", "order")) else kind})'


def functions(data, names):
    for name in names:
        plain = data.get(name.lower()) or data[name[:-2].lower()]
        large = name.lower() not in data
        psend = plain['name'] in ('MPI_Psend_init', 'MPI_Precv_init')
        for prefix in ('', 'P'):
            yield assertion(f'_Generic(&{prefix}{name}, {function_type(plain, large and not psend)}: 1, default: 0)',
                            f'{prefix}{name} differs')


HEAD = '''#include <mpi.h>
#include <stddef.h>
#define CONSTANT(name, value, type)                                                    \\
  _Static_assert((intptr_t)(name) == (value), #name " has another value");              \\
  _Static_assert(_Generic((name), type : 1, default : 0), #name " has another type");
_Static_assert(sizeof(MPI_Status) == 32, "MPI_Status has another size");
_Static_assert(offsetof(MPI_Status, MPI_SOURCE) == 0, "MPI_SOURCE");
_Static_assert(offsetof(MPI_Status, MPI_TAG) == 4, "MPI_TAG");
_Static_assert(offsetof(MPI_Status, MPI_ERROR) == 8, "MPI_ERROR");
_Static_assert(_Generic((MPI_Aint)0, intptr_t : 1, default : 0), "MPI_Aint");
_Static_assert(_Generic((MPI_Count)0, int64_t : 1, default : 0), "MPI_Count");
_Static_assert(_Generic((MPI_Offset)0, int64_t : 1, default : 0), "MPI_Offset");
'''


def main():
    folder = sys.argv[1]
    with open(f'{folder}/mpi-5.0-abi.json', encoding='utf-8') as file:
        abi = json.load(file)
    with open(f'{folder}/mpi-5.0-apis.json', encoding='utf-8') as file:
        apis = json.load(file)
    with open(f'{folder}/abi-functions.txt', encoding='utf-8') as file:
        names = file.read().split()
    print(HEAD)
    print('\n'.join(constants(abi)))
    print('\n'.join(functions(apis, names)))


if __name__ == '__main__':
    main()
