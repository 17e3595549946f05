# SPDX-License-Identifier: Apache-2.0
# Faults of system calls, full and forbidden disks, and a file that is truncated or deleted meanwhile.
# timeout: 900
# hosts: no, all ranks share the file
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d /dev/shm/io_faults.XXXXXX)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cp "$TOP/tests/mpi/io_faults.inc" each.c
"$MPICC" -O2 -I"$TOP/tests/mpi" each.c -o each -ldl || exit 1
cc -O1 -w -shared -fPIC -x c "$TOP/tests/mpi/io_faults_shim.inc" -o shim.so -ldl || exit 1
# each RANKS WAY STEP [pointers]
each() { timeout 200 "$MPIRUN" -n "$1" env LD_PRELOAD="$work/shim.so" TERN_IO="$2" ./each "$work" "${@:3}"; }
if [ -n "${FULL:-}" ]; then
  for ranks in 1 2 3 4; do
    for way in auto mapped exchange; do
      check "each system call of a rank goes wrong, $ranks ranks, $way" each $ranks $way 1
    done
    check "some system calls of a rank go wrong, $ranks ranks, plain" each $ranks plain 1001
  done
else
  check "each system call of a rank goes wrong" each 2 auto 7
  check "each system call of a rank goes wrong, 3 ranks" each 3 auto 23
  check "each system call of a rank goes wrong, mapped" each 2 mapped 41
  check "each system call of a rank goes wrong, exchange" each 2 exchange 41
fi

for ranks in 1 2 3; do
  check "each system call at the shared pointer goes wrong, $ranks ranks" each $ranks auto 1 pointers
done
cp "$TOP/tests/mpi/io_space.inc" space.c
"$MPICC" -O1 -I"$TOP/tests/mpi" space.c -o space || exit 1
full_disk() { # full_disk WAY KIND
  mkdir -p "$work/small"
  says survived timeout 30 unshare -rm sh -c 'mount -t tmpfs -o size=4m tmpfs "$1/small" && shift && exec "$@"' sh "$work" \
    env TERN_IO="$1" "$MPIRUN" -n 2 ./space "$work/small/file" "$2" 8000000
}
if unshare -rm sh -c "mount -t tmpfs -o size=4m tmpfs '$work'" 2>/dev/null; then
  for way in auto plain mapped exchange; do
    check "a full disk in a collective write, $way" full_disk $way collective
    check "a full disk in an independent write, $way" full_disk $way independent
  done
else
  skip "full disks" "needs namespaces of users and mounts"
fi

cat >meanwhile.c <<'END_OF_C'
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include "check.h"
// Another program truncates or deletes the file between calls.
int main(int argc, char** argv) {
  begin(&argc, &argv);
  enum { kBytes = 100000 };
  static char bytes[kBytes], got[kBytes];
  const int collective = argv[2][0] == 'c', deletes = argv[3][0] == 'd';
  MPI_File file;
  MPI_Datatype block, tile;
  MPI_Status status;
  struct stat facts;
  int count = -1;
  CHECK(argc > 3);
  fill(bytes, sizeof bytes, (unsigned)rank);
  OK(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
  OK(MPI_Type_contiguous(20, MPI_BYTE, &block));
  OK(MPI_Type_create_resized(block, 0, 20 * size, &tile));
  OK(MPI_Type_commit(&tile));
  OK(MPI_File_set_view(file, rank * 20, MPI_BYTE, tile, "native", MPI_INFO_NULL));
  for (int round = 0; round < 3; ++round) {
    OK(collective ? MPI_File_write_at_all(file, 0, bytes, kBytes, MPI_BYTE, &status)
                  : MPI_File_write_at(file, 0, bytes, kBytes, MPI_BYTE, &status));
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0 && deletes) unlink(argv[1]);
    if (rank == 0 && !deletes) CHECK(truncate(argv[1], 20 * size * 100) == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(collective ? MPI_File_read_at_all(file, 0, got, kBytes, MPI_BYTE, &status)
                  : MPI_File_read_at(file, 0, got, kBytes, MPI_BYTE, &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &count));
    CHECK_EQ(count, deletes ? kBytes : 2000);
    CHECK(memcmp(got, bytes, (size_t)count) == 0);
    OK(MPI_Barrier(MPI_COMM_WORLD));
  }
  OK(MPI_File_close(&file));
  if (deletes) CHECK(stat(argv[1], &facts) != 0);
  FAILS(MPI_File_delete(deletes ? argv[1] : "/nowhere/at/all", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  if (rank == 0) puts("survived");
  return end();
}
END_OF_C
"$MPICC" -O1 -I"$TOP/tests/mpi" meanwhile.c -o meanwhile || exit 1
for way in auto plain mapped exchange; do
  for kind in collective independent; do
    for how in truncated deleted; do
      rm -f "$work/file"
      check "a file is $how between $kind calls, $way" \
        says survived env TERN_IO=$way timeout 30 "$MPIRUN" -n 2 ./meanwhile "$work/file" $kind $how
    done
  done
done

cat >forbidden.c <<'END_OF_C'
#include "check.h"
int main(int argc, char** argv) {
  begin(&argc, &argv);
  MPI_File file;
  char name[512];
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
#define OPEN(amode) MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file)
  CHECK(argc > 1);
  snprintf(name, sizeof name, "%s/read_only", argv[1]);
  FAILS(OPEN(MPI_MODE_RDWR), MPI_ERR_ACCESS);
  FAILS(OPEN(MPI_MODE_WRONLY), MPI_ERR_ACCESS);
  OK(OPEN(MPI_MODE_RDONLY));
  OK(MPI_File_close(&file));
  snprintf(name, sizeof name, "%s/write_only", argv[1]);
  FAILS(OPEN(MPI_MODE_RDWR), MPI_ERR_ACCESS);
  FAILS(OPEN(MPI_MODE_RDONLY), MPI_ERR_ACCESS);
  OK(OPEN(MPI_MODE_WRONLY));
  OK(MPI_File_write_at_all(file, 4 * rank, name, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&file));
  snprintf(name, sizeof name, "%s/new", argv[1]);
  FAILS(OPEN(MPI_MODE_RDWR | MPI_MODE_CREATE), MPI_ERR_ACCESS);
  snprintf(name, sizeof name, "%s/read_only", argv[1]);
  FAILS(MPI_File_delete(name, MPI_INFO_NULL), MPI_ERR_ACCESS);
  if (rank == 0) puts("survived");
  return end();
}
END_OF_C
"$MPICC" -O1 -I"$TOP/tests/mpi" forbidden.c -o forbidden || exit 1
mkdir closed && : >closed/read_only && : >closed/write_only
chmod 444 closed/read_only && chmod 222 closed/write_only && chmod 755 "$work" && chmod 555 closed
user=()
[ "$(id -u)" != 0 ] || user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if "${user[@]}" env HOME=/tmp "$MPIRUN" -n 1 ./forbidden "$work/missing" >/dev/null 2>"$work/why" || grep -q 'class' "$work/why"; then
  check "files without permission" says survived "${user[@]}" timeout 30 "$MPIRUN" -n 2 ./forbidden "$work/closed"
else
  skip "files without permission" "no other user can run the library"
fi
chmod 755 closed
totals
