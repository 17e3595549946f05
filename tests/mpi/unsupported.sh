# SPDX-License-Identifier: Apache-2.0
# Unimplemented functions print one line per function and job, and tern_info --program lists them.
# Invalid or truncated files are refused with a message.
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1

missing=$(awk '/^- /{ sub(/[: ].*/, "", $2); print "MPI_" $2 }' "$TOP/src/abi/functions.txt")
lacks() { grep -qx "MPI_$1" <<<"$missing"; }

cat >files.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_File file;
  int data = 1;
  MPI_Init(&argc, &argv);
  MPI_File_open(MPI_COMM_WORLD, "x", MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
  for (int i = 0; i < 3; ++i) MPI_File_write_at_all(file, 0, &data, 1, MPI_INT, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
  return MPI_Finalize();
}
END
cat >spawn.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Comm made;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int i = 0; i < 3; ++i)
    MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made, MPI_ERRCODES_IGNORE);
  return MPI_Finalize();
}
END
cat >hello.c <<'END'
#include <mpi.h>
int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return PMPI_Finalize();
}
END
for name in files spawn hello; do "$MPICC" "$name.c" -o "$name" || exit 1; done

# named_once PROGRAM FUNCTION: exactly one line on stderr.
named_once() {
  "$MPIRUN" -n 3 "./$1" 2>err >out || return 1
  cat err
  [ "$(grep -c "$2: not implemented in this version of Tern" err)" = 1 ]
}
says_in_json() { tern_info --json --program "$1" | python3 -c 'import json, sys
found = json.load(sys.stdin)
sys.exit(not eval(sys.argv[1]))' "$2"; }
if lacks File_open; then
  for function in open write_at_all close; do
    check "MPI_File_$function is reported once" named_once files "MPI_File_$function"
  done
  check "tern_info lists the functions" says 'MPI_File_open' tern_info --program files
  check "the JSON lists the functions" says_in_json files '"MPI_File_close" in found["missing"] and "MPI_Init" in found["functions"]'
fi
if lacks Comm_spawn; then
  check "a communicator's handler does not hide the report" named_once spawn MPI_Comm_spawn
fi
check "a program without missing functions" says 'imports 2 MPI functions, and Tern has all$' tern_info --program hello
check "a program without MPI" says 'imports no MPI function' tern_info --program /bin/sh
check "no program" fails 1 'not a 64-bit ELF file' tern_info --program hello.c
check "an empty file" sh -c ': >empty; ! tern_info --program empty 2>err && grep ": cut off" err'
check "a folder" fails 1 'cannot read /: a directory' tern_info --program /
check "no file" fails 1 'cannot read /nowhere: No such file' tern_info --program /nowhere
cut_off() {
  local bytes size status
  size=$(stat -c %s files)
  for ((bytes = 1; bytes < size; bytes += size / 60)); do
    head -c "$bytes" files >part
    status=0
    tern_info --program part >out 2>err || status=$?
    [ "$status" -le 1 ] || { echo "exit $status after $bytes of $size bytes"; cat err; return 1; }
  done
}
check "a file truncated at any length" cut_off
totals
