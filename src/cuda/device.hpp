// SPDX-License-Identifier: Apache-2.0
// Device: a context of the application with its streams, events, kernels and blocks. Gpus: all
// Devices of this rank. Why: Tern uses the context of the pointer, never the current context, and
// makes nothing before the first device pointer of a call. Lifetime: the Process owns Gpus. After
// the end of a context (cudaDeviceReset), Tern forgets the handles, and makes new handles for the
// next context. Threads: any; a Job belongs to a single thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cuda/blocks.hpp"
#include "cuda/event_pool.hpp"
#include "cuda/late_writes.hpp"
#include "cuda/memory.hpp"
#include "cuda/residency.hpp"
#include "cuda/streams.hpp"

namespace tern {
class Explain;
}

namespace tern::cuda {

class Kernels;
struct Rows;

/// Names a GPU, or a part of a GPU, equally in all processes of the machine.
struct Uuid {
  unsigned char bytes[16] = {};
  bool operator==(const Uuid&) const = default;
};

class Device final : public DeviceContext {
 public:
  Device(const Driver& driver, CUcontext context, int ordinal, const std::string& kernels_file);
  ~Device();

  const int ordinal;
  Uuid uuid;
  Events events;
  LateWrites late_writes;
  Streams streams;
  BlockStore blocks;
  bool mails = true;

  /// Loads the kernels at the first call; returns null and sets *why_not on failure. Any context
  /// may be current.
  Kernels* kernels(std::string* why_not = nullptr) noexcept;
  /// Returns 0 for an attribute unknown to the driver.
  [[nodiscard]] int attribute(CUdevice_attribute which) const noexcept;
  [[nodiscard]] int capability() const noexcept {
    return attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
           attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  }
  /// Makes kernels, streams, events and memory for the first messages, if the device is quiet. Each
  /// allocation may wait for all device work, and device work for this rank.
  void prepare(size_t chunk, int chunks) noexcept;
  /// Whether the device's context has ended, without a driver call for known memory.
  [[nodiscard]] bool has_ended(const Memory& memory) const noexcept {
    return !late_writes.knows(memory) && stale();
  }
  void forget() noexcept;
  /// Serializes blocking calls with work that waits for other ranks. Two such calls in a different
  /// order on other ranks may share a hardware queue and deadlock.
  [[nodiscard]] bool try_take() noexcept {
    return !taken_.exchange(true, std::memory_order_acquire);
  }
  void give() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::mutex kernels_mutex_;
  std::string kernels_file_;
  std::unique_ptr<Kernels> kernels_;
  std::string no_kernels_;
  std::atomic<bool> prepared_{false};
  std::atomic<bool> taken_{false};
};

class Job {
 public:
  Job() = default;
  explicit Job(Device& device) noexcept;
  /// Uses a stream of the application or a team, which outlives the job. The job never waits for a
  /// borrowed stream.
  Job(Device& device, Stream& borrowed) noexcept
      : device_(&device), stream_(&borrowed), borrowed_(true) {}
  Job(Job&& other) noexcept;
  Job& operator=(Job&& other) noexcept;
  ~Job();

  /// Orders the job behind the application's copies and memsets to `memory` that have returned
  /// early.
  void settle(const Memory& memory) noexcept;
  /// Ends the job without waiting. Requires that the job has begun nothing except settle().
  void abandon() noexcept;
  void copy(void* to, const void* from, size_t bytes) noexcept;
  /// Like copy(), but requires that neither side is pageable.
  void copy_mapped(void* to, const void* from, size_t bytes) noexcept;
  [[nodiscard]] Stage share_stage() noexcept;
  void set(void* to, uint32_t value) noexcept;
  void copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                 size_t rows) noexcept;
  /// Returns pinned memory of this job for small copies; null if the stream has none or the device
  /// has no kernels.
  [[nodiscard]] std::byte* room() noexcept;
  [[nodiscard]] void* room_on_device() const noexcept {
    return reinterpret_cast<void*>(stream_->room_at);
  }
  void mail(void* to, const void* from, size_t bytes) noexcept;
  void tell_end() noexcept;
  void mark() noexcept {
    open_ = stream_ != nullptr;
    asked_ = false;
  }
  [[nodiscard]] bool done() noexcept;
  /// Waits for the work; returns false if the job failed.
  bool finish() noexcept;
  /// Keeps data that commands of a borrowed stream read later, until the stream has run the
  /// commands. Throws std::bad_alloc.
  void keep(std::shared_ptr<const void> what) {
    if (borrowed_) kept_.push_back(std::move(what));
  }
  [[nodiscard]] std::vector<std::shared_ptr<const void>> take_kept() noexcept {
    return std::exchange(kept_, {});
  }
  void has_ended() noexcept { open_ = false; }
  [[nodiscard]] bool has_failed_meanwhile() noexcept;
  [[nodiscard]] bool failed() const noexcept { return result_ != CUDA_SUCCESS; }
  /// "cuMemcpyAsync: CUDA_ERROR_..."
  [[nodiscard]] std::string failure() const { return words_of(function_, result_); }
  /// Moves the first failure and kept data to another job. Throws std::bad_alloc.
  void give_to(Job& other) {
    other.note(function_, result_);
    for (auto& one : kept_) other.keep(std::move(one));
    kept_.clear();
  }
  [[nodiscard]] Device& device() const noexcept { return *device_; }
  [[nodiscard]] bool borrowed() const noexcept { return borrowed_; }
  [[nodiscard]] CUstream stream() const noexcept {
    return stream_ == nullptr ? nullptr : stream_->handle;
  }
  void note(const char* function, CUresult result) noexcept {
    if (result_ != CUDA_SUCCESS || result == CUDA_SUCCESS) return;
    result_ = result;
    function_ = function;
  }

