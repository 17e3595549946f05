# SPDX-License-Identifier: Apache-2.0
"""An MPI library under measurement: compiler, launcher, version, build."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path


class SetupError(Exception):
    """A fault that the user can mend; the text has fault and cure."""


# Launcher options without binding: BENCH_BIND of the benchmark binds alike for all libraries.
FLAVOURS = (
    ("openmpi", re.compile(r"Open MPI|OpenRTE|prte", re.I), ["--bind-to", "none", "--oversubscribe"]),
    ("mpich", re.compile(r"HYDRA|MPICH", re.I), ["-bind-to", "none"]),
    ("tern", re.compile(r"Tern", re.I), ["--bind-to", "none"]),
)

ENVIRONMENT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


@dataclass
class Library:
    name: str
    mpicc: Path
    mpirun: Path
    flavour: str = "unknown"
    options: list = field(default_factory=list)
    version: str = ""
    build: str = ""  # origin and options of the build, of a peer
    programs: Path = Path()
    settings: dict = field(default_factory=dict)  # environment variables of its runs

    def command(self, ranks, program, arguments, variables):
        """`variables` are in the launcher's environment already."""
        return [str(self.mpirun), *self.options, "-n", str(ranks), str(self.programs / program), *arguments]


def variables(bind, priority, busy, settings):
    return {**settings, "BENCH_BIND": str(int(bind)), "BENCH_PRIORITY": str(int(priority)), "BENCH_BUSY": str(int(busy))}


def environment(of_ranks=None):
    return {**os.environ, **ENVIRONMENT, **(of_ranks or {})}


def find(name, where):
    """A library from `NAME=PREFIX` or `NAME=PATH_OF_MPICC`, both with any number of `,VARIABLE=VALUE`."""
    where, *settings = where.split(",")
    if wrong := [text for text in settings if "=" not in text]:
        raise SetupError(f"{name}: expected VARIABLE=VALUE after the comma, not {wrong[0]}")
    path = Path(shutil.which(where) or where).absolute() if "/" not in where else Path(where).absolute()
    mpicc = path / "bin" / "mpicc" if path.is_dir() else path
    if not os.access(mpicc, os.X_OK):
        raise SetupError(f"{name}: no mpicc that can run at {mpicc}; give an install prefix or the path of mpicc")
    for launcher in ("mpirun", "mpiexec"):
        mpirun = mpicc.parent / launcher
        if os.access(mpirun, os.X_OK):
            return describe(Library(name, mpicc, mpirun, settings=dict(text.split("=", 1) for text in settings)))
    raise SetupError(f"{name}: no mpirun or mpiexec beside {mpicc}")


def describe(library):
    answer = subprocess.run([str(library.mpirun), "--version"], capture_output=True, text=True, timeout=60,
                            env=environment())
    text = answer.stdout + answer.stderr
    for flavour, pattern, options in FLAVOURS:
        if pattern.search(text):
            library.flavour, library.options = flavour, list(options)
            break
    number = re.search(r"\d+\.\d+(\.\d+)?\S*", text)
    library.version = number.group(0) if number else "unknown version"
    library.build = build_words(library, text)
    return library


def build_words(library, text):
    """Origin and transports of a peer's build; `text` is the launcher's version."""
    folder = library.mpicc.parent
    info = folder / "ompi_info"
    if os.access(info, os.X_OK):
        text += subprocess.run([str(info)], capture_output=True, text=True, timeout=60, env=environment()).stdout
    words = ["wheel of PyPI"] if (folder.parent / "pyvenv.cfg").is_file() else []
    return " ".join(words + list(dict.fromkeys(re.findall(r"--with-(?:device=[\w:,]+|ucx|ofi)\b", text))))


def described(library):
    """Version, build and settings, as a data file keeps them."""
    notes = [library.build, *(f"{name}={value}" for name, value in library.settings.items())]
    notes = ", ".join(filter(None, notes))
    return f"{library.version} ({notes})" if notes else library.version


def build(library, sources, programs, out):
    """Compiles the programs that changed; raises SetupError with the compiler's output."""
    library.programs = out / library.name
    library.programs.mkdir(parents=True, exist_ok=True)
    for program in programs:
        source, target = sources / f"{program}.c", library.programs / program
        newest = max(f.stat().st_mtime for f in (source, sources / "bench.h", library.mpicc))
        if target.exists() and target.stat().st_mtime > newest:
            continue
        command = [str(library.mpicc), "-std=c11", "-O2", str(source), "-o", str(target)]
        answer = subprocess.run(command, capture_output=True, text=True, env=environment())
        if answer.returncode != 0:
            raise SetupError(f"{library.name}: {' '.join(command)} failed:\n{answer.stdout}{answer.stderr}")
