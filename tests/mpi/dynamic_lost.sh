# SPDX-License-Identifier: Apache-2.0
# A program without mpirun starts a rank. Parent or child kills itself; the survivor waits for any source, and gets an error.
# timeout: 120
# sanitizers: no, processes are killed
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >lost.c <<'END_OF_PROGRAM'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void expect_lost(const char* what, int code) {
  int found;
  MPI_Error_class(code, &found);
  if (found != MPI_ERR_PROC_ABORTED) printf("%s gives class %d\n", what, found);
}

int main(int argc, char** argv) {
  MPI_Comm other;
  MPI_Request posted;
  int flag = 0, word = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_get_parent(&other);
  const int is_child = other != MPI_COMM_NULL;
  const int dies = is_child == (strcmp(argv[1], "child") == 0);
  if (!is_child)
    MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other,
                   MPI_ERRCODES_IGNORE);
  MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
  if (dies) {
    MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, other, MPI_STATUS_IGNORE);
    raise(SIGKILL);
  }
  FILE* result = is_child ? freopen("child", "w", stdout) : stdout;
  MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 2, other, &posted);
  MPI_Send(&word, 1, MPI_INT, 0, 1, other);
  expect_lost("MPI_Wait", MPI_Wait(&posted, MPI_STATUS_IGNORE));
  expect_lost("MPI_Recv", MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 2, other, MPI_STATUS_IGNORE));
  expect_lost("MPI_Probe", MPI_Probe(MPI_ANY_SOURCE, 2, other, MPI_STATUS_IGNORE));
  expect_lost("MPI_Iprobe", MPI_Iprobe(MPI_ANY_SOURCE, 2, other, &flag, MPI_STATUS_IGNORE));
  fprintf(result, "goes on\n");
  fclose(result);
  _exit(0);
}
END_OF_PROGRAM
"$MPICC" -o lost lost.c || exit 1
wait_for_child() {
  timeout 40 ./lost parent
  for _ in $(seq 400); do
    [ -s child ] && cat child && return
    sleep 0.1
  done
  return 1
}
check "the started rank dies" prints "goes on" timeout 40 ./lost child
check "the starter dies" prints "goes on" wait_for_child
totals
