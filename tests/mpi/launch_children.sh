# SPDX-License-Identifier: Apache-2.0
# A rank is one process. A child of a rank is a world of one. A program behind a wrapper is the
# rank, as is each of several consecutive programs.
# timeout: 60
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >world.c <<'END_OF_C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size, sum = -1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Finalize();
  printf("world %d sum %d\n", size, sum);
  return 0;
}
END_OF_C
cat >parent.c <<'END_OF_C'
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
int main(int argc, char** argv) {
  int rank, size, sum = -1, status;
  const int fd = atoi(getenv("TERN_BOOT_FD"));
  const int early = strcmp(argv[1], "early") == 0;
  pid_t child = early ? fork() : -1;  // both call MPI_Init, the parent first
  if (child == 0) sleep(1);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!early) child = fork();
  if (child == 0 && !early) {
    // The descriptor now refers to another file, or, kept open on purpose, to the memory itself.
    const char* path = strcmp(argv[1], "file") == 0 ? "/proc/self/exe" : "/";
    if (strcmp(argv[1], "kept") == 0)
      fcntl(fd, F_SETFD, 0);
    else if (strcmp(argv[1], "closed") != 0)
      dup2(open(path, O_RDONLY), fd);
    execl("./world", "world", (char*)NULL);
    _exit(9);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Finalize();
  printf("%s of %d sum %d\n", child == 0 ? "child" : "parent", size, sum);
  return 0;
}
END_OF_C
"$MPICC" world.c -o world && "$MPICC" parent.c -o parent || exit 1
run() { timeout 20 "$MPIRUN" -n 2 "$@" 2>&1; }
parents=$'parent of 2 sum 1\nparent of 2 sum 1'
alone=$'world 1 sum 0\nworld 1 sum 0'
together=$'world 2 sum 1\nworld 2 sum 1'
for way in closed file directory kept; do
  check "a child of a rank is alone (descriptor: $way)" prints "$parents"$'\n'"$alone" run ./parent $way
done
check "a child forked before MPI_Init is alone" prints "$parents"$'\nchild of 1 sum 0\nchild of 1 sum 0' run ./parent early
check "a child of a rank under TERN_BOOT=pmix is alone" prints "$parents"$'\n'"$alone" run env TERN_BOOT=pmix ./parent closed
check "a program behind a wrapper is the rank" prints "$together" run bash -c './world; exit'
check "a program is the rank after its wrapper closes the descriptor" prints "$together" run bash -c 'eval "exec $TERN_BOOT_FD<&-"; ./world; exit'
check "consecutive programs are the rank" prints "$together"$'\n'"$together" run bash -c './world; ./world; exit'
totals
