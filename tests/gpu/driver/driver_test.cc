// SPDX-License-Identifier: Apache-2.0
// Driver functions, peer processes, the fixture.
#include "driver.hpp"

#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace driver_test {
namespace {

[[noreturn]] void give_up(const std::string& why) {
  fprintf(stderr, "%s\n", why.c_str());
  exit(1);
}

template <class F>
void find(void* library, const char* name, F& place, bool required) {
  place = reinterpret_cast<F>(dlsym(library, name));
  if (place == nullptr && required) give_up(std::string("libcuda.so.1 has no ") + name);
}

/// Drivers for CUDA 12.0 lack these functions.
bool is_later(const char* name) {
  return strcmp(name, "cuFuncIsLoaded") == 0 || strstr(name, "Green") != nullptr ||
         strstr(name, "Resource") != nullptr;
}

Driver open_driver() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) exit(77);
  Driver driver;
#define REQUIRED(name, ...) find(library, #name, driver.name, true);
#define OPTIONAL(name, ...) find(library, #name, driver.name, false);
  TERN_CUDA_FUNCTIONS(REQUIRED, OPTIONAL)
#define USERS(name, ...) find(library, #name, driver.name, !is_later(#name));
  SOFTCUDA_USER_FUNCTIONS(USERS)
  driver.is_soft = dlsym(library, "softcuda_marker") != nullptr;
  find(library, "softcuda_fault", driver.fault, driver.is_soft);
  find(library, "softcuda_calls", driver.calls, driver.is_soft);
  find(library, "softcuda_live", driver.live, driver.is_soft);
  const char* twin = getenv("GPU_TWIN");
  if (twin != nullptr && driver.is_soft != (strcmp(twin, "soft") == 0))
    give_up(std::string("this is the ") + twin + " twin, and libcuda.so.1 the other's driver");
  if (driver.cuInit(0) == CUDA_ERROR_NO_DEVICE) exit(77);
  return driver;
}

}  // namespace

const Driver& cu() {
  static const Driver driver = open_driver();
  return driver;
}

namespace {
Role* first_role = nullptr;
int run_role(const char* name, int socket) {
  for (const Role* role = first_role; role != nullptr; role = role->next)
    if (strcmp(role->name, name) == 0) return role->run(socket);
  return 99;
}
}  // namespace

Role::Role(const char* called, int (*function)(int))
    : name(called), run(function), next(first_role) {
  first_role = this;
}

CUstream begin_peer(int device) {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  MUST(cu().cuDevicePrimaryCtxRetain(&context, device));
  MUST(cu().cuCtxPushCurrent_v2(context));
  MUST(cu().cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

Peer::Peer(const char* role) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) give_up("no socketpair");
  socket = ends[0];
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
  std::string program = "/proc/self/exe", flag = "--peer", what = role;
  char* arguments[] = {program.data(), flag.data(), what.data(), nullptr};
  if (posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ) != 0)
    give_up("cannot start a peer");
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
}

int Peer::wait() {
  int status = 0;
  if (pid_ < 0 || waitpid(pid_, &status, 0) != pid_) return -1;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

Peer::~Peer() {
  close(socket);
  if (pid_ > 0) wait();
}

std::string words_of(Peer& peer) {
  std::string text;
  char part[512];
  for (ssize_t got; (got = read(peer.socket, part, sizeof part)) > 0;)
    text.append(part, static_cast<size_t>(got));
  return text;
}

void send_bytes(int socket, const void* data, size_t bytes) {
  if (send(socket, data, bytes, MSG_NOSIGNAL) != static_cast<ssize_t>(bytes))
    give_up("the other process is gone");
}

void receive_bytes(int socket, void* data, size_t bytes) {
  if (recv(socket, data, bytes, MSG_WAITALL) != static_cast<ssize_t>(bytes))
    give_up("the other process is gone");
}

void send_fd(int socket, int fd) {
  char byte = 0;
  iovec part{&byte, 1};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof fd);
  memcpy(CMSG_DATA(head), &fd, sizeof fd);
  if (sendmsg(socket, &message, MSG_NOSIGNAL) != 1) give_up("the other process is gone");
}

int receive_fd(int socket) {
  char byte = 0;
  iovec part{&byte, 1};
  int fd = -1;
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  if (recvmsg(socket, &message, 0) != 1) give_up("the other process is gone");
  if (cmsghdr* head = CMSG_FIRSTHDR(&message)) memcpy(&fd, CMSG_DATA(head), sizeof fd);
  return fd;
}

void Gpu::SetUp() {
  OK(cu().cuDevicePrimaryCtxRetain(&context_, 0));
  OK(cu().cuCtxPushCurrent_v2(context_));
  OK(cu().cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING));
}

void Gpu::TearDown() {
  EXPECT_EQ(cu().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  for (CUdeviceptr address : allocations_) EXPECT_EQ(cu().cuMemFree_v2(address), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuStreamDestroy_v2(stream_), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuCtxPopCurrent_v2(nullptr), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuDevicePrimaryCtxRelease_v2(0), CUDA_SUCCESS);
}

CUdeviceptr Gpu::allocate(size_t bytes) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cu().cuMemAlloc_v2(&address, bytes), CUDA_SUCCESS);
  allocations_.push_back(address);
  return address;
}

std::vector<unsigned char> Gpu::bytes_at(CUdeviceptr address, size_t bytes) {
  std::vector<unsigned char> got(bytes);
  EXPECT_EQ(cu().cuMemcpyDtoHAsync_v2(got.data(), address, bytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuStreamSynchronize(stream_), CUDA_SUCCESS);
  return got;
}

void Gpu::fill(CUdeviceptr address, unsigned char value, size_t bytes) {
  EXPECT_EQ(cu().cuMemsetD8Async(address, value, bytes, stream_), CUDA_SUCCESS);
  EXPECT_EQ(cu().cuStreamSynchronize(stream_), CUDA_SUCCESS);
}

}  // namespace driver_test

int main(int argc, char** argv) {
  if (argc == 3 && strcmp(argv[1], "--peer") == 0) return driver_test::run_role(argv[2], 3);
  ::testing::InitGoogleTest(&argc, argv);
  (void)driver_test::cu();
  return RUN_ALL_TESTS();
}
