# SPDX-License-Identifier: Apache-2.0
"""The machines simulated by the software driver, and the programs of tests/mpi for these machines."""
from .directives import Test

MACHINES = {
    "1": {"SOFTCUDA_DEVICES": "1"},
    "4-peers": {"SOFTCUDA_DEVICES": "4", "SOFTCUDA_MULTICAST": "on"},
    # The same with a single hardware queue for all streams of a process, and synchronous copies of pageable memory.
    "one-queue": {"SOFTCUDA_DEVICES": "4", "SOFTCUDA_MULTICAST": "on", "SOFTCUDA_CONNECTIONS": "1", "SOFTCUDA_PAGEABLE": "sync",
                  "SOFTCUDA_PROCESSORS": "4"},
    "2-apart": {"SOFTCUDA_DEVICES": "2", "SOFTCUDA_PEERS": "NONE"},
    "8-peers": {"SOFTCUDA_DEVICES": "8"},
    # Two islands: devices 0 and 2, devices 1 and 3.
    "islands": {"SOFTCUDA_DEVICES": "4", "SOFTCUDA_PEERS": "X,NONE,NV,NONE;NONE,X,NONE,NV;NV,NONE,X,NONE;NONE,NV,NONE,X"},
    # Devices 0 and 3, devices 1 and 2.
    "islands-crossed": {"SOFTCUDA_DEVICES": "4", "SOFTCUDA_PEERS": "X,NONE,NONE,NV;NONE,X,NV,NONE;NONE,NV,X,NONE;NV,NONE,NONE,X"},
    # Mappings of peers give wrong data, as on some real machines.
    "lies": {"SOFTCUDA_DEVICES": "4", "SOFTCUDA_PEERS": "LIES"},
    "jitter": {"SOFTCUDA_DEVICES": "2", "SOFTCUDA_JITTER": "300"},
    "fabric": {"SOFTCUDA_DEVICES": "1", "SOFTCUDA_FABRIC": "on"},
    "in-turn": {"SOFTCUDA_DEVICES": "1", "SOFTCUDA_EXCLUSIVE": "{tmp}/turn"},
    # Kernels of several processes run concurrently; on other machines processes take turns.
    "mps": {"SOFTCUDA_DEVICES": "1", "SOFTCUDA_MPS": "on"},
    # Instances of a GPU: devices at the same bus address, without links.
    "mig": {"SOFTCUDA_DEVICES": "2", "SOFTCUDA_MIG": "on"},
    # Stores to peers arrive late and out of order; loads are stale.
    "weak": {"SOFTCUDA_DEVICES": "4", "SOFTCUDA_WEAK": "on"},
    # The same, with PCIe between two pairs: lines arrive torn.
    "pcie": {"SOFTCUDA_DEVICES": "4", "SOFTCUDA_WEAK": "on", "SOFTCUDA_PEERS": "X,NV,NV,PCIE;NV,X,PCIE,NV;NV,PCIE,X,NV;PCIE,NV,NV,X"},
    # NVML with only the visible devices, as in containers; NVML without pairs and types of far ends; no NVML.
    "nvml-own": {"SOFTCUDA_DEVICES": "4", "SOFTCUDA_MULTICAST": "on", "SOFTCUDA_NVML": "own"},
    "nvml-old": {"SOFTCUDA_DEVICES": "4", "LD_LIBRARY_PATH": "{soft}/nvml-old"},
    "nvml-away": {"SOFTCUDA_DEVICES": "4", "LD_LIBRARY_PATH": "{soft}/nvml-away"},
    # A single hardware queue for all streams of a process, and short launch queues.
    "queue": {"SOFTCUDA_DEVICES": "1", "SOFTCUDA_QUEUE": "8", "SOFTCUDA_CONNECTIONS": "1"},
    "queue-peers": {"SOFTCUDA_DEVICES": "4", "SOFTCUDA_QUEUE": "8", "SOFTCUDA_CONNECTIONS": "1"},
    # Older drivers (tests/softcuda/exports-*.map): 12.0 is the oldest supported driver, 11.8 is too old.
    "12.0": {"SOFTCUDA_DEVICES": "2", "SOFTCUDA_VERSION": "12000", "LD_LIBRARY_PATH": "{soft}/12.0"},
    # A newer driver: streams cannot write a peer's semaphore.
    "13.1": {"SOFTCUDA_DEVICES": "2", "SOFTCUDA_VERSION": "13010"},
    "11.8": {"SOFTCUDA_DEVICES": "1", "SOFTCUDA_VERSION": "11080", "LD_LIBRARY_PATH": "{soft}/11.8"},
    # The heap of programs of tests/mpi lies on a device (heap.cc): managed, or accessible to the processor.
    "managed": {"SOFTCUDA_DEVICES": "1", "GPU_HEAP": "managed"},
    "open": {"SOFTCUDA_DEVICES": "1", "SOFTCUDA_OPEN": "on", "GPU_HEAP": "device"},
    "managed-apart": {"SOFTCUDA_DEVICES": "2", "SOFTCUDA_PEERS": "NONE", "GPU_HEAP": "managed"},
    "open-apart": {"SOFTCUDA_DEVICES": "2", "SOFTCUDA_PEERS": "NONE", "SOFTCUDA_OPEN": "on", "GPU_HEAP": "device"},
}
HEAPS = [name for name, machine in MACHINES.items() if "GPU_HEAP" in machine]
NO_DRIVER_TESTS = (*HEAPS, "11.8", "lies", "one-queue", "queue", "queue-peers", "nvml-own", "nvml-old", "nvml-away")
# The behaviour suite: program, number of ranks, heaps. --full: all heaps and all numbers of ranks. Without long programs.
BEHAVIOUR = {name: (2, "managed open") for name in (
    "coll_outstanding", "coll_random", "coll_reduce_types", "coll_typed", "coll_types_random",
    "intercomm_basics", "intercomm_outstanding", "isendrecv", "partitioned", "persistent", "probe", "probe_matched",
    "pt2pt_large_both_ways", "pt2pt_modes", "pt2pt_order", "pt2pt_random", "pt2pt_self",
    "pt2pt_sendrecv", "pt2pt_synchronous", "pt2pt_truncate", "pt2pt_types", "pt2pt_wildcards", "request_free",
    "threads_channels", "threads_coll", "threads_comm", "threads_messages", "threads_pt2pt", "topology_neighbors",
    "topology_random", "types_random")}
