# SPDX-License-Identifier: Apache-2.0
"""The program's abort hooks run before waiting calls end, however long PyTorch's flight recorder takes for a report.
Here, the recorder's first import takes longer than the time limit of all hooks."""
# ranks: 1

import sys
import time

import torch
import torch.distributed as dist

import world

world.begin()
backend = dist.new_group(timeout=world.milliseconds(300))._get_backend(torch.device("cpu"))
if not hasattr(backend, "register_abort_hook"):  # since PyTorch 2.15
    world.end()
    raise SystemExit


class SlowImport:
    """An import needed by the report."""

    def find_spec(self, name, path=None, target=None):
        if name == "torch._inductor.codecache":
            time.sleep(4)


sys.meta_path.insert(0, SlowImport())
called = []
for number in (-5, 0, 7, 2**62):
    backend.register_abort_hook(number, lambda number=number: called.append(number))
backend.register_abort_hook(-3, lambda: called.no_such_thing)  # a failing hook
started = time.monotonic()
with world.raises(dist.DistBackendError, "timeout of 300 ms"):
    backend.recv([torch.ones(1)], 0, 0).wait()
took = time.monotonic() - started
assert sorted(called) == [-5, 0, 7, 2**62], f"hooks called after {took:.1f} s, at the end of the wait: {called}"
assert took < 4, f"the wait ended after {took:.1f} s"
print("ok")
