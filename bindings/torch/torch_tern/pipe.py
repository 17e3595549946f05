# SPDX-License-Identifier: Apache-2.0
"""Tensors as active messages: the sender says which function of the receiver takes them.

    pipe = torch_tern.pipe.Pipe()                  # on all members of the group, in one order
    pipe.on("add", lambda tensor, source, row: table[row].add_(tensor))
    pipe.send(3, "add", gradient, row=17)          # returns at once
    while working:
        pipe.poll()                                # runs what has arrived; never waits
"""

import collections
import pickle

import torch
import torch.distributed as dist

from . import _C


class Pipe:
    def __init__(self, group=None):
        group = group or dist.group.WORLD
        backend = group._get_backend(torch.device("cpu"))
        self._pipe = _C.Pipe(getattr(backend, "wrapped_pg", backend))  # PyTorch wraps it with TORCH_DISTRIBUTED_DEBUG=DETAIL
        self._functions = {}
        self._arrived = collections.deque()

    def on(self, name, function):
        """`function(tensor, source, **words)` takes messages of that name; the source is a rank of the group."""
        self._functions[name] = function

    def send(self, to, name, tensor=None, **words):
        """The tensor must not change until flush; words are small things that can be pickled."""
        self._pipe.send(to, pickle.dumps((name, words)), tensor)

    def poll(self):
        """Runs the functions of all messages that are here; returns how many there were."""
        self._arrived.extend(self._pipe.poll())
        number = 0
        while self._arrived:  # those behind one that raises are for the next time
            source, header, tensor = self._arrived.popleft()
            number += 1
            name, words = pickle.loads(header)
            if name not in self._functions:
                raise KeyError(f"rank {source} sends \"{name}\", which this rank has no function for; it has "
                               f"{sorted(self._functions)}")
            self._functions[name](tensor, source, **words)
        return number

    def flush(self):
        """Until all that this rank has sent has left, and no longer than the group's time-out: then it raises, and the pipe is dead."""
        self._pipe.flush()
