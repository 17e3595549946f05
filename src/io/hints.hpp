// SPDX-License-Identifier: Apache-2.0
// Hints: the info keys of a file (MPI-5.0 section 14.2.8), as used.
#pragma once

#include <cstdint>

#include "base/params.hpp"
#include "core/info.hpp"

namespace tern::io {

/// Whether collective transfers go through shared memory.
enum class Exchanging : uint8_t { kAuto, kAlways, kNever };

class Hints {
 public:
  explicit Hints(const Params& params) noexcept
      : way_(params.io),
        buffer_(params.io_buffer),
        syncs_at_close_(params.io_close == IoClose::kSync) {}

  /// Takes the known keys; ignores others and invalid values.
  void set(const core::Info& info);
  /// The keys as used: always the same keys.
  [[nodiscard]] core::Ref<core::Info> used() const;

  [[nodiscard]] bool syncs_at_close() const noexcept { return syncs_at_close_; }
  [[nodiscard]] IoWay way() const noexcept { return way_; }
  /// Bytes of the stage of a rank.
  [[nodiscard]] int64_t buffer() const noexcept { return buffer_; }
  [[nodiscard]] Exchanging exchanging(bool writes) const noexcept {
    if (way_ == IoWay::kExchange) return Exchanging::kAlways;
    if (way_ == IoWay::kPlain || way_ == IoWay::kMapped) return Exchanging::kNever;
    return writes ? exchange_writes_ : exchange_reads_;
  }

 private:
  IoWay way_;
  int64_t buffer_;
  bool syncs_at_close_;
  Exchanging exchange_reads_ = Exchanging::kAuto, exchange_writes_ = Exchanging::kAuto;
};

}  // namespace tern::io
