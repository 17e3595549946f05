# SPDX-License-Identifier: Apache-2.0
"""Tern MPI as the backend "tern" of torch.distributed.

    import torch_tern
    torch_tern.init()                                   # under mpirun or srun; torchrun does not need this line
    torch.distributed.init_process_group("tern")
"""

import atexit
import os
import socket
import sys

import torch
import torch.distributed as dist

from ._built_for import BUILT_FOR  # written by setup.py


def _same_minor(one, other):
    return one.split("+")[0].split(".")[:2] == other.split("+")[0].split(".")[:2]


# Checked before the library is loaded, because another version may lack symbols.
if not _same_minor(BUILT_FOR, torch.__version__):
    raise ImportError(f"torch_tern was built for PyTorch {BUILT_FOR}, but this is {torch.__version__}: "
                      "pip install --force-reinstall --no-build-isolation bindings/torch rebuilds it")

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
    """Registers "tern" with torch.distributed. The import does the same. Newer versions of PyTorch use the entry point."""
    global _is_registered
    if not _is_registered:
        _is_registered = True
        dist.Backend.register_backend("tern", _create, extended_api=True, devices=["cpu", "cuda"])
        atexit.register(_at_exit)


def _at_exit():
    """Closes the groups while MPI may still be called, if the program has not called destroy_process_group."""
    try:
        if dist.is_initialized() and not _C.is_forked():
            dist.destroy_process_group()
    except Exception:  # the program already exits for another reason
        pass
    _C.end(hasattr(sys, "last_value"))  # set after an uncaught exception


def init():
    """Sets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT for init_process_group, if mpirun or srun
    started this process. Changes nothing if RANK, WORLD_SIZE and MASTER_PORT are set (torchrun)."""
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ and "MASTER_PORT" in os.environ:
        return
    rank, size, local, locals_, words = _C.meet(_free_port())
    host, port = words.rsplit(":", 1)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), LOCAL_RANK=str(local), LOCAL_WORLD_SIZE=str(locals_),
                      MASTER_ADDR="127.0.0.1" if locals_ == size else host, MASTER_PORT=port)


def _free_port():
    """Returns this host and a currently free port."""
    with socket.socket() as one:
        one.bind(("", 0))
        return f"{socket.gethostname()}:{one.getsockname()[1]}"


register()
