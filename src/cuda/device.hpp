// SPDX-License-Identifier: Apache-2.0
// Device: a context of the application's in which it has memory; Gpus: all that this rank has met.
// Why: the context is the pointer's, never the current one; streams, events and kernels belong to
// it. Nothing is made before the first device pointer of a call.
// Lifetime: Gpus is the Process's; a Device lives as long. When its context ends (cudaDeviceReset)
// what was made in it is forgotten, and made anew when the next one comes. Threads: any; a Job
// belongs to one.
// See: src/cuda/README.md, tests/gpu/mpi/context_after_init.cc, context_reset.cc.
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

/// The name of a GPU (or a part of a GPU), equal in all processes of the machine.
struct Uuid {
  unsigned char bytes[16] = {};
  bool operator==(const Uuid&) const = default;
};

class Device final : public DeviceContext {
 public:
  /// `kernels_file`: as of Kernels.
  Device(const Driver& driver, CUcontext context, int ordinal, const std::string& kernels_file);
  ~Device();

  const int ordinal;
  Uuid uuid;
  Events events;
  LateWrites late_writes;
  Streams streams;
  BlockStore blocks;
  /// Small data between it and the host goes by kernels (Job::mail), not by copies.
  bool mails = true;

  /// The kernels, loaded into the context at the first call; null where there are none (*why_not,
  /// where it is not null, says why). Any context may be current.
  Kernels* kernels(std::string* why_not = nullptr) noexcept;
  /// An attribute of the device; 0 if the driver does not know the attribute.
  [[nodiscard]] int attribute(CUdevice_attribute which) const noexcept;
  /// 90 for sm_90.
  [[nodiscard]] int capability() const noexcept {
    return attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
           attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  }
  /// Makes what the first messages need, unless that was done, if the device is quiet: kernels,
  /// streams, events, memory. Each may wait for all work on the device, and peers for this rank.
  void prepare(size_t chunk, int chunks) noexcept;
  /// The context has ended and come back since this was made: nothing in it is there any more.
  /// Memory that was met in it tells that it has not, without a call of the driver.
  [[nodiscard]] bool has_ended(const Memory& memory) const noexcept {
    return !late_writes.knows(memory) && stale();
  }
  /// Nothing of it may be touched any more; the object stays.
  void forget() noexcept;
  /// For an ordinary call whose work waits for that of other ranks, one at a time: two at once,
  /// begun in another order by other ranks, might stand in one queue of the hardware.
  [[nodiscard]] bool try_take() noexcept {
    return !taken_.exchange(true, std::memory_order_acquire);
  }
  void give() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::mutex kernels_mutex_;
  std::string kernels_file_;
  std::unique_ptr<Kernels> kernels_;
  std::string no_kernels_;  // why a context could not get any
  std::atomic<bool> prepared_{false};
  std::atomic<bool> taken_{false};
};

/// Work in one stream of a device: copies are begun, then asked whether they have ended. The first
/// failure stays; what follows it is not begun.
class Job {
 public:
  Job() = default;
  explicit Job(Device& device) noexcept;
  /// On a stream of the application's (or of a team's), which outlives it: nothing here waits for
  /// that stream, not even a failure, and what goes into it comes behind what is there.
  Job(Device& device, Stream& borrowed) noexcept
      : device_(&device), stream_(&borrowed), borrowed_(true) {}
  Job(Job&& other) noexcept;
  Job& operator=(Job&& other) noexcept;
  /// Waits for what was begun.
  ~Job();

