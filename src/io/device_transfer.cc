// SPDX-License-Identifier: Apache-2.0
#include "io/device_transfer.hpp"

#include <sched.h>

#include <algorithm>
#include <new>
#include <utility>

#include "io/direct_storage.hpp"
#include "mpi.h"

namespace tern::io {

DeviceTransfer::DeviceTransfer(const Part& part, const Memory& memory, size_t bytes, bool writes,
                               core::Progress* progress, std::shared_ptr<Worker> worker)
    : part_(part),
      memory_(memory),
      bytes_(bytes),
      writes_(writes),
      progress_(progress),
      worker_(std::move(worker)) {
  // Devices ring no doorbell.
  if (progress_ != nullptr) progress_->stay_awake(1);
  open();
}

DeviceTransfer::~DeviceTransfer() {
  if (progress_ != nullptr) progress_->stay_awake(-1);
}

void DeviceTransfer::open() noexcept {
  try {
    core::Process& process = memory_.process();
    if (writes_)
      out_ = std::make_unique<pml::BounceOut>(process, memory_.data(), bytes_);
    else
      in_ = std::make_unique<pml::BounceIn>(process, memory_.data(), bytes_);
  } catch (const std::bad_alloc&) {
    failed_ = failure(MPI_ERR_NO_MEM, "no memory for chunks of device memory");
  } catch (const Error& error) {
    failed_ = error.failure();
  }
}

void DeviceTransfer::note_device(const pml::Bounce& bounce) noexcept {
  if (bounce.failed() && !failed_)
    failed_ = failure(MPI_ERR_OTHER, "%zu bytes of device memory cannot be %s: %s", bytes_,
                      writes_ ? "read" : "written", bounce.failure().c_str());
}

bool DeviceTransfer::find_chunk() noexcept {
  if (writes_) {
    const std::byte* from = nullptr;
    some_ = out_->ready(&from);
    chunk_ = const_cast<std::byte*>(from);
    note_device(*out_);
  } else {
    chunk_ = in_->place(&some_);
    if (chunk_ == nullptr) some_ = 0;
    note_device(*in_);
  }
  return some_ > 0;
}

void DeviceTransfer::work() noexcept {
  // Afterwards the object may end.
  core::Progress* const progress = progress_;
  call();
  called_.store(true, std::memory_order_release);
  progress->wake();
}

void DeviceTransfer::call() noexcept {
  const Part part{part_.file, part_.window, part_.view, part_.first + static_cast<int64_t>(moved_),
                  part_.ways};
  const Memory chunk(memory_.process(), chunk_);
  got_ = some_;
  result_ = writes_ ? io::write(part, chunk, 0, some_) : io::read(part, chunk, 0, some_, &got_);
}

void DeviceTransfer::end_call() noexcept {
  calling_ = false;
  if (result_ && !failed_) failed_ = std::move(result_);
  if (writes_ && failed_) return;
  moved_ += got_;
  ended_ = got_ < some_;
  if (writes_)
    out_->sent(some_);
  else
    in_->placed(got_);
}

bool DeviceTransfer::drained() noexcept {
  if (in_ == nullptr) return true;
  in_->end();
  if (!in_->done()) return false;
  note_device(*in_);
  return true;
}

bool DeviceTransfer::advance() noexcept {
  for (;;) {
    if (calling_) {
      if (!called_.load(std::memory_order_acquire)) return false;
      end_call();
    }
    if (failed_ || ended_ || moved_ == bytes_) return drained();
    if (!find_chunk()) {
      if (failed_) continue;
      return false;
    }
    calling_ = true;
    called_.store(false, std::memory_order_relaxed);
    if (worker_ != nullptr && worker_->add(*this)) continue;
    call();
    called_.store(true, std::memory_order_relaxed);
  }
}

namespace {

Failure move_by_host(const Part& part, const Memory& memory, size_t bytes, bool writes,
                     size_t* done) noexcept {
  *done = 0;
  if (DeviceTransfer::suits(memory, bytes)) {
    DeviceTransfer transfer(part, memory, bytes, writes);
    while (!transfer.advance()) ::sched_yield();
    *done = transfer.failed() && writes ? 0 : transfer.moved();
    return transfer.failed();
  }
  if (!writes) return io::read(part, memory, 0, bytes, done);
  Failure failed = io::write(part, memory, 0, bytes);
  *done = failed ? 0 : bytes;
  return failed;
}

/// The bytes in front of the middle, the middle, and the rest.
Failure move_around(const Part& part, const Memory& memory, const DirectStorage::Middle& middle,
                    size_t bytes, bool writes, size_t* done) noexcept {
  const auto by_host = [&](size_t end) {
    if (*done == end) return Failure{};
    const Part rest{part.file, part.window, part.view, part.first + static_cast<int64_t>(*done),
                    part.ways};
    size_t moved = 0;
    Failure failed =
        move_by_host(rest, memory.of_device_block(*done, end - *done), end - *done, writes, &moved);
    *done += moved;
    return failed;
  };
  *done = 0;
  Failure failed = by_host(middle.offset);
  if (!failed && *done == middle.offset) {
    *done += part.file.storage()->move(part, memory, middle, writes);
    failed = by_host(bytes);
  }
  if (failed && writes) *done = 0;
  return failed;
}

}  // namespace

Failure move(const Part& part, const Memory& memory, size_t bytes, bool writes,
             size_t* done) noexcept {
  const DirectStorage::Middle middle = DirectStorage::middle(part, memory, bytes, writes);
  return middle.bytes == 0 ? move_by_host(part, memory, bytes, writes, done)
                           : move_around(part, memory, middle, bytes, writes, done);
}

}  // namespace tern::io
