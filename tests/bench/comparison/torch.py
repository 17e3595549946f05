# SPDX-License-Identifier: Apache-2.0
"""`compare --bench torch`: runs tests/bench/torch/compare, torch.distributed on Tern beside gloo."""

import os
import re
import subprocess
import sys
from pathlib import Path

from . import data, hogs, measure, record

TOP = Path(__file__).resolve().parents[3]
LINE = re.compile(r"(\d+) ranks +(\w+) +(\d+) B +tern +([\d.]+) us +gloo +([\d.]+) us .*")


def parse(text):
    """The lines of a data file, from the output of torch/compare."""
    found = filter(None, map(LINE.fullmatch, text.splitlines()))
    return [data.Line(f"torch_{one[2]}", int(one[1]), int(one[3]), "us", {"tern": float(one[4]), "gloo": float(one[5])}) for one in found]


def libraries(python, prefix):
    version = subprocess.run([python, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True).stdout.strip()
    tern = subprocess.run([prefix / "bin/mpirun", "--version"], capture_output=True, text=True).stdout.strip()
    return {"tern": tern.split()[-1] if tern else "", "gloo": f"of PyTorch {version or 'of unknown version'}"}


def echo(stream):
    lines = []
    for line in stream:
        print(line, end="", flush=True)
        lines.append(line)
    return "".join(lines)


def compare(options):
    """The exit code of the comparison. The prefix is --tern's; PyTorch's Python is TORCH_PYTHON, or made by tests/torch/setup in
    _torch or the user's cache."""
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
    record.begin(options, prefix)
    environment = dict(os.environ, PATH=f"{prefix / 'bin'}:{os.environ['PATH']}", PYTHONPATH=":".join(paths))
    with hogs.busy(options.hogs):
        running = subprocess.Popen(command, env=environment, start_new_session=True, stdout=subprocess.PIPE, text=True)
        try:
            lines, code = parse(echo(running.stdout)), running.wait()
        except BaseException:   # Ctrl-C, TERM: no rank stays behind
            measure.stop(running)
            raise
    if options.update is not None and lines:
        record.update(options, data.Run("", {"method": "better quartiles"}, libraries(python, prefix), lines=lines))
    return code
