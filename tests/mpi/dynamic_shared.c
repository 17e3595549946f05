// SPDX-License-Identifier: Apache-2.0
// Worlds of one host share memory: messages, MPI_COMM_TYPE_SHARED, MPI_Win_allocate_shared, windows
// and collectives over a merge, and nothing stays after many spawns. A child is this program with
// the argument "child".
// ranks: singleton 1 2 4
// timeout: 120
// env: TERN_TRANSPORT=sm
// variant: auto
//   A network would serve, too.
//   ranks: 1 2 4
//   env: TERN_TRANSPORT=auto
// variant: pipeline
//   Without copies by the kernel.
//   ranks: 1 2
//   env: TERN_SM_SINGLE_COPY=pipeline
// variant: thread
//   ranks: 1 2
//   env: TERN_PROGRESS=thread
// variant: threads
//   The parents have several channels.
//   ranks: 1 2
//   args: threads
// variant: both_threads
//   ranks: 1 2
//   args: all-threads
// variant: apart
//   The children cannot open the memory.
//   ranks: 1 2
//   args: apart
//   env: TERN_TRANSPORT=auto
#include "check.h"

#include <dirent.h>

enum { kKids = 2, kBig = 4 << 20, kSpawns = 50 };
static char* program;
static int apart, dups = 1;
static const char* kind = "";

static int count_lines(const char* path, const char* with) {
  char line[512];
  int count = 0;
  FILE* file = fopen(path, "r");
  CHECK(file != NULL);
  while (fgets(line, sizeof line, file) != NULL) count += strstr(line, with) != NULL;
  fclose(file);
  return count;
}

static int count_files(void) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static unsigned char byte_of(int from, int to, size_t at) {
  return (unsigned char)(from * 37 + to * 11 + (int)(at % 251));
}

/// All pairs send 4 MiB both ways at once.
static void send_big(MPI_Comm inter) {
  int others, own;
  OK(MPI_Comm_remote_size(inter, &others));
  OK(MPI_Comm_rank(inter, &own));
  unsigned char *out = malloc((size_t)others * kBig), *in = malloc((size_t)others * kBig);
  MPI_Request* all = malloc(2 * (size_t)others * sizeof *all);
  for (int other = 0; other < others; ++other) {
    unsigned char *to = out + (size_t)other * kBig, *from = in + (size_t)other * kBig;
    for (size_t at = 0; at < kBig; ++at) to[at] = byte_of(own, other, at);
    OK(MPI_Irecv(from, kBig, MPI_BYTE, other, 5, inter, &all[2 * other]));
    OK(MPI_Isend(to, kBig, MPI_BYTE, other, 5, inter, &all[2 * other + 1]));
  }
  OK(MPI_Waitall(2 * others, all, MPI_STATUSES_IGNORE));
  for (int other = 0; other < others; ++other)
    for (size_t at = 0; at < kBig; at += 97)
      CHECK_EQ(in[(size_t)other * kBig + at], byte_of(other, own, at));
  free(all);
  free(in);
  free(out);
}

static void send_small(MPI_Comm merged) {
  int me, all, token = 0;
  OK(MPI_Comm_rank(merged, &me));
  OK(MPI_Comm_size(merged, &all));
  for (int round = 0; round < 200; ++round) {
    if (me == 0) OK(MPI_Send(&round, 1, MPI_INT, 1 % all, round, merged));
    OK(MPI_Recv(&token, 1, MPI_INT, (me + all - 1) % all, round, merged, MPI_STATUS_IGNORE));
    CHECK_EQ(token, round);
    if (me != 0) OK(MPI_Send(&token, 1, MPI_INT, (me + 1) % all, round, merged));
  }
}

static void share_window(MPI_Comm merged) {
  MPI_Comm shared;
  MPI_Win win;
  MPI_Aint bytes;
  int me, members, all, unit, *mine, *one, sum = 0;
  OK(MPI_Comm_split_type(merged, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared));
  OK(MPI_Comm_rank(shared, &me));
  OK(MPI_Comm_size(shared, &members));
  OK(MPI_Comm_size(merged, &all));
  if (!apart) CHECK_EQ(members, all);
  if (apart) CHECK(members < all);
  OK(MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, shared, &mine, &win));
  OK(MPI_Win_fence(0, win));
  *mine = me + 1;
  OK(MPI_Win_fence(0, win));
  for (int of = 0; of < members; ++of) {
    OK(MPI_Win_shared_query(win, of, &bytes, &unit, &one));
    sum += *one;
  }
  CHECK_EQ(sum, members * (members + 1) / 2);
  OK(MPI_Win_fence(0, win));
  OK(MPI_Win_free(&win));
  OK(MPI_Comm_free(&shared));
}

