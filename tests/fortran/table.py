# SPDX-License-Identifier: Apache-2.0
"""Compares the output of src/fortran/generate.py --list with the standard's data on Fortran."""
import json
import re
import sys

HANDLES = {"COMMUNICATOR": "comm", "DATATYPE": "datatype", "REQUEST": "request", "INFO": "info", "FILE": "file", "WINDOW": "win",
           "GROUP": "group", "OPERATION": "op", "ERRHANDLER": "errhandler", "SESSION": "session", "MESSAGE": "message"}
SAME = {"hints": "info", "rma_op": "op", "live_request": "request", "index": "int", "ranges": "int"}
OTHERS = {"BUFFER": "buffer", "STRING": "string", "LOGICAL": "flag", "STATUS": "status", "F08_STATUS": "status", "F90_STATUS": "f_status",
          "FUNCTION": "callback", "POLYFUNCTION": "callback", "C_BUFFER": "pointer", "C_BUFFER2": "detached",
          "LOGICAL_VOID": "buffer", "STRING_ARRAY": "strings", "STRING_2DARRAY": "string_rows", "OFFSET": "offset"}
# Kinds of INTEGER(KIND=...), by the standard's names of kinds; the second is that of the procedure of large counts.
ADDRESS = ("ADDRESS", "ADDRESS")
KINDS = {"ATTRIBUTE_VAL": ADDRESS, "EXTRA_STATE": ADDRESS, "ALLOC_MEM_NUM_BYTES": ADDRESS, "DISPLACEMENT": ADDRESS,
         "LOCATION_SMALL": ADDRESS, "RMA_DISPLACEMENT_NNI": ADDRESS, "WINDOW_SIZE": ADDRESS, "WIN_ATTACH_SIZE": ADDRESS,
         "XFER_NUM_ELEM": ("COUNT", "COUNT"), "XFER_NUM_ELEM_NNI": ("COUNT", "COUNT"), "NUM_BYTES": ("COUNT", "COUNT"),
         "GENERIC_DTYPE_COUNT": ("COUNT", "COUNT"), "POLYDISPLACEMENT": ("int", "ADDRESS"), "POLYRMA_DISPLACEMENT": ("int", "ADDRESS")}
WIDE_ADDRESS = ("POLYDISPLACEMENT_AINT_COUNT", "POLYDISPOFFSET", "POLYDTYPE_PACK_SIZE", "POLYDTYPE_STRIDE_BYTES", "POLYLOCATION")


def kind(name, large):
    if name in HANDLES or name in OTHERS:
        return HANDLES.get(name) or OTHERS[name]
    if name in WIDE_ADDRESS:
        return "count" if large else "address"
    if name in KINDS:
        return KINDS[name][large].lower()
    return "count" if large and name.startswith("POLY") else "int"


def wanted(function, large):
    """Parameters of the standard as the list shows them."""
    for p in function["parameters"]:
        hidden = "f90_parameter" in p["suppress"] or p["kind"] == "VARARGS" or p["name"] == "ierror"
        if hidden or p["large_only"] and not large:
            continue
        shape = bool(p["length"] or p["array_type"]) and p["kind"] not in ("BUFFER", "STRING")
        shape = shape or p["kind"] in ("STRING_ARRAY", "STRING_2DARRAY") or p["name"] == "array_of_errcodes"
        yield p["param_direction"], kind(p["kind"], large), shape, p["name"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        functions = {f["name"][4:]: f for f in json.load(file).values()}
    expected = {name: f for name, f in functions.items()
                if (f["attributes"]["f90_expressible"] or f["attributes"]["f08_expressible"]) and not name.startswith("T_") and
                not f["attributes"]["callback"] and not f["attributes"]["predefined_function"]}
    wrong, seen, compared = [], set(), 0
    for line in sys.stdin:
        name, *params = line.split()
        large = name.endswith("_c") and name[:-2] in expected
        function = expected.get(name[:-2] if large else name)
        if not function:
            wrong.append(f"{name} is not in the standard")
            continue
        seen.add(function["name"][4:])
        shown = []
        for param in params:
            direction, what, parameter = re.fullmatch(r"(\w+):(\w+(?:\[\])?):(\w+)", param).groups()
            word = what.rstrip("[]")
            shown.append((direction, SAME.get(word, word), what.endswith("[]") or word in ("strings", "string_rows"), parameter))
        for mine, standard in zip(shown, wanted(function, large)):
            compared += 1
            ways = {mine[0], standard[0]}
            # The standard calls pointers of callbacks, and the request of MPI_Cancel, in; Tern's table has the C direction.
            if mine[1:] != standard[1:] or len(ways) > 1 and (name, mine[3]) not in ((("Cancel", "request")), ("Precv_init", "buf"),
                                                                                     ("Sizeof", "x")):
                wrong.append(f"{name}: {mine}, but {standard} in the standard")
        if len(shown) != len(list(wanted(function, large))):
            wrong.append(f"{name} has {len(shown)} parameters, but {len(list(wanted(function, large)))} in the standard")
    wrong += [f"{name} is missing" for name in expected if name not in seen]
    print("\n".join(wrong) or f"{len(seen)} functions and {compared} parameters agree with the standard")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
