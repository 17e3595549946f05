# SPDX-License-Identifier: Apache-2.0
"""Tern MPI as the backend "tern" of torch.distributed.

    import torch_tern
    torch_tern.init()                                   # under mpirun or srun; torchrun needs no such line
    torch.distributed.init_process_group("tern")
"""

import atexit
import os
import socket
import sys

import torch
import torch.distributed as dist

from ._built_for import BUILT_FOR  # setup.py writes it


def _same_minor(one, other):
    return one.split("+")[0].split(".")[:2] == other.split("+")[0].split(".")[:2]


# Before the library is loaded: against another version it may lack symbols.
if not _same_minor(BUILT_FOR, torch.__version__):
    raise ImportError(f"torch_tern was built for PyTorch {BUILT_FOR}, and this is {torch.__version__}: "
                      "pip install --force-reinstall --no-build-isolation bindings/torch builds it anew")

from . import _C, pipe

__all__ = ["init", "pipe", "register"]


def _create(options, backend_options):
    from torch.distributed import distributed_c10d

    timeout = options.timeout
    if backend_options is not None and getattr(backend_options, "_timeout", None) is not None:
        timeout = backend_options._timeout
    ranks = list(options.global_ranks_in_group)
    if ranks and dist.is_initialized():
        world_rank, world_size = dist.get_rank(), dist.get_world_size()
        store = distributed_c10d._get_default_store()
    else:  # the world itself
        world_rank, world_size, store = options.group_rank, options.group_size, options.store
    return _C.create(store, options.group_rank, ranks, world_rank, world_size, options.group_id, timeout)


_is_registered = False


def register():
    """Makes "tern" known to torch.distributed; import does that. Newer versions of PyTorch call it by its entry point."""
    global _is_registered
    if not _is_registered:
        _is_registered = True
        dist.Backend.register_backend("tern", _create, extended_api=True, devices=["cpu", "cuda"])
        atexit.register(_at_exit)


def _at_exit():
    """Without destroy_process_group: the groups are closed here, while MPI may still be called."""
    try:
        if dist.is_initialized() and not _C.is_forked():
            dist.destroy_process_group()
    except Exception:  # the program is ending for a reason of its own
        pass
    _C.end(hasattr(sys, "last_value"))  # Python has printed an exception that ends the program


def init():
    """Sets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT where mpirun or srun started this
    process, so that init_process_group finds them. Where RANK is set (torchrun) it leaves all as it is."""
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ and "MASTER_PORT" in os.environ:
        return
    rank, size, local, locals_, words = _C.meet(_free_port())
    host, port = words.rsplit(":", 1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(local), LOCAL_WORLD_SIZE=str(locals_),
                      MASTER_ADDR="127.0.0.1" if locals_ == size else host, MASTER_PORT=port)


def _free_port():
    """This host and a port of it that was free a moment ago."""
    with socket.socket() as one:
        one.bind(("", 0))
        return f"{socket.gethostname()}:{one.getsockname()[1]}"


register()