/// Each rank adds to the counter of the last.
static void add_remotely(MPI_Comm merged) {
  MPI_Win win;
  int me, all, *mine, one = 1, before;
  OK(MPI_Comm_rank(merged, &me));
  OK(MPI_Comm_size(merged, &all));
  OK(MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, merged, &mine, &win));
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, me, 0, win));
  *mine = 0;
  OK(MPI_Win_unlock(me, win));
  OK(MPI_Barrier(merged));
  for (int i = 0; i < 20; ++i) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, all - 1, 0, win));
    OK(MPI_Fetch_and_op(&one, &before, MPI_INT, all - 1, 0, MPI_SUM, win));
    OK(MPI_Win_unlock(all - 1, win));
  }
  OK(MPI_Barrier(merged));
  if (me == all - 1) {
    OK(MPI_Win_lock(MPI_LOCK_SHARED, me, 0, win));
    CHECK_EQ(*mine, 20 * all);
    OK(MPI_Win_unlock(me, win));
  }
  OK(MPI_Win_free(&win));
}

static void reduce(MPI_Comm merged) {
  static int in[100000], out[100000];
  int me, all;
  OK(MPI_Comm_rank(merged, &me));
  OK(MPI_Comm_size(merged, &all));
  for (int count = 1; count <= 100000; count *= 10) {
    MPI_Request request;
    for (int i = 0; i < count; ++i) in[i] = me + i;
    OK(MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, merged));
    for (int i = 0; i < count; ++i) CHECK_EQ(out[i], all * (all - 1) / 2 + i * all);
    memset(out, 0, sizeof out);
    OK(MPI_Iallreduce(in, out, count, MPI_INT, MPI_MAX, merged, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    for (int i = 0; i < count; ++i) CHECK_EQ(out[i], all - 1 + i);
    for (int root = 0; root < all; ++root) {
      if (me == root) memset(in, root + 1, sizeof in);
      OK(MPI_Bcast(in, count, MPI_INT, root, merged));
      CHECK_EQ(in[count - 1], (root + 1) * 0x01010101);
    }
  }
}

static MPI_Comm spawn(MPI_Comm from, int kids, const char* what) {
  char* arguments[] = {"child", (char*)what, (char*)kind, NULL};
  MPI_Comm inter;
  MPI_Info info;
  OK(MPI_Info_create(&info));
  if (apart) OK(MPI_Info_set(info, "env", "TERN_TEST=sm_worlds=0"));
  OK(MPI_Comm_spawn(program, arguments, kids, info, 0, from, &inter, MPI_ERRCODES_IGNORE));
  OK(MPI_Info_free(&info));
  return inter;
}

static void meet_briefly(MPI_Comm inter, int is_child) {
  MPI_Comm merged;
  int me, all, sum = 0;
  OK(MPI_Intercomm_merge(inter, is_child, &merged));
  OK(MPI_Comm_rank(merged, &me));
  OK(MPI_Comm_size(merged, &all));
  OK(MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, merged));
  CHECK_EQ(sum, all * (all - 1) / 2);
  share_window(merged);
  OK(MPI_Comm_free(&merged));
  OK(MPI_Comm_disconnect(&inter));
}

static void use(MPI_Comm inter, int is_child) {
  MPI_Comm merged;
  send_big(inter);
  OK(MPI_Intercomm_merge(inter, is_child, &merged));
  for (int i = 0; i < dups; ++i) {  // in several channels
    MPI_Comm another;
    OK(MPI_Comm_dup(merged, &another));
    send_small(another);
    share_window(another);
    add_remotely(another);
    reduce(another);
    OK(MPI_Comm_free(&another));
  }
  meet_briefly(spawn(merged, 2, "short"), 0);  // from two worlds
  OK(MPI_Comm_free(&merged));
}

static void start_many(void) {
  int files = 0, mappings = 0;
  for (int i = 0; i <= kSpawns; ++i) {
    meet_briefly(spawn(MPI_COMM_WORLD, 1, "short"), 0);
    if (i == 0) files = count_files(), mappings = count_lines("/proc/self/maps", "tern");
  }
  if (apart)
    CHECK(count_files() < files + kSpawns / 10);  // sockets close later
  else
    CHECK_EQ(count_files(), files);
  CHECK_EQ(count_lines("/proc/self/maps", "tern"), mappings);
}

static int child(char** argv) {
  MPI_Comm parent;
  OK(MPI_Comm_get_parent(&parent));
  if (strcmp(argv[2], "short") == 0) {
    meet_briefly(parent, 1);
  } else {
    use(parent, 1);
    OK(MPI_Comm_disconnect(&parent));
  }
  return end();
}

int main(int argc, char** argv) {
  const int is_child = argc > 1 && strcmp(argv[1], "child") == 0;
  kind = argc > 1 ? argv[argc - 1] : "none";
  apart = strcmp(kind, "apart") == 0;
  if (strstr(kind, "threads") != NULL) dups = 9;
  if (strcmp(kind, "all-threads") == 0 || (strcmp(kind, "threads") == 0 && !is_child))
    begin_with_threads(&argc, &argv);
  else
    begin(&argc, &argv);
  program = argv[0];
  if (is_child) return child(argv);
  for (int round = 0; round < 2; ++round) {  // the second meeting follows a parting
    MPI_Comm first = spawn(MPI_COMM_WORLD, kKids, "long"), second;
    use(first, 0);
    second = spawn(MPI_COMM_WORLD, 1, "long");
    use(second, 0);
    OK(MPI_Comm_disconnect(&first));
    OK(MPI_Comm_disconnect(&second));
  }
  start_many();
  return end();
}
