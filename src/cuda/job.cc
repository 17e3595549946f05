// SPDX-License-Identifier: Apache-2.0
#include <sched.h>

#include <utility>

#include "base/clock.hpp"
#include "cuda/copy.hpp"
#include "cuda/device.hpp"
#include "cuda/kernels.hpp"
#include "cuda/staging.hpp"

namespace tern::cuda {
namespace {

constexpr int64_t kBetween = 2'000'000;  // ns between stream queries while a word is pending

CUdeviceptr as_device(const void* address) noexcept {
  return reinterpret_cast<CUdeviceptr>(address);
}

}  // namespace

Job::Job(Device& device) noexcept : device_(&device), stream_(device.streams.idle()) {
  if (TERN_LIKELY(stream_ != nullptr)) return;
  const Current current(device);
  note("cuCtxPushCurrent", current.result());
  if (failed()) return;
  CUresult error = CUDA_SUCCESS;
  stream_ = device.streams.make(&error);
  note("cuStreamCreateWithPriority", error);
}

Job::Job(Job&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      stream_(std::exchange(other.stream_, nullptr)),
      result_(other.result_),
      function_(other.function_),
      borrowed_(std::exchange(other.borrowed_, false)),
      open_(std::exchange(other.open_, false)),
      asked_(std::exchange(other.asked_, false)),
      kept_(std::move(other.kept_)) {}

Job& Job::operator=(Job&& other) noexcept {
  if (this == &other) return *this;
  end();
  device_ = std::exchange(other.device_, nullptr);
  stream_ = std::exchange(other.stream_, nullptr);
  result_ = other.result_;
  function_ = other.function_;
  borrowed_ = std::exchange(other.borrowed_, false);
  open_ = std::exchange(other.open_, false);
  asked_ = std::exchange(other.asked_, false);
  kept_ = std::move(other.kept_);
  return *this;
}

Job::~Job() { end(); }

// A stream is not reused after a failure.
void Job::end() noexcept {
  if (stream_ == nullptr) return;
  if (open_ && !borrowed_ && !device_->gone()) finish();
  if (!borrowed_ && !device_->gone() && (failed() || !device_->streams.give_back(stream_))) {
    const Current current(*device_);
    device_->streams.end(stream_);
  }
  stream_ = nullptr;
  device_ = nullptr;
}

// fail_with() waits for the stream, because memory in use must outlive the work.
void Job::fail_with(const char* function, CUresult result) noexcept {
  if (result == CUDA_SUCCESS) return;
  note(function, result);
  if (!borrowed_) (void)device_->driver.cuStreamSynchronize(stream());
}

// The application's copies ran in the context of the memory, or in the current context.
void Job::settle(const Memory& memory) noexcept {
  if (borrowed_ || failed() || memory.kind == MemoryKind::kHost) return;
  if (TERN_LIKELY(device_->late_writes.are_none_on(memory))) return;
  CUcontext users = nullptr;
  (void)device_->driver.cuCtxGetCurrent(&users);
  const Current current(*device_);
  if (device_->late_writes.end_on(memory)) return;
  settle_in(device_->context);
  if (users != nullptr && users != device_->context) settle_in(users);
}

void Job::settle_in(CUcontext context) noexcept {
  const Current current(device_->driver, context);
  note("cuCtxPushCurrent", current.result());
  if (failed()) return;
  bool waits = false;
  note("cuStreamWaitEvent", device_->late_writes.order_behind(stream(), context, &waits));
  if (waits) mark();
}

void Job::abandon() noexcept {
  if (stream_ == nullptr || device_->gone()) return;
  if (!open_) return end();
  const Current current(*device_);
  device_->streams.end(stream_);
  stream_ = nullptr;
  open_ = false;
}

bool Job::stages(const Rows& rows) noexcept {
  if (TERN_LIKELY(stream_->stage.bytes == 0) || !copy_staged(*this, stream_->stage, rows))
    return false;
  return stream_->staged = true;
}

Stage Job::share_stage() noexcept {
  stream_->stage.bytes /= 2;
  return {stream_->stage.at + stream_->stage.bytes, stream_->stage.bytes};
}

void Job::copy(void* to, const void* from, size_t bytes) noexcept {
  if (failed() || bytes == 0) return;
  if (!stages({static_cast<std::byte*>(to), bytes, static_cast<const std::byte*>(from), bytes,
               bytes, 1}))
    copy_mapped(to, from, bytes);
}

void Job::copy_mapped(void* to, const void* from, size_t bytes) noexcept {
  if (failed() || bytes == 0) return;
  const Current current(*device_);
  mark();
  note("cuMemcpyAsync", cuda::copy(device_->driver, to, from, bytes, stream()));
}

void Job::set(void* to, uint32_t value) noexcept {
  if (failed()) return;
  const Current current(*device_);
  mark();
  note("cuMemsetD32Async", device_->driver.cuMemsetD32Async(as_device(to), value, 1, stream()));
}

std::byte* Job::room() noexcept {
  return stream_ == nullptr || !device_->mails || stream_->word == nullptr ||
                 stream_->room == nullptr || device_->kernels() == nullptr
             ? nullptr
             : stream_->room;
}

void Job::mail(void* to, const void* from, size_t bytes) noexcept {
  if (failed() || bytes == 0) return;
  const Entered entered(*device_);
  mark();
  note("cuLaunchKernel",
       device_->kernels()->mail(stream(), to, from, bytes,
                                reinterpret_cast<uint32_t*>(stream_->word_at), stream_->asked + 1));
  if (failed()) return;
  ++stream_->asked;
  will_be_told();
}

void Job::tell_end() noexcept {
  if (failed() || stream_->word == nullptr) return;
  const Current current(*device_);
  if (stream_->ask(device_->driver)) will_be_told();
}

void Job::will_be_told() noexcept {
  asked_ = true;
  next_question_ = now_ns() + kBetween;
}

void Job::copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                    size_t rows) noexcept {
  if (failed() || width == 0 || rows == 0) return;
  if (stages({static_cast<std::byte*>(to), to_pitch, static_cast<const std::byte*>(from),
              from_pitch, width, rows}))
    return;
  const Current current(*device_);
  mark();
  note("cuMemcpy2DAsync",
       cuda::copy_rows(device_->driver, to, to_pitch, from, from_pitch, width, rows, stream()));
}

// Work in an ended context is lost.
bool Job::lost() noexcept {
  if (TERN_LIKELY(!device_->gone())) return false;
  open_ = false;
  note("cuStreamQuery", CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return true;
}

// The word reports only success, so the driver is also queried every few ms.
bool Job::is_under_way() noexcept {
  if (asked_ && stream_->has_come()) return false;
  const int64_t now = now_ns();
  if (asked_ && now < next_question_) return true;
  const Current current(*device_);
  if (!asked_ && stream_->ask(device_->driver)) {
    will_be_told();
    return !stream_->has_come();
  }
  next_question_ = now + kBetween;
  const CUresult result = device_->driver.cuStreamQuery(stream());
  if (result == CUDA_ERROR_NOT_READY) return true;
  fail_with("cuStreamQuery", result);
  return false;
}

bool Job::has_failed_meanwhile() noexcept {
  if (failed() || lost()) return true;
  const int64_t now = now_ns();
  const bool first = next_question_ == 0;
  if (!first && now < next_question_) return false;
  next_question_ = now + kBetween;
  if (first) return false;
  const Current current(*device_);
  const CUresult result = device_->driver.cuStreamQuery(stream());
  if (result != CUDA_ERROR_NOT_READY) note("cuStreamQuery", result);
  return failed();
}

bool Job::done() noexcept {
  if (!open_ || lost()) return true;
  if (is_under_way()) return false;
  open_ = false;
  return true;
}

bool Job::finish() noexcept {
  if (!open_ || lost()) return !failed();
  constexpr int kSpins = 500;
  for (int i = 0; asked_; ++i) {
    if (lost()) return false;
    if (!is_under_way()) {
      open_ = false;
      return !failed();
    }
    if (i > kSpins) ::sched_yield();
  }
  const Current current(*device_);
  open_ = false;
  fail_with("cuStreamSynchronize", device_->driver.cuStreamSynchronize(stream()));
  return !failed();
}

Loan::Loan(Job& job, Store store, size_t bytes) noexcept
    : device_(&job.device()), bytes_(bytes), store_(store) {
  if (job.failed()) return;
  const Current current(*device_);
  CUresult error = CUDA_SUCCESS;
  address_ = device_->blocks.acquire(store, &bytes_, &error);
  job.note(store == Store::kDevice ? "cuMemAlloc" : "cuMemHostAlloc", error);
}

Loan& Loan::operator=(Loan&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  std::swap(store_, other.store_);
  return *this;
}

Loan::~Loan() {
  if (address_ != nullptr) device_->blocks.release(store_, address_, bytes_);
}

}  // namespace tern::cuda
