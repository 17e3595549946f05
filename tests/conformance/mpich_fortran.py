# SPDX-License-Identifier: Apache-2.0
"""The Fortran folders of MPICH's test/mpi (f77, f90, f08) without MPICH's configure.

A copy of the folders in the build folder gets the files that configure and autogen.sh would write: headers, the programs of
MPI-IO (testmerge), and f90 from f77 (f77tof90). Both scripts are MPICH's, and need perl."""
import re
import shlex
import shutil
import subprocess

FOLDERS = ("f77", "f90", "f08")
# What configure would substitute: kinds for fixed form.
WORDS = {"F77_MPI_ADDRESS": "integer*8", "F77_MPI_OFFSET": "integer*8", "FORTRAN_MPI_OFFSET": "integer*8"}
UTILITY = {"f77": "util/mtest_f77.f", "f90": "util/mtest_f90.f90", "f08": "util/mtest_f08.f90"}
COPIES = (("f77/rma", "f77/attr/attraints.h", "attraints.h"),
          ("f08/ext", "f77/ext/ctypesfromc.c", "ctypesfromc.c"), ("f08/ext", "f77/ext/c2f2c.c", "c2f902c.c"),
          ("f08/io", "f90/io/c2f902cio.c", "c2f902cio.c"), ("f90/ext", "f77/ext/c2f2c.c", "c2f902c.c"), ("f90/ext", "f77/ext/ctypesfromc.c", "ctypesfromc.c"))
FLAGS = ["-w", "-O0", "-g0"]


def language(run):
    """The folder of MPICH's language, or None."""
    return next((folder for folder in FOLDERS if folder in run.folder.split("/")), None)


def prepare(top, build, configured):
    """Returns the folder with the complete sources."""
    made = build / "fortran-sources"
    if (made / "complete").exists():
        return made
    shutil.rmtree(made, ignore_errors=True)
    for name in (*FOLDERS, "errors/f77", "util", "maint", "include"):
        shutil.copytree(top / name, made / name)
    for file in list(made.rglob("*.h.in")):
        text = file.read_text()
        for word, kind in WORDS.items():
            text = text.replace(f"@{word}@", kind)
        file.with_suffix("").write_text(text)
    (made / "include/mpitestconf.h").write_text(configured)
    merge = made / "maint/testmerge"
    merge.write_text((made / "maint/testmerge.in").read_text().replace("@PERL@", "/usr/bin/perl"))
    for folder in ("f77/io", "f08/io"):
        subprocess.run(["perl", merge, f"-defn={made}/maint/common.defn", "ioharness.defn", "ioharness.tlt"],
                       cwd=made / folder, check=True, stdout=subprocess.DEVNULL)
    for folder in sorted((made / "f77").iterdir()):
        if folder.is_dir():
            (made / "f90" / folder.name).mkdir(exist_ok=True)
            subprocess.run(["perl", "maint/f77tof90", f"f77/{folder.name}", f"f90/{folder.name}", "Makefile.am", "Makefile.ap"],
                           cwd=made, check=True, stdout=subprocess.DEVNULL)
    for folder, source, name in COPIES:
        if (made / source).exists():
            shutil.copy(made / source, made / folder / name)
    (made / "complete").touch()
    return made


def sources(made, makefiles, run):
    """Sources of a program by the makefile; else one file of the program's name."""
    said, _ = makefiles.folder(run.folder)
    names = said.get(run.program + "_SOURCES") or said.get(f"nodist_{run.program}_SOURCES")
    if not names:
        suffix = ".f" if language(run) == "f77" else ".f90"
        names = run.program + suffix
    return [made / run.folder / name for name in names.split() if not name.endswith(".h")]


def flags(run):
    """gfortran's fixed form has 72 columns; MPICH's sources obey."""
    return FLAGS + (["-ffree-line-length-none"] if language(run) != "f77" else [])


def compile_run(suite, run, program):
    """Returns None or a complaint."""
    made = suite.fortran_top
    files = sources(made, suite.fortran_make, run)
    for source in files:
        if not source.is_file():
            return f"has no source {source.relative_to(made)}"
    if suite.newer(program, files):
        return None
    work = program.parent / (program.name + ".objects")
    work.mkdir(parents=True, exist_ok=True)
    if all(source.suffix == ".c" for source in files):
        return suite.compile_c(run, files, program)
    objects = []
    for source in [*files, made / UTILITY[language(run)]]:
        objects.append(work / (re.sub(r"\W", "_", source.name) + ".o"))
        if source.suffix == ".c":
            complaint = suite.compiler("-DF77_NAME_LOWER_USCORE=1", "-c", source, "-o", objects[-1])
        else:
            complaint = fortran(suite, *flags(run), f"-I{source.parent}", f"-J{work}", "-c", source, "-o", objects[-1])
        if complaint:
            return complaint
    return fortran(suite, *objects, "-o", program)


def fortran(suite, *words):
    command = [str(suite.options.prefix / "bin/mpifort"), *map(str, words)]
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=suite.env)
    return None if done.returncode == 0 else shlex.join(command) + "\n" + done.stdout
