# SPDX-License-Identifier: Apache-2.0
"""Runs tests of distributed_test.py from PyTorch's wheel on the ranks of this job. Rank 0 prints the result of each test.

ranks.py NAME TEST...: NAME is the backend's name for decorators: "gloo" and "mpi" enable tests for one of
these backends. The tests use Tern.
"""

import datetime
import os
import sys
import traceback
import unittest
import warnings

import torch
import torch.distributed as dist

import torch_tern

rank, ranks = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
name, tests = sys.argv[1], sys.argv[2:]
os.environ.update(BACKEND=name, WORLD_SIZE=str(ranks), RANK=str(rank), MASTER_ADDR="127.0.0.1",
                  INIT_METHOD=f"file://{os.environ['TEMP_DIR']}/shared_init_file")
warnings.simplefilter("ignore")

from torch.testing._internal import common_distributed, common_utils  # noqa: E402  (reads the environment)

for features in ("ddp", "subgroup"):
    common_distributed.DistTestCases.backend_feature[features] |= {name, "tern"}

torch.manual_seed(1)  # models created at import have equal weights on all ranks, as in forked processes
from torch.testing._internal.distributed import distributed_test  # noqa: E402

SKIPS = {skip.exit_code: skip.message for skip in common_distributed.TEST_SKIPS.values()}


class Tests(distributed_test.TestDistBackend, distributed_test.DistributedTest._DistTestBase):
    """Runs in the ranks instead of spawning processes."""

    def setUp(self):
        common_utils.set_rng_seed()
        self.rank = rank
        self.skip_return_code_checks = []
        self.special_return_code_checks = {}

    def tearDown(self):
        pass


def run(test):
    """Returns None, or the reason of a skip."""
    method = getattr(Tests, test)
    if getattr(method, "__unittest_skip__", False):
        return method.__unittest_skip_why__
    seconds = distributed_test.CUSTOM_PG_TIMEOUT.get(test, 60)
    dist.init_process_group("tern", init_method=f"file://{os.environ['TEMP_DIR']}/init_dir/{test}",
                            rank=rank, world_size=ranks, timeout=datetime.timedelta(seconds=seconds))
    case = Tests(test)
    case.setUp()
    case._barrier()
    try:
        getattr(case, test)()
    except unittest.SkipTest as skip:
        return str(skip)
    except SystemExit as end:
        if end.code not in SKIPS:
            raise
        return SKIPS[end.code]
    return None


for test in tests:
    if rank == 0:
        print(f"BEGIN {test}", flush=True)
    try:
        why = run(test)
        if dist.is_initialized():
            distributed_test.Barrier.sync()
            dist.destroy_process_group()
    except BaseException:
        print(f"[rank {rank}] {test}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
        os._exit(1)
    if rank == 0:
        print(f"PASS {test}" if why is None else f"SKIP {test}: {why}", flush=True)
