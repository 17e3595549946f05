# SPDX-License-Identifier: Apache-2.0
"""Common to all lints: the files of the source tree, and verdicts."""
import fnmatch
import os
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True
TOP = Path(__file__).resolve().parents[2]
CODE = (".cc", ".hpp", ".h", ".c", ".cu", ".cuh")
SCRIPTS = (".py", ".sh", ".mk", ".m4", ".ac", ".am", ".in")


def is_generated(path, patterns):
    """Whether .gitignore matches a path relative to the top. A pattern with a slash begins at the top."""
    return path == ".git" or any(fnmatch.fnmatch("/" + path if "/" in one else path.rsplit("/", 1)[-1], one)
                                 for one in patterns)


def walk():
    """Every file not in .gitignore, without git."""
    patterns = [line.rstrip("/") for line in text(".gitignore").splitlines() if line and not line.startswith("#")]
    for base, folders, names in os.walk(TOP):
        folder = "" if base == str(TOP) else str(Path(base).relative_to(TOP)) + "/"
        folders[:] = [name for name in folders if not is_generated(folder + name, patterns)]
        yield from (folder + name for name in names if not is_generated(folder + name, patterns))


def files():
    """Every file of the project relative to the top: tracked or untracked by git; without git, all files."""
    try:
        listed = subprocess.run(["git", "-C", str(TOP), "ls-files", "-co", "--exclude-standard"], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        listed = walk()
    return sorted(name for name in listed if (TOP / name).is_file())


def code(*suffixes):
    return [name for name in files() if name.endswith(suffixes or CODE)]


def text(name):
    return (TOP / name).read_text(errors="replace")


def is_script(name):
    """Whether a file has no suffix and begins with #!."""
    with open(TOP / name, "rb") as file:
        return "." not in Path(name).name and file.read(2) == b"#!"


def read_known(name):
    """The lines of a list in known.d: breaches older than the lint."""
    return [line for line in text(f"tests/lint/known.d/{name}").splitlines() if line and not line.startswith("#")]


def write_known(name, head, lines):
    (TOP / "tests/lint/known.d" / name).write_text("\n".join(["# SPDX-License-Identifier: Apache-2.0", f"# {head}", *lines]) + "\n")


def verdict(what, breaches, cure):
    """Prints the verdict and each breach, and ends the script."""
    if breaches:
        print(f"FAIL {what}: {len(breaches)} found. {cure}")
        print("\n".join("    " + str(line) for line in breaches))
        sys.exit(1)
    print(f"PASS {what}")
    sys.exit(0)


def skip(what, why):
    print(f"SKIP {what}: {why}")
    sys.exit(0)
