# SPDX-License-Identifier: Apache-2.0
# NFS, as far as a file system of this machine can play its part: refused locks of pages, and a client that misses a new file.
# timeout: 120
# hosts: no, all ranks share the file
# transport: ofi, each rank counts as a host
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cc -O1 -w -shared -fPIC -x c "$TOP/tests/mpi/io_faults_shim.inc" -o shim.so -ldl || exit 1
cat >nfs.c <<'END_OF_C'
#include <unistd.h>
#include "check.h"
// Arguments: file; "locks", "written" or "missing"; words of the error.
static MPI_File file;
static int open_file(const char* name) {
  return MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
}
static void refused(int code, int error_class, const char* words) {
  CHECK_EQ(class_of(code), error_class);
  if (strstr(error_text(code), words) == NULL || strstr(error_text(code), "rank 1") == NULL)
    FAIL("\"%s\" lacks \"%s\" or the rank", error_text(code), words);
}
// Rank 1 gets no lock. Whole pages need none.
static void locks(const char* words) {
  static char bytes[8192];
  if (rank == 1) refused(MPI_File_write_at(file, 100, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO, words);
  if (rank == 0) OK(MPI_File_write_at(file, 9000, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_write_at(file, 16384 * (rank + 1), bytes, 8192, MPI_BYTE, MPI_STATUS_IGNORE));
  refused(MPI_File_write_at_all(file, rank * 100, bytes, 100, MPI_BYTE, MPI_STATUS_IGNORE), MPI_ERR_IO, words);
  refused(MPI_File_sync(file), MPI_ERR_IO, words);
}
int main(int argc, char** argv) {
  begin(&argc, &argv);
  CHECK(argc > 3);
  const double start = MPI_Wtime();
  const int code = open_file(argv[1]);
  const double took = MPI_Wtime() - start;
  if (strcmp(argv[2], "missing") == 0) {
    refused(code, MPI_ERR_NO_SUCH_FILE, argv[3]);
    if (rank == 0) unlink(argv[1]);
    printf("%s\n", took > 4 ? "after seconds" : "at once");
    return end();
  }
  OK(code);
  if (strcmp(argv[2], "locks") == 0) locks(argv[3]);
  if (strcmp(argv[2], "written") == 0) {
    OK(MPI_File_write_at(file, rank * 100, argv[2], 7, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(MPI_File_sync(file));
  }
  OK(MPI_File_close(&file));
  if (rank == 0) puts("done");
  return end();
}
END_OF_C
"$MPICC" -O1 -I"$TOP/tests/mpi" nfs.c -o nfs || exit 1
# nfs SYSTEM FAULT PHASE WORDS: the fault is rank 1's.
nfs() {
  TERN_TRANSPORT=ofi TERN_TEST=io_system=$1 FAULT=$2 FAULT_RANK=1 FAULT_FILE=io_nfs timeout 30 \
    "$MPIRUN" -n 2 env LD_PRELOAD="$work/shim.so" ./nfs "$work/io_nfs" "$3" "$4"
}
for error in ENOLCK EIO EOPNOTSUPP; do
  check "locks give $error" says done nfs nfs "fcntl 0 $error" locks "without nolock"
done
check "interrupted locks" says done nfs nfs "fcntl -2 EINTR" written ""
check "a client misses a new file for a while" says done nfs nfs "open -4 ENOENT" written ""
check "a client misses a new file for ever" says "after seconds" nfs nfs "open 0 ENOENT" missing "must share the folder"
check "a local file system does not wait" says "at once" nfs auto "open 0 ENOENT" missing "No such file"
totals
