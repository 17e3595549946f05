# SPDX-License-Identifier: Apache-2.0
# Two jobs of one host meet, share memory, meet again after a parting, and survive the death of the
# other job: receives and collectives end with an error.
# timeout: 300
. "$TOP/tests/verdicts.sh"
work=$(mktemp -d)
trap 'rm -rf "$work" "$log"' EXIT
cd "$work" || exit 1
cat >pair.c <<'C'
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
enum { kBig = 4 << 20 };
static int rank, size;
static char port[MPI_MAX_PORT_NAME];
static void open_port(void) {
  MPI_Open_port(MPI_INFO_NULL, port);
  FILE* file = fopen("port.new", "w");
  fputs(port, file);
  fclose(file);
  rename("port.new", "port");
}
static void find_port(void) {
  FILE* file;
  while ((file = fopen("port", "r")) == NULL) usleep(1000);
  if (fgets(port, sizeof port, file) == NULL) exit(9);
  fclose(file);
}
static MPI_Comm meet(int serves) {
  MPI_Comm inter;
  if (serves)
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  else
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
  return inter;
}
static int talk(MPI_Comm inter, int serves) {
  char *out = malloc(kBig), *in = malloc(kBig);
  int remote, sum = 0, all, members;
  MPI_Comm merged, shared;
  MPI_Comm_remote_size(inter, &remote);
  memset(out, 'a' + rank, kBig);
  MPI_Sendrecv(out, kBig, MPI_CHAR, rank, 0, in, kBig, MPI_CHAR, rank, 0, inter, MPI_STATUS_IGNORE);
  int good = memcmp(out, in, kBig) == 0;
  MPI_Intercomm_merge(inter, serves, &merged);
  MPI_Comm_size(merged, &all);
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
  good = good && sum == size * (size - 1);
  MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
  MPI_Comm_size(shared, &members);
  good = good && members == all;
  MPI_Comm_free(&shared);
  MPI_Comm_free(&merged);
  free(in);
  free(out);
  return good;
}
static MPI_Comm join(int serves) {
  struct sockaddr_un name = {AF_UNIX, "socket"};
  MPI_Comm inter;
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  if (serves) {
    if (bind(fd, (struct sockaddr*)&name, sizeof name) != 0 || listen(fd, 1) != 0) exit(8);
    fd = accept(fd, NULL, NULL);
  } else {
    while (connect(fd, (struct sockaddr*)&name, sizeof name) != 0) usleep(1000);
  }
  MPI_Comm_join(fd, &inter);
  return inter;
}
static int is_abort(int code) {
  int class = 0;
  MPI_Error_class(code, &class);
  if (class != MPI_ERR_PROC_ABORTED) printf("class %d\n", class);
  return class == MPI_ERR_PROC_ABORTED;
}
int main(int argc, char** argv) {
  const int serves = strcmp(argv[1], "serve") == 0;
  const char* dies = argc > 2 ? argv[2] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(dies, "join") == 0) {
    MPI_Comm inter = join(serves);
    const int good = talk(inter, serves);
    MPI_Comm_disconnect(&inter);
    MPI_Finalize();
    return good ? 0 : 1;
  }
  if (rank == 0) serves ? open_port() : find_port();
  if (*dies == '\0') {
    int good = 1;
    for (int i = 0; i < 3; ++i) {
      MPI_Comm inter = meet(serves);
      good &= talk(inter, serves);
      MPI_Comm_disconnect(&inter);
    }
    MPI_Finalize();
    return good ? 0 : 1;
  }
  MPI_Comm inter = meet(serves), merged;
  char data[65536] = {0};
  int code = MPI_SUCCESS, sum;
  MPI_Request request;
  MPI_Intercomm_merge(inter, serves, &merged);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(merged, MPI_ERRORS_RETURN);
  const double began = MPI_Wtime();
  for (int i = 0; code == MPI_SUCCESS; ++i) {
    if (!serves && i == 300) kill(getpid(), SIGKILL);
    if (strcmp(dies, "receive") == 0 && serves)
      code = MPI_Recv(data, sizeof data, MPI_CHAR, rank, 0, inter, MPI_STATUS_IGNORE);
    else if (strcmp(dies, "receive") == 0)
      MPI_Send(data, sizeof data, MPI_CHAR, rank, 0, inter);
    else if (strcmp(dies, "send") == 0 && serves)
      code = MPI_Send(data, sizeof data, MPI_CHAR, rank, 0, inter);
    else if (strcmp(dies, "send") == 0)
      MPI_Recv(data, sizeof data, MPI_CHAR, rank, 0, inter, MPI_STATUS_IGNORE);
    else if (strcmp(dies, "reduce") == 0)
      code = MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    else if ((code = MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged, &request)) == 0)
      code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (serves && MPI_Wtime() - began > 20) return 2;
  }
  const int good = is_abort(code);
  MPI_Finalize();
  return good ? 0 : 3;
}
C
"$MPICC" -o pair pair.c || exit 1
both() { # both RANKS [DIES]: exit of the server
  local ranks=$1 client served=0
  shift
  rm -f port
  timeout 30 "$MPIRUN" -n "$ranks" ./pair connect "$@" >client 2>&1 & client=$!
  timeout 30 "$MPIRUN" -n "$ranks" ./pair serve "$@" || served=$?
  wait "$client" || [ $# -gt 0 ] || { cat client; return 1; }
  return "$served"
}
alone() { # as both, without mpirun
  local client served=0
  rm -f port
  timeout 30 ./pair connect "$@" >client 2>&1 & client=$!
  timeout 30 ./pair serve "$@" || served=$?
  wait "$client" || [ $# -gt 0 ] || { cat client; return 1; }
  return "$served"
}
export TERN_TRANSPORT=sm
check "two jobs of 1 rank" both 1
check "two jobs of 2 ranks" both 2
check "two processes without mpirun" alone
check "two processes with a socket" alone join
for dies in receive send reduce ireduce; do
  check "death of a process during $dies" alone $dies
  check "death of a job of 2 during $dies" both 2 $dies
done
totals
