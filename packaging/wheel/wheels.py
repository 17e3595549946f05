# SPDX-License-Identifier: Apache-2.0
"""Common to the wheels: the version, platform tags, and archives that are equal for equal files."""
import base64
import hashlib
import os
import re
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path

sys.dont_write_bytecode = True
TOP = Path(__file__).resolve().parents[2]
VERSION = re.search(r"^AC_INIT\(\[.*?\], \[(.*?)\]", (TOP / "configure.ac").read_text(), re.M)[1]


def run(*words):
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        sys.exit(f"wheel: {' '.join(map(str, words))} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def strip(data):
    """Strips each ELF file with symbols."""
    for path in data.rglob("*"):
        if path.is_file() and is_elf(path) and re.search(r"\.(symtab|debug_info)\b", run("readelf", "-SW", path)):
            run("strip", "--strip-unneeded", path)


# The first manylinux policy with a version of libstdc++ (GLIBCXX_3.4.N), as auditwheel 6.8 has it.
LIBSTDCXX = ((29, (2, 34)), (30, (2, 35)), (33, (2, 39)))


def policy_of(needs):
    """The policy for GLIBCXX_3.4.N."""
    for most, policy in LIBSTDCXX:
        if needs <= most:
            return policy
    sys.exit(f"wheel: GLIBCXX_3.4.{needs} is newer than every known policy: build with an older compiler, or extend LIBSTDCXX")


def platform_tag(data):
    """manylinux_MAJOR_MINOR_MACHINE: the newest versions of glibc and libstdc++ that a file asks for."""
    newest = (2, 17)
    for path in data.rglob("*"):
        if path.is_file() and is_elf(path):
            needs = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", run("readelf", "-VW", path))
            shared = [policy_of(int(one)) for one in re.findall(r"Name: GLIBCXX_3\.4\.(\d+)", run("readelf", "-VW", path))]
            newest = max([newest, *shared, *((int(major), int(minor)) for major, minor in needs)])
    return f"manylinux_{newest[0]}_{newest[1]}_{os.uname().machine}"


def record(found, name):
    rows = []
    for path, (content, _) in sorted(found.items()):
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        rows.append(f"{path},sha256={digest},{len(content)}")
    return "\n".join([*rows, f"{name},,"]) + "\n"


def write(found, base, tag, out):
    """Writes the wheel `base`-`tag`.whl. found: name -> (bytes, mode), without the RECORD."""
    name = f"{base}.dist-info/RECORD"
    found[name] = record(found, name).encode(), 0o644
    moment = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)), 315532800))[:6]  # zip begins in 1980
    out.mkdir(parents=True, exist_ok=True)
    path = out / f"{base}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for inside, (content, mode) in sorted(found.items(), key=lambda one: (".dist-info/" in one[0], one[0])):
            entry = zipfile.ZipInfo(inside, moment)
            entry.external_attr = (stat.S_IFREG | mode) << 16
            entry.create_system = 3
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED, 9)
    return path
