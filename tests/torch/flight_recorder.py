# SPDX-License-Identifier: Apache-2.0
"""PyTorch's flight recorder, attached to every backend since 2.15: the dump has Tern's collectives and messages with
groups, numbers, sizes, types and states. A collective missing on a rank is not "completed". A timeout writes the dump
to a file."""
# ranks: 2 3

import json
import os
import pickle
import tempfile
import time

place = os.path.join(tempfile.gettempdir(), f"torch-tern-trace-{os.getppid()}-")
os.environ["TORCH_FR_DUMP_TEMP_FILE"] = place  # read once, at the first dump

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

import world

rank, ranks = world.begin()
if not hasattr(c10d, "FlightRecorderHook"):  # older versions record only built-in backends
    world.end()
    raise SystemExit


def entries(group):
    recorded = json.loads(c10d._dump_fr_trace_json(backend="tern")).get("entries", [])
    return [one for one in recorded if one["process_group"][0] == group.group_name]


def described(one):
    return (one["profiling_name"], one["collective_seq_id"], one["p2p_seq_id"], one["is_p2p"], one["input_sizes"],
            one["input_dtypes"], one["output_sizes"], one["state"], one["retired"])


# Each call appears once and in order. Each group counts its own calls.
group, other = dist.new_group(group_desc="training"), dist.new_group()
dist.all_reduce(torch.ones(3, 5), group=group)
dist.all_reduce(torch.ones(1_000_000), group=group, async_op=True).wait()
dist.broadcast(torch.ones(7, dtype=torch.float64), 0, group=other)
dist.all_gather_into_tensor(torch.empty(2 * ranks), torch.ones(2), group=group, async_op=True).get_future().wait()
to, of = (rank + 1) % ranks, (rank - 1) % ranks
sent = dist.isend(torch.ones(4, dtype=torch.int32), to, group=group)
dist.recv(torch.ones(4, dtype=torch.int32), of, group=group)
sent.wait()
dist.reduce_scatter_tensor(torch.empty(6), torch.ones(6 * ranks), group=group)
dist.all_to_all_single(torch.empty(ranks), torch.ones(ranks), group=group)
dist.barrier(group)
wanted = [
    ("tern:all_reduce", 1, 0, False, [[3, 5]], ["Float"], [[3, 5]], "completed", True),
    ("tern:all_reduce", 2, 0, False, [[1_000_000]], ["Float"], [[1_000_000]], "completed", True),
    ("tern:_all_gather_base", 3, 0, False, [[2]], ["Float"], [[2 * ranks]], "completed", True),
    (f"tern:send {rank}->{to}", 3, 1, True, [[4]], ["Int"], [], "completed", True),
    (f"tern:recv {rank}<-{of}", 3, 2, True, [], [], [[4]], "completed", True),
    ("tern:_reduce_scatter_base", 4, 2, False, [[6 * ranks]], ["Float"], [[6]], "completed", True),
    ("tern:all_to_all_single", 5, 2, False, [[ranks]], ["Float"], [[ranks]], "completed", True),
    ("tern:barrier", 6, 2, False, [], [], [], "completed", True),
]
got = [described(one) for one in entries(group)]
assert got == wanted, "\n".join(map(str, got))
got = [described(one) for one in entries(other)]
assert got == [("tern:broadcast", 1, 0, False, [[7]], ["Double"], [[7]], "completed", True)], got
for one in entries(group):
    assert one["process_group"][1] == "training" and one["time_discovered_completed_ns"] >= one["time_created_ns"], one
assert group._get_backend(torch.device("cpu"))._get_sequence_number_for_group() == 6

# The whole dump has members, call stacks and the last call.
trace = pickle.loads(c10d._dump_fr_trace(backend="tern"))
assert trace["pg_config"][group.group_name]["ranks"] == str(list(range(ranks))), trace["pg_config"]
assert any(frame["filename"] == __file__ for frame in trace["entries"][0]["frames"]), trace["entries"][0]["frames"]
assert not json.loads(c10d._dump_fr_trace_json()).get("entries"), "gloo's recorder has the calls"

# A call missing on another rank is the only call in flight.
if rank == 0:
    work = dist.all_reduce(torch.ones(9), group=group, async_op=True)
    time.sleep(0.1)
    last = entries(group)[-1]
    assert (last["collective_seq_id"], last["state"], last["retired"]) == (7, "scheduled", False), last
    active = json.loads(c10d._dump_fr_trace_json(onlyActive=True, backend="tern"))["entries"]
    assert [one["record_id"] for one in active] == [last["record_id"]], active
dist.barrier()
if rank > 0:
    work = dist.all_reduce(torch.ones(9), group=group, async_op=True)
work.wait()
assert entries(group)[-1]["state"] == "completed", entries(group)[-1]
work = None

# Each waiting rank writes a dump with the pending call.
late = dist.new_group(timeout=world.milliseconds(500))
if rank != 1:
    with world.raises(dist.DistBackendError, "did not complete on rank"):
        dist.all_reduce(torch.ones(11), group=late)
    trace = None
    for _ in range(100):  # the hook is still writing
        try:
            with open(place + str(rank), "rb") as file:
                trace = pickle.load(file)
            break
        except (FileNotFoundError, EOFError, pickle.UnpicklingError):
            time.sleep(0.1)
    assert trace, f"no {place}{rank}"
    last = [one for one in trace["entries"] if one["process_group"][0] == late.group_name][-1]
    assert last["input_sizes"] == [[11]] and last["state"] == "scheduled", last
    os.unlink(place + str(rank))
# An abandoned call is not completed.
late = dist.new_group(timeout=world.milliseconds(500))
if rank != 1:
    work = dist.all_reduce(torch.ones(13), group=late, async_op=True)
    with world.raises(dist.DistBackendError, "did not complete on rank"):
        work.wait()
    assert entries(late)[-1]["state"] == "scheduled", entries(late)[-1]
dist.barrier()
c10d._reset_fr_trace("tern")
assert not json.loads(c10d._dump_fr_trace_json(backend="tern")).get("entries")
if rank == 0:
    print("ok")
