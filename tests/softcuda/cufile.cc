// SPDX-License-Identifier: Apache-2.0
// A software libcufile: libcufile.so.0 moves bytes between files and the software driver's device
// memory. As in the real library, no call waits for late writes of the application. Descriptors
// without O_DIRECT, and bytes or offsets without the alignment of 4 KiB, fail. A call in a thread
// with blocked signals (a worker of Tern) ends the process.
// SOFTCUDA_CUFILE=FUNCTION:RESULT,... makes functions fail with the result; 1 means -1 and EIO.
// "short" halves reads and writes.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "config.hpp"
#include "control.h"
#include "cuda/api.hpp"

namespace softcuda {
namespace {

constexpr int kNotOpen = 5001, kMemoryType = 5013, kDirectNotSet = 5020, kInvalid = 5022,
              kNotRegistered = 5027;
constexpr size_t kAlignment = 4096;

struct Error {
  int error = 0;
  int driver_error = 0;
};

struct Descriptor {
  int type;
  union {
    int fd;
    void* handle;
  } file;
  const void* operations;
};

struct Handle {
  int fd;
};

struct State {
  std::mutex mutex;
  std::string wishes = read_config().cufile;
  std::map<std::string, unsigned long long> calls;
  bool open = false;
  long long handles = 0;
};

State& state() {
  static State& present = *new State;
  return present;
}

[[noreturn]] void die(const char* why) {
  fprintf(stderr, "softcuda: libcufile: %s\n", why);
  abort();
}

/// Counts the call, and returns the result that a test wants, or "".
std::string enter(const char* function) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  if (sigismember(&blocked, SIGUSR1) != 0) die("a thread that blocks signals calls");
  const std::lock_guard lock(state().mutex);
  ++state().calls[function];
  for (const std::string& word : split(state().wishes, ',')) {
    const size_t colon = word.find(':');
    if (colon != std::string::npos && word.substr(0, colon) == function)
      return word.substr(colon + 1);
  }
  return "";
}

template <class Function>
Function driver_function(const char* name) {
  static void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  void* const found = driver == nullptr ? nullptr : dlsym(driver, name);
  if (found == nullptr) die("the program has not loaded the software driver");
  return reinterpret_cast<Function>(found);
}

char* bytes_at(const void* address) {
  static const auto softcuda = driver_function<decltype(&softcuda_bytes)>("softcuda_bytes");
  static const auto current = driver_function<CUresult (*)(CUcontext*)>("cuCtxGetCurrent");
  CUcontext context = nullptr;
  if (current(&context) != CUDA_SUCCESS || context == nullptr) die("no context is current");
  return static_cast<char*>(softcuda(address));
}

/// Memory for O_DIRECT.
struct Aligned {
  void* at;
  size_t bytes;
  explicit Aligned(size_t size)
      : at(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)),
        bytes(size) {
    if (at == MAP_FAILED) die("no memory");
  }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  ~Aligned() { munmap(at, bytes); }
};

/// The bytes to move, or a negative result.
ssize_t admit(const char* function, void* handle, const void* memory, size_t* bytes, off_t at) {
  const std::string wish = enter(function);
  if (!state().open) return -kNotOpen;
  if (handle == nullptr || static_cast<Handle*>(handle)->fd < 0) return -kNotRegistered;
  if (*bytes % kAlignment != 0 || static_cast<size_t>(at) % kAlignment != 0) return -kInvalid;
  if (bytes_at(memory) == nullptr) return -kMemoryType;
  if (wish == "short") {
    *bytes = *bytes / 2 & ~(kAlignment - 1);
    return 0;
  }
  if (wish == "1") errno = EIO;
  return -atoi(wish.c_str());
}

}  // namespace
}  // namespace softcuda

using namespace softcuda;  // NOLINT

extern "C" {

Error cuFileDriverOpen() {
  const std::string wish = enter("cuFileDriverOpen");
  if (!wish.empty()) return {atoi(wish.c_str()), 0};
  if (std::exchange(state().open, true)) die("cuFileDriverOpen is called again");
  return {};
}

Error cuFileHandleRegister(void** handle, Descriptor* descriptor) {
  const std::string wish = enter("cuFileHandleRegister");
  if (!wish.empty()) return {atoi(wish.c_str()), 0};
  if (!state().open) return {kNotOpen, 0};
  if (descriptor->type != 1) return {kInvalid, 0};
  const int flags = fcntl(descriptor->file.fd, F_GETFL);
  if (flags < 0) die("cuFileHandleRegister gets no descriptor");
  if ((flags & O_DIRECT) == 0) return {kDirectNotSet, 0};
  *handle = new Handle{descriptor->file.fd};
  const std::lock_guard lock(state().mutex);
  ++state().handles;
  return {};
}

void cuFileHandleDeregister(void* handle) {
  (void)enter("cuFileHandleDeregister");
  if (fcntl(static_cast<Handle*>(handle)->fd, F_GETFL) < 0)
    die("the descriptor is closed before cuFileHandleDeregister");
  delete static_cast<Handle*>(handle);
  const std::lock_guard lock(state().mutex);
  --state().handles;
}

ssize_t cuFileRead(void* handle, void* memory, size_t bytes, off_t at, off_t offset) {
  char* const first = static_cast<char*>(memory) + offset;
  if (const ssize_t refused = admit("cuFileRead", handle, first, &bytes, at); refused != 0)
    return refused;
  const Aligned copy(bytes);
  // Like the hardware: the whole last block arrives.
  const ssize_t moved = pread(static_cast<Handle*>(handle)->fd, copy.at, bytes, at);
  if (moved > 0) memcpy(bytes_at(first), copy.at, bytes);
  return moved;
}

ssize_t cuFileWrite(void* handle, const void* memory, size_t bytes, off_t at, off_t offset) {
  const char* const first = static_cast<const char*>(memory) + offset;
  if (const ssize_t refused = admit("cuFileWrite", handle, first, &bytes, at); refused != 0)
    return refused;
  const Aligned copy(bytes);
  memcpy(copy.at, bytes_at(first), bytes);
  return pwrite(static_cast<Handle*>(handle)->fd, copy.at, bytes, at);
}

void softcuda_cufile(const char* rows) {
  const std::lock_guard lock(state().mutex);
  state().wishes = rows;
}

unsigned long long softcuda_cufile_calls(const char* function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}

long long softcuda_cufile_handles() {
  const std::lock_guard lock(state().mutex);
  return state().handles;
}
}