 private:
  [[nodiscard]] bool stages(const Rows& rows) noexcept;
  [[nodiscard]] bool lost() noexcept;
  [[nodiscard]] bool is_under_way() noexcept;
  void will_be_told() noexcept;
  void settle_in(CUcontext context) noexcept;
  void fail_with(const char* function, CUresult result) noexcept;
  void end() noexcept;
  Device* device_ = nullptr;
  Stream* stream_ = nullptr;
  CUresult result_ = CUDA_SUCCESS;
  const char* function_ = "";
  bool borrowed_ = false;
  bool open_ = false;
  bool asked_ = false;
  int64_t next_question_ = 0;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// A block of memory on the job's device. A failed allocation fails the job and leaves the block
/// invalid.
class Loan {
 public:
  Loan() = default;
  Loan(Job& job, Store store, size_t bytes) noexcept;
  /// Takes only idle blocks (BlockStore::spare()); the block may be invalid.
  Loan(Device& device, Store store, size_t bytes) noexcept
      : device_(&device),
        address_(device.blocks.spare(store, &bytes)),
        bytes_(bytes),
        store_(store) {}
  Loan(Loan&& other) noexcept { *this = std::move(other); }
  Loan& operator=(Loan&& other) noexcept;
  ~Loan();
  [[nodiscard]] std::byte* data() const noexcept { return address_; }
  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool valid() const noexcept { return address_ != nullptr; }

 private:
  Device* device_ = nullptr;
  std::byte* address_ = nullptr;
  size_t bytes_ = 0;
  Store store_ = Store::kDevice;
};
struct Block : Loan {
  Block() = default;
  Block(Job& job, size_t least) noexcept : Loan(job, Store::kDevice, least) {}
};
struct Pinned : Loan {
  Pinned() = default;
  Pinned(Job& job, size_t least) noexcept : Loan(job, Store::kPinned, least) {}
};

class Gpus {
 public:
  /// Returns the device of kDevice or kManaged memory; null with *why if the context is unusable.
  Device* device_of(const Memory& memory, std::string* why) noexcept;
  /// Sets the image files (see Kernels). Requires that no device exists yet.
  void set_kernels_file(const std::string& file) { kernels_file_ = file; }
  /// Sets the pinned memory per message. Requires that no device exists yet.
  void set_chunks(size_t bytes, int count) noexcept {
    chunk_ = bytes;
    chunks_ = count;
  }
  void set_mails(bool mails) noexcept { mails_ = mails; }
  void look_after() noexcept;
  /// After expect_enqueues() calls are put into the application's streams, and progress allocates
  /// nothing on devices.
  void expect_enqueues() noexcept { enqueues_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] Device* any() noexcept;
  /// Frees everything; requires that no caller holds a Device. The rank may use GPUs again
  /// (sessions).
  void release() noexcept;
  ~Gpus() { release(); }
  void tell_once(const Explain& explain, const std::string& why) noexcept;
  /// Returns the Residency of a GPU, which several contexts may share. Throws std::bad_alloc.
  [[nodiscard]] Residency& residency(const Uuid& gpu);
  /// Counts communicators that have had scratch for direct GPU collectives; scratch outlives
  /// communicators.
  std::atomic<int> scratches{0};
  void tell_fallback(const Explain& explain, const std::string& what) noexcept;
  void tell_choice(const Explain& explain, const std::string& what) noexcept;

 private:
  [[nodiscard]] bool is_new(const std::string& text) noexcept;
  Device* device_in(CUcontext context, const Memory& memory);
  CUcontext primary_of(const Driver& driver, int ordinal, std::string* why);
  std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unordered_map<int, CUcontext> primaries_;
  std::vector<std::pair<Uuid, std::unique_ptr<Residency>>> residencies_;
  std::string kernels_file_;
  size_t chunk_ = 0;
  int chunks_ = 0;
  bool mails_ = true;
  std::atomic<bool> enqueues_{false};
  std::vector<std::string> told_;
};

}  // namespace tern::cuda
