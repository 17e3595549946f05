// SPDX-License-Identifier: Apache-2.0
// A rank dies while two hosts with two ranks each exchange blocks of a file: the other ranks get
// MPI_ERR_PROC_ABORTED, and no call waits.
//
// ranks: singleton
// timeout: 120
// env: TERN_NET_TIMEOUT=3s TERN_IO_BUFFER=65536
// sanitizers: no, its processes are forked and killed
// variant: ofi
//   env: TERN_NET_TIMEOUT=3s TERN_IO_BUFFER=65536 TERN_TRANSPORT=sm,ofi
#include <dlfcn.h>
#include <signal.h>

#include "boot_files.h"

enum { kRanks = 4, kInts = 100000 };

static int victim, writes, all_ranks;  // all_ranks: each rank has a domain

static void die(int signal_number) {
  (void)signal_number;
  raise(SIGKILL);
}

// Blocks of 64 bytes of the ranks alternate.
static void set_view(MPI_File file, int me) {
  MPI_Datatype block, tiles;
  OK(MPI_Type_contiguous(16, MPI_INT, &block));
  OK(MPI_Type_create_resized(block, 0, (MPI_Aint)64 * kRanks, &tiles));
  OK(MPI_Type_commit(&tiles));
  OK(MPI_File_set_view(file, (MPI_Offset)64 * me, MPI_INT, tiles, "native", MPI_INFO_NULL));
  OK(MPI_Type_free(&block));
  OK(MPI_Type_free(&tiles));
}

static int transfer(MPI_File file, int* data) {
  return writes ? MPI_File_write_at_all(file, 0, data, kInts, MPI_INT, MPI_STATUS_IGNORE)
                : MPI_File_read_at_all(file, 0, data, kInts, MPI_INT, MPI_STATUS_IGNORE);
}

static void exchange(int me, int members) {
  static int data[kInts];
  char job[64], name[200];
  MPI_Session session;
  MPI_File file;
  snprintf(job, sizeof job, "dies%d%d%d", victim, writes, all_ranks);
  files_boot(me, members, job);
  files.host = me < 2 ? "one" : "two";
  OK(MPIX_Boot_provide(&files));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
  MPI_Comm comm = comm_of(session);
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  snprintf(name, sizeof name, "%s/%s.data", directory, job);
  MPI_Info info;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "cb_config_list", all_ranks ? "*:2" : "*:1"));
  OK(MPI_File_open(comm, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file));
  set_view(file, me);
  for (int i = 0; i < 3; ++i) OK(transfer(file, data));
  if (me == victim) {
    signal(SIGALRM, die);
    ualarm(2000 + 1000 * (unsigned)(getpid() % 32), 0);
  }
  int code = MPI_SUCCESS;
  const double start = MPI_Wtime();
  while (code == MPI_SUCCESS && MPI_Wtime() - start < 20) code = transfer(file, data);
  CHECK(me != victim);
  check_says(code, MPI_ERR_PROC_ABORTED, "rank");
  CHECK_EQ(class_of(transfer(file, data)), MPI_ERR_PROC_ABORTED);
  CHECK_EQ(class_of(MPI_File_close(&file)), MPI_ERR_PROC_ABORTED);
  _exit(0);
}

int main(void) {
  if (dlopen("libucp.so.0", RTLD_LAZY) == NULL && dlopen("libfabric.so.1", RTLD_LAZY) == NULL) {
    puts("neither UCX nor libfabric is installed");
    return 77;
  }
  make_directory();
  for (victim = 0; victim < kRanks; ++victim)
    for (int form = 0; form < 4; ++form) {
      writes = form % 2;
      all_ranks = form / 2;
      int statuses[kRanks];
      fork_ranks(kRanks, exchange, statuses);
      for (int r = 0; r < kRanks; ++r)
        CHECK(r == victim ? WIFSIGNALED(statuses[r]) : statuses[r] == 0);
    }
  remove_directory();
  return 0;
}
