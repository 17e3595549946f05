# SPDX-License-Identifier: Apache-2.0
"""Tensors as active messages: the sender names the receiver's function.

    pipe = torch_tern.pipe.Pipe()                  # collective over the group
    pipe.on("add", lambda tensor, source, row: table[row].add_(tensor))
    pipe.send(3, "add", gradient, row=17)          # returns at once
    while working:
        pipe.poll()                                # handles arrived messages; never blocks
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
        self._pipe = _C.Pipe(getattr(backend, "wrapped_pg", backend))  # wrapped if TORCH_DISTRIBUTED_DEBUG=DETAIL
        self._functions = {}
        self._arrived = collections.deque()

    def on(self, name, function):
        """Registers `function(tensor, source, **words)` for messages of this name. `source` is a rank of the group."""
        self._functions[name] = function

    def send(self, to, name, tensor=None, **words):
        """Sends a message. The tensor must not change until flush; words are small picklable values."""
        self._pipe.send(to, pickle.dumps((name, words)), tensor)

    def poll(self):
        """Runs the functions of all complete messages. Returns the number of messages."""
        self._arrived.extend(self._pipe.poll())
        number = 0
        while self._arrived:  # after an exception the rest waits for the next poll
            source, header, tensor = self._arrived.popleft()
            number += 1
            name, words = pickle.loads(header)
            if name not in self._functions:
                raise KeyError(f"rank {source} sends \"{name}\", but this rank has no such function; registered are "
                               f"{sorted(self._functions)}")
            self._functions[name](tensor, source, **words)
        return number

    def flush(self):
        """Waits until all sends of this rank are complete. After the group's timeout it raises, and the pipe is dead."""
        self._pipe.flush()
