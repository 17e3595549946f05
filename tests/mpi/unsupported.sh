# SPDX-License-Identifier: Apache-2.0
# Unimplemented functions print one line per function and job, and tern_info --program lists them.
# Invalid or truncated files are refused with a message.
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1

missing=$(awk '/^- /{ sub(/[: ].*/, "", $2); print "MPI_" $2 }' "$TOP/src/abi/functions.txt")
lacks() { grep -qx "MPI_$1" <<<"$missing"; }

cat >ports.c <<'END'
#include <mpi.h>
#include <stddef.h>
int main(int argc, char** argv) {
  char port[MPI_MAX_PORT_NAME] = "x";
  MPI_Comm made;
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made);
  for (int i = 0; i < 3; ++i) MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &made);
  MPI_Comm_spawn_multiple(0, NULL, NULL, NULL, NULL, 0, MPI_COMM_WORLD, &made, NULL);
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
for name in ports spawn hello; do "$MPICC" "$name.c" -o "$name" || exit 1; done

# named_once PROGRAM FUNCTION: exactly one line on stderr.
named_once() {
  "$MPIRUN" -n 3 "./$1" 2>err >out || return 1
  cat err
  [ "$(grep -c "$2: not implemented in this version of Tern" err)" = 1 ]
}
says_in_json() { tern_info --json --program "$1" | python3 -c 'import json, sys
found = json.load(sys.stdin)
sys.exit(not eval(sys.argv[1]))' "$2"; }
if lacks Comm_accept; then
  for function in Comm_accept Comm_connect Comm_spawn_multiple; do
    check "MPI_$function is reported once" named_once ports "MPI_$function"
  done
  check "tern_info lists the functions" says 'MPI_Comm_accept' tern_info --program ports
  check "the JSON lists the functions" says_in_json ports '"MPI_Comm_connect" in found["missing"] and "MPI_Init" in found["functions"]'
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
  size=$(stat -c %s ports)
  for ((bytes = 1; bytes < size; bytes += size / 60)); do
    head -c "$bytes" ports >part
    status=0
    tern_info --program part >out 2>err || status=$?
    [ "$status" -le 1 ] || { echo "exit $status after $bytes of $size bytes"; cat err; return 1; }
  done
}
check "a file truncated at any length" cut_off
totals