BEHAVIOUR.update({name: (3, "managed open open-apart") for name in ("coll_move_data", "coll_ops")})
BEHAVIOUR.update(coll_reduce=(2, "open"), pt2pt_many_requests=(2, "managed"))  # the other heap would double the time
BEHAVIOUR.update({name: (2, "") for name in ("coll_reduce_random", "pt2pt_flood")})


class Behaviour(Test):
    """A program of tests/mpi with its heap on a device."""

    def __init__(self, source, full):
        super().__init__(source)
        ranks, heaps = BEHAVIOUR[source.stem]
        if not full:
            self.say.update({"ranks": str(ranks), "full-ranks": ""})
        self.say.update({"cuda": "no", "configurations": " ".join(HEAPS) if full else heaps, "full-configurations": ""})


def sample(pairs):
    """Samples pairs of ranks and machine: each number of ranks on the widest machine, for effects of ranks (schedules,
    neighbours), and each other machine with three ranks or the next number, for effects of the machine. If the widest
    machine has two and four ranks, three ranks on another machine suffice."""
    machines = [machine for _, machine in pairs]
    widest = "4-peers" if "4-peers" in machines else machines[0] if machines else None
    numbers = {ranks or 0 for ranks, _ in pairs}
    some = max((ranks for ranks in numbers if ranks <= 3), default=min(numbers, default=0))
    elsewhere = some == 3 and {2, 4} <= numbers and len(set(machines)) > 1
    return [(ranks, machine) for ranks, machine in pairs
            if (machine == widest and not (elsewhere and ranks == 3)) or (machine != widest and (ranks or 0) == some)]
