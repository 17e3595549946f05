// SPDX-License-Identifier: Apache-2.0
// Hints: the info keys of a file (MPI-5.0 section 14.2.8), as used.
// The user's info overrides the files of hints, and hints override parameters.
// Threads: any may read; set() and the like run while no transfer begins.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/params.hpp"
#include "core/info.hpp"
#include "io/part.hpp"

namespace tern::io {

/// Whether collective transfers go through shared memory.
enum class Exchanging : uint8_t { kAuto, kAlways, kNever };

/// The rows of the table, in order.
enum class Hint : uint8_t {
  kAccessStyle,
  kCbBufferSize,
  kCbConfigList,
  kCbNodes,
  kCollectiveBuffering,
  kDirectIo,
  kFilePerm,
  kIndRdBufferSize,
  kIndWrBufferSize,
  kCbRead,
  kCbWrite,
  kDsRead,
  kDsWrite,
  kNoIndepRw,
  kSynchronizedFlush,
  kVisibilityImmediate,
  kStartIodevice,
  kStripingFactor,
  kStripingUnit,
  kSharedPointer,
  kEnd
};

class Hints {
 public:
  explicit Hints(const Params& params) noexcept;

  /// kOpen also takes the keys that have an effect in MPI_File_open alone.
  enum class When : uint8_t { kOpen, kLater };
  /// Takes the known keys. Ignores unknown keys, and invalid values with a message for each value.
  void set(const core::Info& info, When when = When::kLater);
  /// The files of hints: ROMIO_HINTS of the environment, then TERN_IO_HINTS. A file that cannot be
  /// read gets a message. One rank reads; all ranks take the text.
  static std::string read_file(const Params& params);
  /// Takes lines `key value`. "#" begins a comment; a key without a value gets the default.
  void take_text(const std::string& text);
  /// Lines for take_text() of other ranks: the keys whose values must be equal on all ranks.
  [[nodiscard]] std::string common_text() const;
  /// The opener replaces a request, or 0, by the number in use.
  void use(Hint hint, int64_t number) noexcept { values_[index(hint)] = number; }

  /// The keys as used: always the same keys.
  [[nodiscard]] core::Ref<core::Info> used() const;
  /// Whether the user or a file of hints has set the key.
  [[nodiscard]] bool given(Hint hint) const noexcept { return (given_ >> index(hint) & 1) != 0; }

  [[nodiscard]] bool syncs_at_close() const noexcept { return syncs_at_close_; }
  [[nodiscard]] IoWay way() const noexcept { return way_; }
  [[nodiscard]] Exchanging exchanging(bool writes) const noexcept;
  /// Reads of small blocks may fetch the bytes between the blocks.
  [[nodiscard]] bool sieves() const noexcept {
    return way_ != IoWay::kPlain && value(Hint::kDsRead) != kDisabled;
  }
  /// Writes of small blocks may go through a mapping of the file.
  [[nodiscard]] bool maps() const noexcept {
    return way_ != IoWay::kPlain && value(Hint::kDsWrite) != kDisabled;
  }
  [[nodiscard]] Ways ways() const noexcept {
    return {maps(), sieves(), way_ == IoWay::kMapped ? INT64_MAX : 0, sieve_bytes()};
  }
  /// Bytes of the stage of a rank.
  [[nodiscard]] int64_t buffer() const noexcept { return value(Hint::kCbBufferSize); }
  [[nodiscard]] int64_t sieve_bytes() const noexcept { return value(Hint::kIndRdBufferSize); }
  /// The number of aggregators; 0: choose.
  [[nodiscard]] int64_t cb_nodes() const noexcept { return value(Hint::kCbNodes); }
  /// The most aggregators of a host; 0: no limit.
  [[nodiscard]] int64_t aggregators_per_host() const noexcept { return value(Hint::kCbConfigList); }
  // 0: the file system's.
  [[nodiscard]] int64_t striping_factor() const noexcept { return value(Hint::kStripingFactor); }
  [[nodiscard]] int64_t striping_unit() const noexcept { return value(Hint::kStripingUnit); }
  /// The mode of a new file, unless the key was not given.
  [[nodiscard]] std::optional<mode_t> file_perm() const noexcept {
    if (!given(Hint::kFilePerm)) return std::nullopt;
    return static_cast<mode_t>(value(Hint::kFilePerm));
  }
  /// MPI_File_sync flushes by one rank of a host.
  [[nodiscard]] bool flushes_by_one() const noexcept { return is_on(Hint::kSynchronizedFlush); }
  [[nodiscard]] bool direct() const noexcept { return is_on(Hint::kDirectIo); }
  /// The advice of posix_fadvise(2) about reading ahead.
  [[nodiscard]] int advice() const noexcept;

 private:
  static constexpr int64_t kAutomatic = 0, kEnabled = 1, kDisabled = 2;
  static constexpr size_t index(Hint hint) noexcept { return static_cast<size_t>(hint); }
  [[nodiscard]] int64_t value(Hint hint) const noexcept { return values_[index(hint)]; }
  [[nodiscard]] bool is_on(Hint hint) const noexcept { return value(hint) == kEnabled; }
  void take(size_t row, const std::string& text);
  void reset(size_t row) noexcept;

  const IoWay way_;
  const bool syncs_at_close_;
  const int64_t standard_buffer_;
  std::array<int64_t, static_cast<size_t>(Hint::kEnd)> values_{};
  uint32_t given_ = 0;  // a bit for each row
};

}  // namespace tern::io