  /// Orders the job behind what the application has written to memory: done() is false until it has
  /// been.
  void settle(const Memory& memory) noexcept;
  /// Ends a job in which nothing was begun but settle(), without waiting.
  void abandon() noexcept;
  /// Between any two memories: pageable, pinned, of this device or another.
  void copy(void* to, const void* from, size_t bytes) noexcept;
  /// As copy(), of memory known not to be pageable.
  void copy_mapped(void* to, const void* from, size_t bytes) noexcept;
  /// Half of the stage, for a second stream.
  [[nodiscard]] Stage share_stage() noexcept;
  /// One word of device memory.
  void set(void* to, uint32_t value) noexcept;
  /// `rows` rows of `width` bytes.
  void copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                 size_t rows) noexcept;
  /// Room for small copies that the device reaches, as the host and as the device sees it; null
  /// where the stream has no room, or the device no kernels. What is there belongs to this job.
  [[nodiscard]] std::byte* room() noexcept;
  [[nodiscard]] void* room_on_device() const noexcept {
    return reinterpret_cast<void*>(stream_->room_at);
  }
  /// A small copy to or from the room by a kernel, whose end costs no call of the driver to learn.
  void mail(void* to, const void* from, size_t bytes) noexcept;
  /// The same end for what was begun otherwise: one call.
  void tell_end() noexcept;
  /// There is something to wait for that was not begun here (a kernel, settle()).
  void mark() noexcept {
    open_ = stream_ != nullptr;
    asked_ = false;
  }
  /// Whether everything has ended, or failed.
  [[nodiscard]] bool done() noexcept;
  /// Waits; false where something failed.
  bool finish() noexcept;
  /// Keeps data that commands in a borrowed stream read later; the caller takes the data and holds
  /// it until the stream has run them. Throws std::bad_alloc.
  void keep(std::shared_ptr<const void> what) {
    if (borrowed_) kept_.push_back(std::move(what));
  }
  [[nodiscard]] std::vector<std::shared_ptr<const void>> take_kept() noexcept {
    return std::exchange(kept_, {});
  }
  // Where the caller learns by itself when it has all ended:
  void has_ended() noexcept { open_ = false; }
  /// Asks now and then.
  [[nodiscard]] bool has_failed_meanwhile() noexcept;
  [[nodiscard]] bool failed() const noexcept { return result_ != CUDA_SUCCESS; }
  /// "cuMemcpyAsync: CUDA_ERROR_..."
  [[nodiscard]] std::string failure() const { return words_of(function_, result_); }
  /// Of a job beside another: its first failure becomes that one's, if it had none, and what it
  /// keeps. Throws std::bad_alloc.
  void give_to(Job& other) {
    other.note(function_, result_);
    for (auto& one : kept_) other.keep(std::move(one));
    kept_.clear();
  }
  [[nodiscard]] Device& device() const noexcept { return *device_; }
  /// The stream is the application's, or a team's.
  [[nodiscard]] bool borrowed() const noexcept { return borrowed_; }
  [[nodiscard]] CUstream stream() const noexcept {
    return stream_ == nullptr ? nullptr : stream_->handle;
  }
  /// Takes the result of a driver call that was made on this stream.
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
  bool open_ = false;   // something was begun that has not been seen to end
  bool asked_ = false;  // the stream's word will tell
  int64_t next_question_ = 0;
  std::vector<std::shared_ptr<const void>> kept_;
};

/// Memory of the job's device for a while. Without any where the driver has none: the job has
/// failed then.
class Loan {
 public:
  Loan() = default;
  Loan(Job& job, Store store, size_t bytes) noexcept;
  /// By BlockStore::spare(): perhaps not valid.
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
/// Device memory.
struct Block : Loan {
  Block() = default;
  Block(Job& job, size_t least) noexcept : Loan(job, Store::kDevice, least) {}
};
/// Pinned host memory: copies to and from it overlap with everything else.
struct Pinned : Loan {
  Pinned() = default;
  Pinned(Job& job, size_t least) noexcept : Loan(job, Store::kPinned, least) {}
};

class Gpus {
 public:
  /// The device of memory (kDevice or kManaged); nullptr with a text where its context cannot be
  /// used.
  Device* device_of(const Memory& memory, std::string* why) noexcept;
  /// Before the first device: as of Kernels.
  void set_kernels_file(const std::string& file) { kernels_file_ = file; }
  /// Before the first device: how much pinned memory a message takes.
  void set_chunks(size_t bytes, int count) noexcept {
    chunk_ = bytes;
    chunks_ = count;
  }
  /// Before the first device: as of Device.
  void set_mails(bool mails) noexcept { mails_ = mails; }
  /// Devices that were busy when they were met are prepared when they are not.
  void look_after() noexcept;
  /// From now on operations are put into the application's streams: progress makes nothing on
  /// devices any more.
  void expect_enqueues() noexcept { enqueues_.store(true, std::memory_order_relaxed); }
  /// Any device of this rank's, or nullptr: for host memory that is to be pinned.
  [[nodiscard]] Device* any() noexcept;
  /// Gives back to the driver all that was made; no caller holds a Device any more. The rank may
  /// come back (sessions).
  void release() noexcept;
  ~Gpus() { release(); }
  /// Says, once for each reason, that device memory is reduced on the host.
  void tell_once(const Explain& explain, const std::string& why) noexcept;
  /// Of the GPU of that name, which several contexts may share. Throws std::bad_alloc.
  [[nodiscard]] Residency& residency(const Uuid& gpu);
  /// How many communicators have, or had, scratch for what devices do alone: it stays.
  std::atomic<int> scratches{0};
  /// Says once that device memory takes a slower way.
  void tell_fallback(const Explain& explain, const std::string& what) noexcept;
  /// The same of what was chosen, for TERN_EXPLAIN.
  void tell_choice(const Explain& explain, const std::string& what) noexcept;

 private:
  [[nodiscard]] bool is_new(const std::string& text) noexcept;
  Device* device_in(CUcontext context, const Memory& memory);
  CUcontext primary_of(const Driver& driver, int ordinal, std::string* why);
  std::mutex mutex_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::unordered_map<int, CUcontext> primaries_;  // retained
  std::vector<std::pair<Uuid, std::unique_ptr<Residency>>> residencies_;
  std::string kernels_file_;
  size_t chunk_ = 0;
  int chunks_ = 0;
  bool mails_ = true;
  std::atomic<bool> enqueues_{false};
  std::vector<std::string> told_;  // what is said once
};

}  // namespace tern::cuda
