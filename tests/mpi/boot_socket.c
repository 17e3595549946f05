// SPDX-License-Identifier: Apache-2.0
// A job connected over a server on a loopback socket. Each request is a connection, and the server
// answers once the value exists.
//
// ranks: singleton
// timeout: 120
// sanitizers: no, its processes are forked
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include "boot.h"

enum { kValues = 4096, kWaiting = 512, kBytes = 8192, kMembers = 5 };

// After "put" come `bytes` bytes. The answer to "get" is a length and the value, to "fence" 0 bytes
// after `rank` requests.
struct request {
  char what[8], key[128];
  int rank, bytes;
};
struct value {
  struct request put;
  char bytes[kBytes];
};

static struct sockaddr_in server;
static struct value values[kValues];
static struct {
  int socket;
  struct request request;
} waiting[kWaiting];
static int value_count, waiting_count;

static void read_all(int from, void* to, int bytes) {
  for (int done = 0; done < bytes;) {
    const ssize_t now = read(from, (char*)to + done, (size_t)(bytes - done));
    if (now <= 0) FAIL("the other end has gone");
    done += (int)now;
  }
}

static void write_all(int to, const void* from, int bytes) {
  for (int done = 0; done < bytes;) {
    const ssize_t now = write(to, (const char*)from + done, (size_t)(bytes - done));
    if (now <= 0) FAIL("the other end has gone");
    done += (int)now;
  }
}

static int answered(int socket, const struct request* request) {
  const int fence = strcmp(request->what, "fence") == 0;
  int come = 0, zero = 0;
  for (int i = 0; i < value_count; ++i) {
    const struct value* one = &values[i];
    if (strcmp(one->put.key, request->key) != 0) continue;
    if (!fence && one->put.rank != request->rank) continue;
    ++come;
    if (fence && come < request->rank) continue;
    write_all(socket, fence ? &zero : &one->put.bytes, sizeof zero);
    if (!fence) write_all(socket, one->bytes, one->put.bytes);
    return 1;
  }
  return 0;
}

static void serve(int listener) {
  const int socket = accept(listener, NULL, NULL);
  struct request request;
  CHECK(socket >= 0);
  read_all(socket, &request, sizeof request);
  if (strcmp(request.what, "end") == 0) exit(0);
  if (strcmp(request.what, "get") != 0) {
    CHECK(value_count < kValues && request.bytes <= kBytes);
    struct value* fresh = &values[value_count++];
    fresh->put = request;
    read_all(socket, fresh->bytes, request.bytes);
  }
  CHECK(waiting_count < kWaiting);
  waiting[waiting_count].socket = socket;
  waiting[waiting_count++].request = request;
  int kept = 0;
  for (int i = 0; i < waiting_count; ++i) {
    const int put = strcmp(waiting[i].request.what, "put") == 0;
    if (put || answered(waiting[i].socket, &waiting[i].request))
      close(waiting[i].socket);
    else
      waiting[kept++] = waiting[i];
  }
  waiting_count = kept;
}

static int ask(const char* what, int of, const char* key, const void* value, int bytes) {
  const int to = socket(AF_INET, SOCK_STREAM, 0);
  struct request request = {.rank = of, .bytes = bytes};
  snprintf(request.what, sizeof request.what, "%s", what);
  snprintf(request.key, sizeof request.key, "%s", key);
  if (connect(to, (const struct sockaddr*)&server, sizeof server) != 0) FAIL("no server");
  write_all(to, &request, sizeof request);
  write_all(to, value, bytes);
  return to;
}

static MPIX_Boot mine;
static int fences;

static int socket_put(void* context, const char* key, const void* value, int bytes) {
  char end;
  (void)context;
  const int to = ask("put", mine.rank, key, value, bytes);
  CHECK_EQ(read(to, &end, 1), 0);
  close(to);
  return MPI_SUCCESS;
}

static int socket_get(void* context, int of, const char* key, void* value, int room, int* bytes) {
  (void)context;
  const int from = ask("get", of, key, NULL, 0);
  read_all(from, bytes, sizeof *bytes);
  if (*bytes <= room) read_all(from, value, *bytes);
  close(from);
  return *bytes <= room ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

static int socket_fence(void* context) {
  char key[100];
  int zero;
  (void)context;
  snprintf(key, sizeof key, "%s fence %d", mine.job, fences++);
  const int to = ask("fence", mine.size, key, NULL, 0);
  read_all(to, &zero, sizeof zero);
  close(to);
  return MPI_SUCCESS;
}

static const MPIX_Boot* boot(int me, int members, const char* job) {
  fences = 0;
  mine = (MPIX_Boot){.version = MPIX_BOOT_VERSION,
                     .rank = me,
                     .size = members,
                     .job = job,
                     .put = socket_put,
                     .get = socket_get,
                     .fence = socket_fence};
  return &mine;
}

static void body(int me, int members) {
  char job[32];
  int provided;
  snprintf(job, sizeof job, "world-of-%d", members);
  OK(MPIX_Boot_provide(boot(me, members, job)));
  OK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
  check_comm(MPI_COMM_WORLD, me, members);
  OK(MPI_Finalize());
  for (int world = 0; world < 3; ++world) {
    snprintf(job, sizeof job, "session-%d-of-%d", world, members);
    check_world(boot((me + world) % members, members, job));
  }
}

int main(void) {
  socklen_t length = sizeof server;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  server.sin_family = AF_INET;
  server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(bind(listener, (const struct sockaddr*)&server, sizeof server) == 0);
  CHECK(listen(listener, 64) == 0);
  CHECK(getsockname(listener, (struct sockaddr*)&server, &length) == 0);
  signal(SIGPIPE, SIG_IGN);
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0)
    for (;;) serve(listener);
  run_ranks(kMembers, body);
  run_ranks(1, body);
  close(ask("end", 0, "", NULL, 0));
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  return 0;
}
