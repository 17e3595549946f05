// SPDX-License-Identifier: Apache-2.0
// Worlds that a program starts or meets: data, arguments, info, errors, merging, parting, and
// descriptors after many spawns. A child is this program with the argument "child".
// ranks: 1 2 4
// timeout: 120
#include "check.h"

#include <dirent.h>
#include <unistd.h>

enum { kKids = 3, kWords = 300000 };
static char* program;

static int descriptors(void) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

/// The parent's rank 0 sends to each child, which sends back; all ranks of both reduce and merge.
static void talk(MPI_Comm inter, int is_child) {
  int remote, own, sum = 0, merged_rank, merged_size;
  int* data = malloc(kWords * sizeof *data);
  MPI_Comm merged;
  OK(MPI_Comm_remote_size(inter, &remote));
  OK(MPI_Comm_rank(inter, &own));
  if (is_child) {
    OK(MPI_Recv(data, kWords, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
    for (int i = 0; i < kWords; ++i) CHECK_EQ(data[i], i + own);
    OK(MPI_Send(data, kWords, MPI_INT, 0, 2, inter));
  } else if (own == 0) {
    for (int to = 0; to < remote; ++to) {
      MPI_Request request;
      for (int i = 0; i < kWords; ++i) data[i] = i + to;
      OK(MPI_Isend(data, kWords, MPI_INT, to, 1, inter, &request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
      memset(data, 0, kWords * sizeof *data);
      OK(MPI_Recv(data, kWords, MPI_INT, to, 2, inter, MPI_STATUS_IGNORE));
      for (int i = 0; i < kWords; ++i) CHECK_EQ(data[i], i + to);
    }
  }
  OK(MPI_Intercomm_merge(inter, is_child, &merged));
  OK(MPI_Comm_rank(merged, &merged_rank));
  OK(MPI_Comm_size(merged, &merged_size));
  CHECK_EQ(merged_rank, is_child ? remote + own : own);
  OK(MPI_Allreduce(&merged_rank, &sum, 1, MPI_INT, MPI_SUM, merged));
  CHECK_EQ(sum, merged_size * (merged_size - 1) / 2);
  for (int root = 0; root < merged_size; ++root) {
    int value = merged_rank == root ? 100 + root : 0;
    OK(MPI_Bcast(&value, 1, MPI_INT, root, merged));
    CHECK_EQ(value, 100 + root);
  }
  OK(MPI_Comm_free(&merged));
  free(data);
}

static int child(char** argv) {
  MPI_Comm parent, gone;
  char name[MPI_MAX_OBJECT_NAME];
  int length;
  OK(MPI_Comm_get_parent(&parent));
  CHECK(parent != MPI_COMM_NULL);
  OK(MPI_Comm_get_name(parent, name, &length));
  CHECK(strcmp(name, "MPI_COMM_PARENT") == 0);
  CHECK(argv[2] != NULL && strcmp(argv[2], "two words") == 0);
  CHECK(argv[3] == NULL);
  CHECK(getenv("TERN_PARENT") == NULL);
  talk(parent, 1);
  OK(MPI_Comm_disconnect(&parent));
  OK(MPI_Comm_get_parent(&gone));
  CHECK(gone == MPI_COMM_NULL);
  return end();
}

static void start(int root, int kids) {
  char *arguments[] = {"child", "two words", NULL}, folder[1024];
  int codes[kKids] = {-1, -1, -1}, remote;
  MPI_Comm inter;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  CHECK(getcwd(folder, sizeof folder) != NULL);
  OK(MPI_Info_set(info, "wdir", folder));
  OK(MPI_Comm_spawn(rank == root ? program : "", rank == root ? arguments : MPI_ARGV_NULL,
                    rank == root ? kids : -1, info, root, MPI_COMM_WORLD, &inter, codes));
  OK(MPI_Info_free(&info));
  for (int i = 0; i < kids; ++i) CHECK_EQ(codes[i], MPI_SUCCESS);
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK_EQ(remote, kids);
  talk(inter, 0);
  OK(MPI_Comm_disconnect(&inter));
  CHECK(inter == MPI_COMM_NULL);
}

static void start_missing(void) {
  int codes[2] = {0, 0}, error_class;
  MPI_Comm inter;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int code = MPI_Comm_spawn("./no-such-program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0,
                                  MPI_COMM_WORLD, &inter, codes);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  CHECK(code != MPI_SUCCESS);
  OK(MPI_Error_class(code, &error_class));
  CHECK_EQ(error_class, MPI_ERR_SPAWN);
}

static void expect_class(int code, int expected) {
  int error_class = 0;
  MPI_Error_class(code, &error_class);
  CHECK_EQ(error_class, expected);
}

/// Rank 0 accepts the others, which connect together.
static void connect_halves(void) {
  char port[MPI_MAX_PORT_NAME] = "", found[MPI_MAX_PORT_NAME], service[64];
  MPI_Comm half, inter;
  int remote;
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 0, 0, &half));
  if (rank == 0) OK(MPI_Open_port(MPI_INFO_NULL, port));
  if (rank == 0) snprintf(service, sizeof service, "dynamic_worlds %d", (int)getpid());
  OK(MPI_Bcast(service, sizeof service, MPI_CHAR, 0, MPI_COMM_WORLD));
  if (rank == 0) OK(MPI_Publish_name(service, MPI_INFO_NULL, port));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    OK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter));
  } else {
    OK(MPI_Lookup_name(service, MPI_INFO_NULL, found));
    OK(MPI_Comm_connect(found, MPI_INFO_NULL, 0, half, &inter));
  }
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK_EQ(remote, rank == 0 ? size - 1 : 1);
  talk(inter, rank != 0);
  OK(MPI_Comm_disconnect(&inter));
  OK(MPI_Comm_free(&half));
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (rank == 0) {
    expect_class(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    OK(MPI_Unpublish_name(service, MPI_INFO_NULL, port));
    expect_class(MPI_Unpublish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    expect_class(MPI_Lookup_name(service, MPI_INFO_NULL, found), MPI_ERR_NAME);
    OK(MPI_Close_port(port));
    expect_class(MPI_Close_port(port), MPI_ERR_PORT);
    expect_class(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    expect_class(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    expect_class(MPI_Comm_connect("x", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
  }
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char** argv) {
  begin(&argc, &argv);
  program = argv[0];
  if (argc > 1 && strcmp(argv[1], "child") == 0) return child(argv);
  MPI_Comm none;
  OK(MPI_Comm_get_parent(&none));
  CHECK(none == MPI_COMM_NULL);
  start(0, kKids);
  start(size - 1, 1);
  start(0, 1);
  const int before = descriptors();
  for (int i = 0; i < 5; ++i) start(0, 1);
  CHECK_EQ(descriptors(), before);
  start_missing();
  if (size > 1) connect_halves();
  start(0, 2);
  return end();
}
