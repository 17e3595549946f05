// SPDX-License-Identifier: Apache-2.0
#include "io/overlap_check.hpp"

#include <algorithm>
#include <cstddef>
#include <new>

#include "base/call_site.hpp"
#include "base/log.hpp"
#include "core/process.hpp"
#include "io/tags.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::io {
namespace {

constexpr size_t kAtOnce = 256;          // own blocks
constexpr uint32_t kReported = 1 << 20;  // RawFile::explains_first()

int64_t begin_of(const iovec& block) noexcept {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(block.iov_base));
}

}  // namespace

OverlapCheck::~OverlapCheck() {
  const auto drop = [](core::Request* request, std::unique_ptr<Batch>* batch) {
    if (request == nullptr) return;
    if (!request->done()) request->cancel_locked();
    // A send, or a receive with a message, still uses the memory.
    if (!request->done()) (void)batch->release();
    request->release();
  };
  drop(received_, &in_);
  drop(sent_, &out_);
}

void OverlapCheck::begin(const View& view, const Span& span,
                         const core::CallPlace& place) noexcept {
  view_ = &view;
  rest_ = span;
  place_ = place;
  mine_.clear();
  next_mine_ = next_lower_ = 0;
  in_->count = out_->count = 0;
  in_->is_last = 0;
  reach_ = {};
  lower_ended_ = own_.rank() == 0;
  merged_ = last_sent_ = false;
  if (span.bytes > 0 && !view.rises(span.first, static_cast<int64_t>(span.bytes))) sort_mine();
}

void OverlapCheck::find_mine() noexcept {
  if (next_mine_ < mine_.size() || rest_.bytes == 0) return;
  next_mine_ = 0;
  size_t covered = 0;
  try {
    mine_.resize(kAtOnce);
    mine_.resize(view_->blocks(rest_.first, static_cast<int64_t>(rest_.bytes), mine_.data(),
                               kAtOnce, &covered));
  } catch (const std::bad_alloc&) {  // compares the other ranks only
    mine_.clear();
    covered = rest_.bytes;
  }
  rest_.first += static_cast<int64_t>(covered);
  rest_.bytes -= covered;
}

void OverlapCheck::sort_mine() noexcept {
  try {
    std::vector<iovec> all;
    while (rest_.bytes > 0) {
      next_mine_ = mine_.size();
      find_mine();
      all.insert(all.end(), mine_.begin(), mine_.end());
    }
    std::sort(all.begin(), all.end(),
              [](const iovec& one, const iovec& other) { return begin_of(one) < begin_of(other); });
    mine_ = std::move(all);
  } catch (const std::bad_alloc&) {
    mine_.clear();
    rest_.bytes = 0;
  }
  next_mine_ = 0;
}

bool OverlapCheck::find_lower() noexcept {
  while (!lower_ended_ && next_lower_ == in_->count) {
    if (received_ == nullptr) {
      if (in_->is_last != 0) {
        lower_ended_ = true;
        break;
      }
      const pml::Buffer to{in_.get(), sizeof *in_, &core::predefined_type(own_.process(), MPI_BYTE),
                           cuda::MemoryKind::kHost};
      const pml::Envelope from{&own_, own_.rank() - 1, kBlocksTag, pml::Plane::kInternal};
      if (own_.channel().pml->irecv_locked(to, from, &received_) != MPI_SUCCESS) {
        lower_ended_ = true;
        break;
      }
    }
    if (!received_->done()) return false;
    lower_ended_ = received_->outcome.error != MPI_SUCCESS;
    if (lower_ended_) in_->count = 0;
    received_->release();
    received_ = nullptr;
    next_lower_ = 0;
  }
  return true;
}

bool OverlapCheck::sent() noexcept {
  if (sent_ == nullptr) return true;
  if (!sent_->done()) return false;
  sent_->release();
  sent_ = nullptr;
  out_->count = 0;
  return true;
}

void OverlapCheck::send(bool last) noexcept {
  out_->is_last = last ? 1 : 0;
  const size_t bytes = offsetof(Batch, blocks) + out_->count * sizeof(Block);
  const pml::Buffer from{out_.get(), static_cast<MPI_Count>(bytes),
                         &core::predefined_type(own_.process(), MPI_BYTE), cuda::MemoryKind::kHost};
  const pml::Envelope to{&own_, own_.rank() + 1, kBlocksTag, pml::Plane::kInternal};
  if (own_.channel().pml->isend_locked(from, to, &sent_) == MPI_SUCCESS) return;
  sent_ = nullptr;
  out_->count = 0;
}

bool OverlapCheck::pass_on(const Block& block) noexcept {
  if (!has_next()) return true;
  if (!sent()) return false;
  if (out_->count == Batch::kBlocks) {
    send(false);
    if (!sent()) return false;
  }
  out_->blocks[out_->count++] = block;
  return true;
}

void OverlapCheck::compare(const Block& block) noexcept {
  const bool own = block.rank == own_.rank() || reach_.rank == own_.rank();
  if (block.from < reach_.to && block.rank != reach_.rank && own && raw_.explains_first(kReported))
    report(reach_, block);
  if (block.to > reach_.to) reach_ = block;
}

void OverlapCheck::report(const Block& one, const Block& other) const noexcept {
  try {
    log_line(
        "ranks %lld and %lld both write byte %lld of %s in %s at %s, so its value is "
        "undefined; write separate bytes, or set atomic mode (TERN_CHECK=files)",
        static_cast<long long>(std::min(one.rank, other.rank)),
        static_cast<long long>(std::max(one.rank, other.rank)), static_cast<long long>(other.from),
        raw_.name().c_str(), place_.call == nullptr ? "a collective call" : place_.call,
        call_site_in_words(place_.site).c_str());
  } catch (const std::bad_alloc&) {
    log_line("no memory for the report of bytes that two ranks write");
  }
}

bool OverlapCheck::advance() noexcept {
  while (!merged_) {
    if (!find_lower()) return false;
    find_mine();
    const bool lower = next_lower_ < in_->count, own = next_mine_ < mine_.size();
    merged_ = !lower && !own;
    if (merged_) break;
    Block block{0, 0, own_.rank()};
    if (own) {
      block.from = begin_of(mine_[next_mine_]);
      block.to = block.from + static_cast<int64_t>(mine_[next_mine_].iov_len);
    }
    const bool takes_lower = lower && (!own || in_->blocks[next_lower_].from <= block.from);
    if (takes_lower) block = in_->blocks[next_lower_];
    if (!pass_on(block)) return false;
    compare(block);
    if (takes_lower)
      ++next_lower_;
    else
      ++next_mine_;
  }
  if (!has_next()) return true;
  if (!sent()) return false;
  if (!last_sent_) send(true);
  last_sent_ = true;
  return sent();
}

void OverlapCheck::describe(WaitReport* report) const {
  report->words += strf("the comparison of writes to %s (TERN_CHECK=files)", raw_.name().c_str());
  const int rank = own_.rank() + (sent_ == nullptr ? -1 : 1);
  core::report_wait_for(own_.peer(rank), report);
}

}  // namespace tern::io
