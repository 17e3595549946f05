# SPDX-License-Identifier: Apache-2.0
"""Tests of bindings/torch: builds the package, then runs the programs of tests/torch with the ranks of their heads.

run [--prefix DIR] [--build DIR] [--full | --smoke] [NAME...]; PyTorch comes from TORCH_PYTHON, or from tests/torch/setup
(_torch or the user's cache)."""
import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

from . import TOP, processes
from .directives import read_head
from .options import refuse
from .slurm import Slurm, missing
from .verdicts import Verdicts

HERE, EXAMPLES = TOP / "tests/torch", TOP / "bindings/torch/examples"
WORDS = ("ranks", "torchrun", "softcuda", "prterun", "srun", "hosts", "mpi4py", "program")
SMOKE = ("environment", "sparse")  # a minute: build, start, moving and adding data
MOST = 4  # ranks by mpirun, without --full
AS_ROOT = {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
BUILD_GUARD = ("import sys; from torch.utils.cpp_extension import load; load('soft', [sys.argv[1]], "
               "extra_cflags=['-std=c++20', '-O1'], build_directory=sys.argv[2], verbose=True)")


def said_ok(done):
    """Programs print "ok" at the end. After time-outs requests remain, and mpirun prints a remark."""
    return None if "ok" in done.out.splitlines() else "no line \"ok\""


def succeeded(done):
    return f"exit {done.code}" if done.code else None


def one_line_of(name):
    """An example prints a single line beginning with its name, and no error."""
    def judge(done):
        good = done.code == 0 and done.out.count("\n") == 1 and done.out.startswith((name + ":", name + " "))
        return None if good else f"exit {done.code}, and not one line that begins with {name}"
    return judge


class Torch(Verdicts):
    def __init__(self, options, python):
        super().__init__()
        self.options, self.python = options, python
        self.prefix, self.build = Path(options.prefix).resolve(), Path(options.build).resolve()
        self.soft = self.build.parent / "tests/softcuda"
        self.env = {**os.environ, "PATH": f"{self.prefix}/bin:{os.environ['PATH']}"}
        self.guard_built = False
        self.slurm = Slurm()

    def check(self, name, command, limit, judge=said_ok, env=None, test=None):
        """Runs a test with a verdict. Processes left behind are a failure for any output."""
        done = processes.perform(command, {**self.env, **(env or {})}, limit, merged=True)
        differs = judge(done) if done.in_time else None
        faults = [*([differs] if differs else []), *processes.trouble(done, limit)]
        if not faults:
            return self.report("PASS", name, done=done)
        faults.append(f"command: {' '.join(map(str, command))}")
        again = [sys.argv[0], "--prefix", self.prefix, "--build", self.build, *(["--full"] if self.options.full else [])]
        return self.fail(name, done.out, faults, [*again, *([test] if test else [])], done)

    def skip(self, name, reason):
        self.report("SKIP", f"{name}: {reason}")

    def words(self, name, *arguments):
        return [self.python, "-W", "ignore", HERE / f"{name}.py", *arguments]

    def build_package(self):
        """Builds in a copy kept for the next run, so that only changed files are compiled."""
        (self.build / "site").mkdir(parents=True, exist_ok=True)
        (self.build / "source").mkdir(exist_ok=True)
        subprocess.run(["cp", "-ru", f"{TOP}/bindings/torch/.", self.build / "source"], check=True)
        for copy in (self.build / "source/src").iterdir():
            if not (TOP / "bindings/torch/src" / copy.name).exists():
                copy.unlink()
        pip = [self.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation",
               "--upgrade", "--target", self.build / "site", self.build / "source"]
        version = subprocess.run([self.python, "-c", "import torch; print(torch.__version__)"], stdout=subprocess.PIPE, text=True)
        self.check(f"the package builds against PyTorch {version.stdout.strip()}", pip, 3600, succeeded,
                   {"TERN_PREFIX": str(self.prefix), "MAX_JOBS": os.environ.get("JOBS", "2")})
        if not (self.build / "site/torch_tern/__init__.py").exists():
            self.end()
        self.env.update(PYTHONPATH=f"{self.build}/site:{HERE}", PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1")

    def on(self, what, ranks, name, *arguments, env=None):
        command = ["mpirun", "-n", ranks, "--timeout", "150", *self.words(name, *arguments)]
        self.check(what, command, 180, env=env, test=name)

    # Each method below runs a program as a line of its head requests.

    def ranks(self, name, ranks):
        if not self.options.full and int(ranks) > MOST:
            return self.skip(f"{name} on {ranks} ranks", "with --full")
        return self.on(f"{name} on {ranks} ranks", ranks, name)

    def torchrun(self, name, ranks):
        """Without mpirun; ranks meet in PyTorch's Store."""
        command = [self.python, "-W", "ignore", "-m", "torch.distributed.run", "--nproc-per-node", ranks, "--max-restarts", "1",
                   HERE / f"{name}.py"]
        self.check(f"{name} on {ranks} ranks by torchrun", command, 150, test=name)

    def softcuda(self, name, ranks):
        """On the software driver; guard/guard.cc replaces c10's CUDA, and synchronous copies land late."""
        if not (self.soft / "libcuda.so.1").exists():
            return self.skip(f"{name} on {ranks} ranks", f"no {self.soft}/libcuda.so.1: make softcuda")
        self.build_guard()
        return self.on(f"{name} on {ranks} ranks, software driver", ranks, name, env={
            "LD_LIBRARY_PATH": str(self.soft), "SOFTCUDA_LATE": "500", "SOFTCUDA_MEMORY": "1G",
            "PYTHONPATH": f"{self.build}/soft:{self.env['PYTHONPATH']}"})

    def build_guard(self):
        if self.guard_built:
            return
        self.guard_built = True
        source, folder = HERE / "guard/guard.cc", self.build / "soft"
        built = folder / "soft.so"
        folder.mkdir(exist_ok=True)
        done = built.exists() and built.stat().st_mtime > source.stat().st_mtime
        command = ["true"] if done else [self.python, "-c", BUILD_GUARD, source, folder]
        self.check("the guard for the software driver builds", command, 600, succeeded, {"MAX_JOBS": "1"})

    def prterun(self, name, ranks):
        """By PRRTE over PMIx, with PRRTE's permission for root."""
        if not shutil.which("prterun"):
            return self.skip(f"{name} on {ranks} ranks by prterun", "no prterun in PATH")
        command = ["prterun", "--map-by", ":OVERSUBSCRIBE", "-n", ranks, *self.words(name)]
        return self.check(f"{name} on {ranks} ranks by prterun", command, 150, env=AS_ROOT, test=name)

    def srun(self, name, ranks):
        """By a private Slurm, started at first use."""
        what = f"{name} on {ranks} ranks by srun"
        if reason := self.slurm.start():
            return self.skip(what, reason)
        command = ["srun", "--mpi=pmix", "-N1", "-n", ranks, "--overcommit", *self.words(name)]
        return self.check(what, command, 150, env=self.slurm.env, test=name)

    def hosts(self, name, launcher):
        """On two hosts of tests/hosts: by srun, or by a torchrun on each host."""
        what, hosts = f"{name} by {launcher}", [TOP / "tests/hosts/run", "--prefix", self.prefix, "--shell"]
        reason = missing()
        if not reason:
            tried = subprocess.run([*hosts, "true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=self.env)
            reason = tried.stdout.splitlines()[1].strip() if tried.stdout.startswith("SKIP") else None
        if reason:
            return self.skip(what, reason)
        by_srun = launcher == "srun"
        between = "" if by_srun else "-m torch.distributed.run --nnodes 2 --nproc-per-node 2 --rdzv-backend c10d --rdzv-endpoint h1:29511"
        words = (f"srun --mpi=pmix -N2 --overcommit --ntasks-per-node {2 if by_srun else 1} {self.python} -W ignore {between} "
                 f"{HERE / name}.py")
        return self.check(what, [*hosts, words], 250, test=name)

    def mpi4py(self, name, ranks):
        if subprocess.run([self.python, "-c", "import mpi4py"], stderr=subprocess.DEVNULL).returncode:
            return self.skip(f"{name} on {ranks} ranks", f"no mpi4py in {self.python}: docs/recipes.md")
        self.on(f"{name} on {ranks} ranks", ranks, name)
        self.on(f"{name} on {ranks} ranks, begun by mpi4py", ranks, name, "mpi4py_first")
        return self.on(f"{name} on {ranks} ranks, mpi4py ends first", ranks, name, "mpi_ends_first")

    def program(self, name):
        """The program starts its ranks."""
        self.check(name, self.words(name), 200, test=name)

    def examples(self):
        for file in sorted(EXAMPLES.glob("*.py")):
            command = ["mpirun", "-n", "4", "--timeout", "150", self.python, "-W", "ignore", file]
            self.check(f"example {file.stem} on 4 ranks", command, 180, one_line_of(file.stem), test="examples")

    def run(self, name):
        head = lines_of(name)
        for word in WORDS:
            if word == "program" and word in head:
                self.program(name)
                continue
            for value in head.get(word, "").split():
                getattr(self, word)(name, value)


def lines_of(name):
    return read_head((HERE / f"{name}.py").read_text().splitlines(), WORDS)[0]


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--prefix", default=TOP / "_install", help="the installed Tern (default _install)")
    parser.add_argument("--build", default=TOP / "_build/torch", help="build directory of the package")
    parser.add_argument("--full", action="store_true", help="also on more ranks")
    parser.add_argument("--smoke", action="store_true", help=f"{' and '.join(SMOKE)} alone")
    parser.add_argument("name", nargs="*", help="programs of tests/torch, or examples")
    options = parser.parse_intermixed_args()
    for name in options.name:
        if name != "examples" and not (HERE / f"{name}.py").exists():
            refuse(f"there is no tests/torch/{name}.py")
    names = sorted(path.stem for path in HERE.glob("*.py"))
    usual = [*SMOKE] if options.smoke else [] if options.name else [*(name for name in names if lines_of(name)), "examples"]
    options.name = usual + options.name
    return options


def python_of_torch():
    """The interpreter, and its fault or None."""
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tern-torch/venv/bin/python"
    own = TOP / "_torch/venv/bin/python"
    python = os.environ.get("TORCH_PYTHON") or str(cached if cached.exists() and not own.exists() else own)
    if not os.access(python, os.X_OK):
        return python, "no PyTorch: tests/torch/setup makes one (540 MB), or TORCH_PYTHON=/path/of/python names one"
    looked = subprocess.run([python, "-c", "import torch.distributed as d; assert d.is_available()"], stderr=subprocess.PIPE,
                            text=True)
    last = (looked.stderr.strip() or "unknown").splitlines()[-1]
    return python, f"{python} has no PyTorch with torch.distributed: {last}" if looked.returncode else None


def main():
    options = parse()
    python, reason = python_of_torch()
    runner = Torch(options, python)
    if reason:
        runner.skip("torch", reason)
        runner.end()
    with runner.slurm:
        runner.build_package()
        for name in options.name:
            runner.examples() if name == "examples" else runner.run(name)
        runner.end()
