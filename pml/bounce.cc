// SPDX-License-Identifier: Apache-2.0
#include "pml/bounce.hpp"

#include <sched.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/copy.hpp"
#include "base/error.hpp"
#include "core/process.hpp"

namespace tern::pml {

Bounce::Bounce(core::Process& process, const core::Data& buffer, size_t bytes, cuda::Device* by)
    : buffer_(buffer),
      bytes_(bytes),
      chunk_bytes_(std::min(static_cast<size_t>(process.params.cuda_chunk), bytes)) {
  const size_t needed = (bytes + chunk_bytes_ - 1) / chunk_bytes_;
  chunks_.resize(std::min(static_cast<size_t>(process.params.cuda_chunks), needed));
  using enum cuda::Store;
  for (size_t i = 0; i < chunks_.size(); ++i) {
    Chunk& chunk = chunks_[i];
    Failure why;
    chunk.job = by != nullptr ? cuda::Job(*by) : core::begin_job(process, buffer, &why);
    if (why) throw Error(std::move(why));
    cuda::Device& device = chunk.job.device();
    // Fewer, or pageable, chunks beat an allocation, which waits for the user's work.
    const bool lends = device.blocks.lends(kPinned, chunk_bytes_);
    if (i > 0 && !lends) {
      chunk.job.abandon();
      chunks_.resize(i);
      return;
    }
    if (lends)
      chunk.room = cuda::Pinned(chunk.job, chunk_bytes_);
    else
      chunk.pageable.reset(new std::byte[chunk_bytes_]);
    if (lends && !buffer.type->contiguous() && device.kernels() != nullptr &&
        device.blocks.lends(kDevice, chunk_bytes_))
      chunk.packed = cuda::Block(chunk.job, chunk_bytes_);
    if (chunk.job.failed()) throw Error(MPI_ERR_NO_MEM, chunk.job.failure());
  }
}

bool Bounce::sound(cuda::Job& job) noexcept {
  if (TERN_LIKELY(!job.failed())) return true;
  if (failure_.empty()) failure_ = job.failure();
  return false;
}

void BounceOut::fetch_more() noexcept {
  for (size_t i = 0; i < chunks_.size() && fetched_ < bytes_; ++i) {
    Chunk& chunk = chunks_[(first_ + i) % chunks_.size()];
    if (chunk.used < chunk.bytes) continue;
    chunk.bytes = std::min(chunk_bytes_, bytes_ - fetched_);
    chunk.used = 0;
    if (chunk.packed.valid()) {
      core::pack(chunk.job, buffer_, fetched_, chunk.packed.data(), chunk.bytes);
      chunk.job.copy(chunk.data(), chunk.packed.data(), chunk.bytes);
    } else {
      core::pack(chunk.job, buffer_, fetched_, chunk.data(), chunk.bytes);
    }
    fetched_ += chunk.bytes;
  }
}

size_t BounceOut::ready(const std::byte** at) noexcept {
  fetch_more();
  Chunk& chunk = chunks_[first_];
  if (!chunk.job.done() || !sound(chunk.job)) return 0;
  *at = chunk.data() + chunk.used;
  return chunk.bytes - chunk.used;
}

void BounceOut::sent(size_t bytes) noexcept {
  Chunk& chunk = chunks_[first_];
  chunk.used += bytes;
  if (chunk.used < chunk.bytes) return;
  first_ = (first_ + 1) % chunks_.size();
  fetch_more();
}

void BounceIn::put(const std::byte* data, size_t bytes) noexcept {
  constexpr int64_t kSoon = 20'000'000;  // ns
  constexpr size_t kMostAside = 64 << 20;
  size_t put = 0;
  if (aside_.empty() || drain(0)) put = fill_chunks(data, bytes, kSoon);
  if (put == bytes || failed()) return;
  try {
    if (aside_.size() < kMostAside) {
      aside_.insert(aside_.end(), data + put, data + bytes);
      return;
    }
  } catch (const std::bad_alloc&) {
  }
  if (drain(INT64_MAX)) (void)fill_chunks(data + put, bytes - put, INT64_MAX);
}

bool BounceIn::drain(int64_t timeout) noexcept {
  drained_ += fill_chunks(aside_.data() + drained_, aside_.size() - drained_, timeout);
  if (drained_ < aside_.size()) return false;
  aside_.clear();
  drained_ = 0;
  return true;
}

// The copy of a chunk may be behind a user's stream, stalled until this call returns.
size_t BounceIn::fill_chunks(const std::byte* data, size_t bytes, int64_t timeout) noexcept {
  int64_t end = 0;
  size_t done = 0;
  while (done < bytes && !failed()) {
    Chunk& chunk = next_chunk();
    for (; chunk.used == 0 && chunk.begun && !chunk.job.done(); ::sched_yield()) {
      if (end == 0 && timeout != INT64_MAX) end = now_ns() + timeout;
      if (end != 0 && now_ns() >= end) return done;
    }
    if (!sound(chunk.job)) return done;
    chunk.bytes = std::min(chunk_bytes_, bytes_ - put_ / chunk_bytes_ * chunk_bytes_);
    const size_t some = std::min(bytes - done, chunk.bytes - chunk.used);
    copy_bytes(chunk.data() + chunk.used, data + done, some);
    placed(some);
    done += some;
  }
  return done;
}

std::byte* BounceIn::place(size_t* bytes) noexcept {
  Chunk& chunk = next_chunk();
  if (chunk.used == 0 && chunk.begun && !chunk.job.done()) return nullptr;
  if (!sound(chunk.job)) return nullptr;
  chunk.bytes = std::min(chunk_bytes_, bytes_ - put_ / chunk_bytes_ * chunk_bytes_);
  *bytes = chunk.bytes - chunk.used;
  return chunk.data() + chunk.used;
}

void BounceIn::placed(size_t bytes) noexcept {
  Chunk& chunk = next_chunk();
  chunk.used += bytes;
  put_ += bytes;
  if (chunk.used == chunk.bytes) send_off(chunk);
}

void BounceIn::end() noexcept {
  Chunk& chunk = next_chunk();
  if (chunk.used == 0) return;
  chunk.bytes = chunk.used;
  send_off(chunk);
}

void BounceIn::send_off(Chunk& chunk) noexcept {
  const std::byte* from = chunk.data();
  chunk.begun = true;
  if (chunk.packed.valid()) {
    chunk.job.copy(chunk.packed.data(), from, chunk.bytes);
    from = chunk.packed.data();
  }
  core::unpack(chunk.job, buffer_, sent_off_, from, chunk.bytes);
  sent_off_ += chunk.bytes;
  chunk.used = 0;
  (void)sound(chunk.job);
}

bool BounceIn::done() noexcept {
  if (!aside_.empty() && !failed() && !drain(0)) return failed();
  for (Chunk& chunk : chunks_)
    if (!chunk.job.done()) return false;
  for (Chunk& chunk : chunks_) (void)sound(chunk.job);
  return true;
}

}  // namespace tern::pml
