// SPDX-License-Identifier: Apache-2.0
// What the tests of the CUDA driver share: its functions, opened by name, and a fixture with a
// context.
#pragma once
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/softcuda/user_functions.hpp"

namespace driver_test {

/// The functions of whatever libcuda.so.1 is; optional ones may be null.
struct Driver {
#define ROW(name, ...) CUresult (*name)(__VA_ARGS__) = nullptr;
  TERN_CUDA_FUNCTIONS(ROW, ROW)
  SOFTCUDA_USER_FUNCTIONS(ROW)
#undef ROW
  /// Of the software driver only.
  void (*fault)(const char* rows) = nullptr;
  unsigned long long (*calls)(const char* function) = nullptr;
  long long (*live)(const char* kind) = nullptr;
  bool is_soft = false;
};

/// Ends the process where it is the other twin's driver.
const Driver& cu();

/// What another process does; its exit status. Static objects.
struct Role {
  Role(const char* name, int (*run)(int socket));
  const char* const name;
  int (*const run)(int socket);
  Role* const next;
};
// In the other process. Failures end it with the line.
#define MUST(call) \
  if ((call) != CUDA_SUCCESS) _exit(100 + __LINE__ % 100)
/// There: the primary context of a device and a stream that is not blocking.
CUstream begin_peer(int device = 0);

/// This program again in another process, in a role, with a socket to it.
class Peer {
 public:
  explicit Peer(const char* role);
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  ~Peer();
  /// Its exit status: 0 where all went well there.
  int wait();
  int socket = -1;

 private:
  int pid_ = -1;
};

/// All that another process says until it ends.
std::string words_of(Peer& peer);
void send_bytes(int socket, const void* data, size_t bytes);
void receive_bytes(int socket, void* data, size_t bytes);
void send_fd(int socket, int fd);
int receive_fd(int socket);

/// Each test has the primary context of device 0, current, and a stream that is not blocking.
class Gpu : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
  CUdeviceptr allocate(size_t bytes);
  std::vector<unsigned char> bytes_at(CUdeviceptr address, size_t bytes);
  void fill(CUdeviceptr address, unsigned char value, size_t bytes);
  /// Of an address.
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
