// SPDX-License-Identifier: Apache-2.0
// Device: a context of the application's in which it has memory; Gpus: all that this rank has met.
// Why: the context is the pointer's, never the current one; streams, events and kernels belong to
// it. Nothing is made before the first device pointer of a call.
// Lifetime: Gpus is the Process's; a Device lives as long. When its context ends (cudaDeviceReset)
// what was made in it is forgotten, and made anew when the next one comes. Threads: any; a Job
// belongs to one.
// See: src/cuda/README.md, tests/unit/cuda/device_test.cc.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cuda/driver.hpp"
#include "cuda/memory.hpp"

namespace tern {
class Explain;
}

namespace tern::cuda {

class Kernels;

/// The name of a GPU (or a part of one) that all processes of the machine agree on.
struct Uuid {
  unsigned char bytes[16] = {};
  bool operator==(const Uuid&) const = default;
};

class Device {
 public:
  /// `kernels_file`: as of Kernels.
  Device(const Driver& driver, CUcontext context, int ordinal, const std::string& kernels_file);
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device();

  const Driver& driver;
  const CUcontext context;
  const int ordinal;
  Uuid uuid;

  /// Whether the application's synchronous copies and memsets may not have written yet what they
  /// have promised (they return early). At first sight of an allocation the driver is asked to be
  /// synchronous from now on; where it refuses, every time. The context is current.
  bool may_be_late(const Memory& memory) noexcept;

  /// A stream that nobody else uses meanwhile; null with *error. The context is current.
  CUstream take_stream(CUresult* error) noexcept;
  void give_stream(CUstream stream) noexcept;
  /// The kernels, loaded into the context at the first call; null where there are none (*why_not,
  /// where it is not null, says why). Any context may be current.
  Kernels* kernels(std::string* why_not = nullptr) noexcept;
  /// Device memory of at least so many bytes, from what was given back where there is some; 0 with
  /// *error. The context is current.
  CUdeviceptr take_block(size_t* bytes, CUresult* error) noexcept;
  /// The same of pinned host memory.
  std::byte* take_pinned(size_t* bytes, CUresult* error) noexcept;
  void give_pinned(std::byte* block, size_t bytes) noexcept;
  /// Kept for the next: freeing waits for everything on the device, the application's work too.
  void give_block(CUdeviceptr block, size_t bytes) noexcept;
  /// The context has ended and come back since this was made: nothing in it is there any more.
  [[nodiscard]] bool stale() const noexcept;
  /// Nothing of it may be touched any more. It stays for those who still hold it.
  void forget() noexcept;
  [[nodiscard]] bool gone() const noexcept { return gone_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::vector<CUstream> idle_;
  std::unordered_multimap<size_t, CUdeviceptr> blocks_;  // idle ones, by bytes
  std::unordered_multimap<size_t, std::byte*> pinned_;
  std::unordered_map<uint64_t, bool> seen_;  // buffer id: whether it is synchronous by itself
  std::string kernels_file_;
  std::unique_ptr<Kernels> kernels_;
  std::string no_kernels_;  // why a context could not get any
  unsigned long long context_id_ = 0;
  std::atomic<bool> gone_{false};
};

/// Makes a context current for a scope, and driver calls harmless to a capture of this thread's.
/// The application's context is current again afterwards.
class Current {
 public:
  explicit Current(const Device& device) noexcept;
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  ~Current();
  /// Why the context could not be made current.
  [[nodiscard]] CUresult result() const noexcept { return result_; }

 private:
  const Driver& driver_;
  CUresult result_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// Work in one stream of a device: copies are begun, then asked whether they have ended. The first
/// failure stays; what follows it is not begun.
class Job {
 public:
  Job() = default;
  explicit Job(Device& device) noexcept;
  Job(Job&& other) noexcept;
  Job& operator=(Job&& other) noexcept;
  /// Waits for what was begun.
  ~Job();

