# SPDX-License-Identifier: Apache-2.0
"""`compare --bench torch`: runs tests/bench/torch/compare, which compares torch.distributed on Tern with gloo."""

import os
import subprocess
import sys
from pathlib import Path

from . import hogs, measure

TOP = Path(__file__).resolve().parents[3]


def compare(options):
    """The exit code of the comparison. The prefix is --tern's; PyTorch's Python is TORCH_PYTHON or what tests/torch/setup made in _torch, or in
    the user's cache."""
    prefix = Path(options.tern or TOP / "_install").resolve()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    made = [place / "venv/bin/python" for place in (TOP / "_torch", cache / "tern-torch")]
    python = os.environ.get("TORCH_PYTHON") or str(next(filter(Path.exists, made), made[0]))
    site = TOP / "_build/torch/site"
    for path, cure in ((Path(python), "tests/torch/setup makes one, or TORCH_PYTHON=/path/of/python names one"),
                       (prefix / "bin/mpirun", "--tern PREFIX says where Tern is installed"),
                       (site / "torch_tern", "tests/torch/run builds the package")):
        if not path.exists():
            sys.exit(f"compare: --bench torch: no {path}: {cure}")
    command = [python, str(TOP / "tests/bench/torch/compare")]
    if options.ranks:
        command += ["--ranks", ",".join(map(str, options.ranks))]
    if options.arguments:
        command += ["--", *options.arguments]
    paths = [str(site)] + [path for path in [os.environ.get("PYTHONPATH")] if path]
    environment = dict(os.environ, PATH=f"{prefix / 'bin'}:{os.environ['PATH']}", PYTHONPATH=":".join(paths))
    with hogs.busy(options.hogs):
        running = subprocess.Popen(command, env=environment, start_new_session=True)
        try:
            return running.wait()
        except BaseException:   # Ctrl-C, TERM: no rank stays behind
            measure.stop(running)
            raise
