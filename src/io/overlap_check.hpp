// SPDX-License-Identifier: Apache-2.0
// OverlapCheck: finds bytes written by two ranks in one collective call of a file, for
// TERN_CHECK=files.
// Why: nonatomic mode leaves the values of shared bytes undefined (MPI-5.0 section 14.6.1).
// The ranks form a chain: a rank receives the sorted blocks of all lower ranks, merges its own
// blocks, and sends all blocks to the next rank.
// Cost: 24 bytes per block and hop, and two batches of memory; none in calls without interleaved
// ranges.
// Threads: under the channel's lock. Lifetime: a file; one call after the other.
#pragma once

#include <sys/uio.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "core/communicator.hpp"
#include "core/current_call.hpp"
#include "core/request.hpp"
#include "io/access.hpp"
#include "io/raw_file.hpp"
#include "io/view.hpp"

namespace tern::io {

class OverlapCheck {
 public:
  OverlapCheck(core::Communicator& own, const RawFile& raw) : own_(own), raw_(raw) {}
  OverlapCheck(const OverlapCheck&) = delete;
  OverlapCheck& operator=(const OverlapCheck&) = delete;
  ~OverlapCheck();

  /// Ranks without data take part, too. The view lives until the end.
  void begin(const View& view, const Span& span, const core::CallPlace& place) noexcept;
  /// Continues as far as possible. Returns true at the end. A line on stderr names the first byte
  /// written by this rank and a lower rank, once per file.
  [[nodiscard]] bool advance() noexcept;
  void describe(WaitReport* report) const;

 private:
  struct Block {
    int64_t from = 0, to = 0;
    int64_t rank = 0;
  };
  struct Batch {
    static constexpr size_t kBlocks = 680;
    uint32_t count = 0;
    uint32_t is_last = 0;
    Block blocks[kBlocks];
  };
  [[nodiscard]] bool has_next() const noexcept { return own_.rank() + 1 < own_.size(); }
  /// Returns false while the next batch of the ranks before is under way.
  [[nodiscard]] bool find_lower() noexcept;
  void find_mine() noexcept;
  void sort_mine() noexcept;
  /// sent() and pass_on() return false while the last batch is under way.
  [[nodiscard]] bool sent() noexcept;
  void send(bool last) noexcept;
  [[nodiscard]] bool pass_on(const Block& block) noexcept;
  void compare(const Block& block) noexcept;
  void report(const Block& one, const Block& other) const noexcept;

  core::Communicator& own_;
  const RawFile& raw_;
  const View* view_ = nullptr;
  Span rest_;
  core::CallPlace place_;
  std::vector<iovec> mine_;
  size_t next_mine_ = 0;
  core::Request *received_ = nullptr, *sent_ = nullptr;
  std::unique_ptr<Batch> in_ = std::make_unique<Batch>(), out_ = std::make_unique<Batch>();
  uint32_t next_lower_ = 0;
  Block reach_;  // the block with the greatest end so far
  bool lower_ended_ = false, merged_ = true, last_sent_ = true;
};

}  // namespace tern::io