  /// Orders the job behind what the application has written to memory.
  void settle(const Memory& memory) noexcept;
  /// Between any two memories: pageable, pinned, of this device or another.
  void copy(void* to, const void* from, size_t bytes) noexcept;
  /// `rows` rows of `width` bytes.
  void copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                 size_t rows) noexcept;
  /// There is something to wait for that was not begun here (a kernel, settle()).
  void mark() noexcept { open_ = stream_ != nullptr; }
  /// Whether everything has ended, or failed.
  [[nodiscard]] bool done() noexcept;
  /// Waits; false where something failed.
  bool finish() noexcept;
  [[nodiscard]] bool failed() const noexcept { return result_ != CUDA_SUCCESS; }
  /// "cuMemcpyAsync: CUDA_ERROR_..."
  [[nodiscard]] std::string failure() const { return words_of(function_, result_); }
  [[nodiscard]] bool valid() const noexcept { return device_ != nullptr; }
  [[nodiscard]] Device& device() const noexcept { return *device_; }
  [[nodiscard]] CUstream stream() const noexcept { return stream_; }
  /// Takes the result of a driver call that was made on this stream.
  void note(const char* function, CUresult result) noexcept {
    if (result_ != CUDA_SUCCESS || result == CUDA_SUCCESS) return;
    result_ = result;
    function_ = function;
  }

 private:
  [[nodiscard]] bool lost() noexcept;
  void wait_for_legacy(CUcontext in) noexcept;
  void fail_with(const char* function, CUresult result) noexcept;
  void end() noexcept;
  Device* device_ = nullptr;
  CUstream stream_ = nullptr;
  CUresult result_ = CUDA_SUCCESS;
  const char* function_ = "";
  bool open_ = false;  // something was begun that has not been seen to end
};

/// Device memory for a while: the job's device, or another whose context is usable.
class Block {
 public:
  Block() = default;
  /// Without memory where the driver has none; the job has failed then.
  Block(Job& job, size_t bytes) noexcept;
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;
  ~Block();
  [[nodiscard]] std::byte* data() const noexcept { return reinterpret_cast<std::byte*>(address_); }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool valid() const noexcept { return address_ != 0; }

 private:
  Device* device_ = nullptr;
  CUdeviceptr address_ = 0;
  size_t bytes_ = 0;
};

/// Pinned host memory for a while: copies to and from it overlap with everything else.
class Pinned {
 public:
  Pinned() = default;
  /// Without memory where the driver has none; the job has failed then.
  Pinned(Job& job, size_t bytes) noexcept;
  Pinned(Pinned&& other) noexcept;
  Pinned& operator=(Pinned&& other) noexcept;
  ~Pinned();
  [[nodiscard]] std::byte* data() const noexcept { return address_; }

 private:
  Device* device_ = nullptr;
  std::byte* address_ = nullptr;
  size_t bytes_ = 0;
};

class Gpus {
 public:
  /// The device of memory (kDevice or kManaged); nullptr with a text where its context cannot be
  /// used.
  Device* device_of(const Memory& memory, std::string* why) noexcept;
  /// Before the first device: as of Kernels.
  void set_kernels_file(const std::string& file) { kernels_file_ = file; }
  /// Any device of this rank's, or nullptr: for host memory that is to be pinned.
  [[nodiscard]] Device* any() noexcept;
  /// Gives back to the driver all that was made; nobody holds a Device any more. The rank may come
  /// back (sessions).
  void release() noexcept;
  ~Gpus() { release(); }
  /// Says, once for each reason, that device memory is reduced on the host.
  void tell_once(const Explain& explain, const std::string& why) noexcept;
  /// The same of what was chosen, for TERN_EXPLAIN.
  void tell_choice(const Explain& explain, const std::string& what) noexcept;

 private:
  Device* device_in(CUcontext context, int ordinal);
  CUcontext primary_of(const Driver& driver, int ordinal, std::string* why);
  std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unordered_map<int, CUcontext> primaries_;  // retained
  std::string kernels_file_;
  [[nodiscard]] bool is_new(const std::string& text) noexcept;
  std::vector<std::string> told_;
};

}  // namespace tern::cuda
