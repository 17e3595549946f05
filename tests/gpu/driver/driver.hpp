// SPDX-License-Identifier: Apache-2.0
// Driver functions opened by name, peer processes, and a fixture with a context.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/softcuda/user_functions.hpp"

namespace driver_test {

struct Driver {
#define ROW(name, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
  TERN_CUDA_FUNCTIONS(ROW, ROW)
  SOFTCUDA_USER_FUNCTIONS(ROW)
#undef ROW
  void (*fault)(const char* rows) = nullptr;
  unsigned long long (*calls)(const char* function) = nullptr;
  long long (*live)(const char* kind) = nullptr;
  bool is_soft = false;
};

/// cu() exits if the other twin's driver is loaded.
const Driver& cu();

/// A peer process's function. Roles are static objects.
struct Role {
  Role(const char* name, int (*run)(int socket));
  const char* const name;
  int (*const run)(int socket);
  Role* const next;
};
#define MUST(call) \
  if ((call) != CUDA_SUCCESS) _exit(100 + __LINE__ % 100)
/// begin_peer() makes the device's primary context current and returns a non-blocking stream.
CUstream begin_peer(int device = 0);

class Peer {
 public:
  explicit Peer(const char* role);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();
  int wait();
  int socket = -1;

 private:
  int pid_ = -1;
};

std::string words_of(Peer& peer);
void send_bytes(int socket, const void* data, size_t bytes);
void receive_bytes(int socket, void* data, size_t bytes);
void send_fd(int socket, int fd);
int receive_fd(int socket);

class Gpu : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  CUdeviceptr allocate(size_t bytes);
  std::vector<unsigned char> bytes_at(CUdeviceptr address, size_t bytes);
  void fill(CUdeviceptr address, unsigned char value, size_t bytes);
  template <class T>
  T attribute(CUpointer_attribute which, CUdeviceptr address) {
    T value{};
    EXPECT_EQ(cu().cuPointerGetAttribute(&value, which, address), CUDA_SUCCESS);
    return value;
  }
  CUcontext context_ = nullptr;
  CUstream stream_ = nullptr;
  std::vector<CUdeviceptr> allocations_;
};

#define OK(call) ASSERT_EQ((call), CUDA_SUCCESS)

}  // namespace driver_test
