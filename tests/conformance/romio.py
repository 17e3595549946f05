# SPDX-License-Identifier: Apache-2.0
"""ROMIO's tests in MPICH's sources (src/mpi/romio/test): one table row for each run, without ROMIO's configure."""
import re
import shutil

import lists
import mpich

FILE = "romio_test_file"  # the programs write into this file, or into files with this prefix
HINTS = "test_hintfile"
NAMED = ("-fname", FILE)
NO_ERRORS = (r"\s*No Errors",)
DONE = ()  # the exit code alone decides

# program, ranks, arguments, and lines of the output; None: "No Errors" and nothing else
RUNS = [
    ("simple", 4, NAMED, None),
    ("psimple", 4, NAMED, None),
    ("async", 4, NAMED, None),
    ("async-multiple", 4, NAMED, None),
    ("atomicity", 4, NAMED, None),
    ("coll_test", 4, NAMED, None),
    ("excl", 4, NAMED, None),
    ("creat_excl", 4, NAMED, None),
    ("file_info", 4, NAMED, None),
    ("file_info", 4, ("-u", *NAMED), None),
    ("i_noncontig", 2, NAMED, None),
    ("noncontig", 2, NAMED, None),
    ("noncontig_coll", 2, NAMED, None),
    ("noncontig_coll2", 4, NAMED, None),
    ("aggregation1", 4, ("-h", "-f", FILE), None),
    ("aggregation2", 4, NAMED, None),
    ("hindexed", 4, NAMED, None),
    ("misc", 4, NAMED, None),
    ("shared_fp", 4, NAMED, None),
    ("ordered_fp", 4, NAMED, None),
    ("split_coll", 4, NAMED, None),
    ("error", 1, NAMED, None),
    ("status", 1, NAMED, None),
    ("types_with_zeros", 2, NAMED, None),
    ("darray_read", 4, NAMED, None),
    ("syshints", 1, ("-fname", f"../{HINTS}"), None),
    ("fstype_prefix", 2, NAMED, None),
    ("big_extents", 2, (FILE,), NO_ERRORS),
    ("external32", 1, (), ("native datarep is LITTLE ENDIAN", "external32 datarep is BIG ENDIAN")),
    ("perf", 4, NAMED, DONE),
    ("coll_perf", 4, NAMED, DONE),
    ("large_array", 4, NAMED, ("Process 0: data read back is correct",)),
    ("large_file", 1, NAMED, ("Data read back is correct",)),
]
GIGABYTES = {"large_array": 8, "large_file": 4, "coll_perf": 28}  # in files and buffers
REMOVED = re.compile(r"\bMPI_[LU]B\b")  # in sources before MPICH 4.1
CONFIGURED = "#define ROMIO_UFS 1\n"  # fstype_prefix asks for the file systems of ROMIO's build


class Suite(mpich.Suite):
    NAME = "ROMIO's tests, or MPICH's sources"
    FOLDER, MARK = "src/mpi/romio/test", "noncontig_coll.c"

    def missing(self):
        return None if (self.top / self.MARK).is_file() else f"{self.top} has no {self.FOLDER}/{self.MARK}"

    def configure(self):
        super().configure()
        (self.build / "config/include/romioconf.h").write_text(CONFIGURED)
        if (self.top / HINTS).is_file():
            shutil.copy(self.top / HINTS, self.build)  # each work folder lies here

    def common(self):
        """These programs share no code."""

    def template(self, run):
        """Some sources have marks for ROMIO's configure."""
        return self.top / f"{run.program}.c.in"

    def source(self, run):
        return self.top / f"{run.program}.c"

    def compile(self, run):
        source, template = self.source(run), self.template(run)
        program = self.program(run)
        program.parent.mkdir(parents=True, exist_ok=True)
        if template.is_file():
            source = program.with_name(f"{run.program}.c")
            source.write_text(template.read_text().replace("@LL@", "lld"))
        if self.newer(program, [template if template.is_file() else source]):
            return None
        return self.compiler(source, "-o", program)

    def runs(self):
        for program, ranks, arguments, _ in RUNS:
            yield lists.Run("romio", program, ranks, list(arguments), gigabytes=GIGABYTES.get(program, 0))

    def skip(self, run):
        source = next((file for file in (self.source(run), self.template(run)) if file.is_file()), None)
        if not source:
            return "these sources do not have the program"
        if REMOVED.search(source.read_text()):
            return "the program uses MPI_LB or MPI_UB, which are not in MPI 5"
        return super().skip(run)

    def judge(self, run, code, output):
        wanted = next(lines for program, _, _, lines in RUNS if program == run.program)
        if wanted is None:
            return super().judge(run, code, output)
        if code:
            return f"exit {code}"
        missing = [line for line in wanted if not re.search(f"^{line}$", output, re.M)]
        return f"no line says {missing[0].strip()}" if missing else None
