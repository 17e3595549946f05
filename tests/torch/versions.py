# SPDX-License-Identifier: Apache-2.0
"""A package built for another version of PyTorch raises an error before the load of its library, because missing
symbols would hide the reason."""
# program: starts what it needs itself

import glob
import os
import shutil
import subprocess
import sys
import tempfile

import torch

import torch_tern

IMPORT = [sys.executable, "-c", "import torch, torch_tern"]


def imported(place):
    done = subprocess.run(IMPORT, capture_output=True, text=True, env=dict(os.environ, PYTHONPATH=place), cwd=place)
    return done.returncode, done.stderr


with tempfile.TemporaryDirectory() as place:
    package = shutil.copytree(os.path.dirname(torch_tern.__file__), f"{place}/torch_tern")
    code, text = imported(place)
    assert code == 0, text
    # Built for another version: the library does not load, for any reason.
    own = torch.__version__.split("+")[0]
    for name in glob.glob(f"{package}/*.py"):
        with open(name) as file:
            source = file.read()
        if f'"{own}"' in source:
            with open(name, "w") as file:
                file.write(source.replace(f'"{own}"', '"2.4.1"'))
    for library in glob.glob(f"{package}/_C*.so"):
        with open(library, "wb") as file:
            file.write(b"of another version")
    code, text = imported(place)
    assert code != 0 and "torch_tern was built for PyTorch 2.4.1, but this is " in text, text
    assert "bindings/torch rebuilds it" in text, text
print("ok")
