# SPDX-License-Identifier: Apache-2.0
"""Builds torch_tern against the installed PyTorch and Tern: pip install --no-build-isolation bindings/torch."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

try:
    import torch
    from torch.utils.cpp_extension import BuildExtension, CppExtension
except ImportError as error:
    raise SystemExit(f"{sys.executable} cannot import PyTorch ({error}): install PyTorch, then run pip install --no-build-isolation bindings/torch")


def find_prefix():
    """Finds Tern by TERN_PREFIX, or by the mpicxx in PATH."""
    prefix = os.environ.get("TERN_PREFIX")
    if prefix:
        if not (Path(prefix) / "include" / "mpix.h").exists():
            raise SystemExit(f"TERN_PREFIX={prefix} has no include/mpix.h: set TERN_PREFIX to Tern's installation")
        return Path(prefix).resolve()
    compiler = shutil.which("mpicxx")
    if not compiler:
        raise SystemExit("no mpicxx in PATH: add Tern's bin to PATH, or set TERN_PREFIX=/where/tern/is/installed")
    for word in shlex.split(subprocess.run([compiler, "-show"], check=True, capture_output=True, text=True).stdout):
        if word.startswith("-I") and (Path(word[2:]) / "mpix.h").exists():
            return Path(word[2:]).resolve().parent
    raise SystemExit(f"{compiler} is not Tern's: its include directories lack mpix.h. Set TERN_PREFIX=/where/tern/is/installed")


def find_version(prefix):
    """Reads the version of all packages from configure.ac of this checkout or tarball; for a copy of this folder, from tern.pc."""
    for path, pattern in ((Path(__file__).resolve().parents[2] / "configure.ac", r"^AC_INIT\(\[[^]]*\], \[([^]]*)\]"),
                          (prefix / "lib/pkgconfig/tern.pc", r"^Version: (\S+)")):
        found = path.exists() and re.search(pattern, path.read_text(), re.M)
        if found:
            return found[1]
    raise SystemExit(f"neither a checkout of Tern nor {prefix}/lib/pkgconfig/tern.pc tells the version: install Tern again")


class BuildPython(build_py):
    """Adds a file with the version of PyTorch, readable without loading a library."""

    def run(self):
        super().run()
        folder = Path(self.build_lib) / "torch_tern"
        folder.mkdir(parents=True, exist_ok=True)
        version = torch.__version__.split("+")[0]
        (folder / "_built_for.py").write_text(f'BUILT_FOR = "{version}"\n')


def write_units(count):
    """Combines the sources into `count` units, because PyTorch's headers dominate the compilation time."""
    sources = sorted(Path("src").glob("*.cc"))
    folder = Path("build") / "units"
    folder.mkdir(parents=True, exist_ok=True)
    units = []
    for number in range(count):
        unit = folder / f"unit{number}.cc"
        text = "".join(f'#include "{path.resolve()}"\n' for path in sources[number::count])
        if not unit.exists() or unit.read_text() != text:
            unit.write_text(text)
        units.append(str(unit))
    return units


os.chdir(Path(__file__).resolve().parent)
prefix = find_prefix()
rpath = os.environ.get("TERN_TORCH_RPATH", str(prefix / "lib"))  # packaging/wheel/build-torch: relative to the module
setup(
    version=find_version(prefix),
    ext_modules=[
        CppExtension(
            "torch_tern._C",
            write_units(2),
            depends=[str(path) for path in Path("src").iterdir()],
            include_dirs=[str(prefix / "include")],
            library_dirs=[str(prefix / "lib")],
            libraries=["mpi_abi"],
            extra_compile_args=["-std=c++20", "-O2", "-g0", "-Wall"],
            extra_link_args=[f"-Wl,-rpath,{rpath}", "-Wl,--enable-new-dtags", "-Wl,-z,relro,-z,now"],
        )
    ],
    cmdclass={"build_ext": BuildExtension, "build_py": BuildPython},
)
