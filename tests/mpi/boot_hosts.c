// SPDX-License-Identifier: Apache-2.0
// Ranks on several hosts, connected by functions of the program.
//
// ranks: singleton
// timeout: 120
// sanitizers: no, its processes are forked
#include <dlfcn.h>

#include "boot_files.h"

static void two_hosts(int me, int members) {
  files_boot(me, members, "hosts");
  files.host = me % 2 == 0 ? "even" : "odd";
  check_world(&files);
}

static void blocks(int me, int members) {
  MPI_Session session;
  files_boot(me, members, "nodes");
  files.host = me < 2 ? "one" : "two";
  OK(MPIX_Boot_provide(&files));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MPI_Comm all = comm_of(session), host;
  int here = 0;
  OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  OK(MPI_Comm_size(host, &here));
  CHECK_EQ(here, me < 2 ? 2 : members - 2);
  OK(MPI_Comm_free(&host));
  OK(MPI_Comm_free(&all));
  OK(MPI_Session_finalize(&session));
}

// has_network() needs a process of its own, because UCX reads the environment at load time.
static void has_network(int me, int members) {
  (void)me, (void)members;
  if (dlopen("libucp.so.0", RTLD_LAZY) == NULL && dlopen("libfabric.so.1", RTLD_LAZY) == NULL)
    _exit(1);
  _exit(0);
}

int main(void) {
  int status;
  fork_ranks(1, has_network, &status);
  if (status != 0) {
    puts("neither UCX nor libfabric is installed");
    return 77;
  }
  make_directory();
  run_ranks(3, two_hosts);
  run_ranks(3, blocks);
  remove_directory();
  return 0;
}
