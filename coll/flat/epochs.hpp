// SPDX-License-Identifier: Apache-2.0
// FlatEpochs: the epochs of a flat collective in flight: written ahead, read in order. Errors:
// begin() and end() return a Failure; read() returns an error class with fail() text. A rank with
// unreadable data posts poisoned slots. Lifetime: a pooled request, across calls.
#pragma once

#include <optional>
#include <variant>

#include "base/error.hpp"
#include "coll/flat/direct.hpp"
#include "coll/flat/parts.hpp"
#include "coll/flat/sliced.hpp"
#include "coll/flat/slots.hpp"
#include "coll/flat/staged.hpp"
#include "coll/flat/two_level.hpp"
#include "coll/schedule/flat_method.hpp"

namespace tern::coll {

class FlatEpochs {
 public:
  /// `before` is the lane's last epoch. If `large`, all ranks post in the first epoch whether their
  /// data lies on a device.
  [[nodiscard]] Failure begin(const Operation& operation, FlatMethod method, bool large,
                              uint64_t before, Slots& slots) noexcept;
  [[nodiscard]] uint64_t count() const noexcept { return static_cast<uint64_t>(parts_->epochs()); }

  [[nodiscard]] bool all_written() const noexcept { return written_ == parts_->epochs(); }
  [[nodiscard]] bool can_write() const noexcept {
    return written_ < parts_->epochs() && parts_->can_write(written_, read_);
  }
  [[nodiscard]] bool writes() const noexcept { return parts_->writes(written_); }
  [[nodiscard]] uint64_t to_write() const noexcept { return in_lane(written_); }
  [[nodiscard]] uint64_t to_read() const noexcept { return in_lane(read_); }
  void write(Slots& slots) noexcept;

  [[nodiscard]] bool all_read() const noexcept { return read_ == parts_->epochs(); }
  [[nodiscard]] bool can_read() const noexcept { return read_ < written_; }
  [[nodiscard]] Parts::Sources sources() const noexcept { return parts_->sources(read_); }
  [[nodiscard]] int source(const Parts::Sources& of, int place) const noexcept {
    return of.named ? parts_->source(place) : place;
  }
  static constexpr uint64_t kNoEpoch = 0;
  /// fills() is the lane's epoch whose slot the next read fills, or kNoEpoch.
  [[nodiscard]] uint64_t fills() const noexcept {
    const int64_t epoch = parts_->fills(read_);
    return epoch == Parts::kNoEpoch ? kNoEpoch : in_lane(epoch);
  }
  [[nodiscard]] int read(Slots& slots) noexcept;
  /// found_device() is true if some rank's data lies on a device; the epochs have then ended
  /// without effect.
  [[nodiscard]] bool found_device() const noexcept { return found_device_; }

  [[nodiscard]] Failure end() noexcept { return staged_ ? staged_->upload() : Failure{}; }
  void clear() noexcept;

 private:
  [[nodiscard]] uint64_t in_lane(int64_t epoch) const noexcept {
    return first_ + static_cast<uint64_t>(epoch);
  }
  [[nodiscard]] Failure plan_staged(const Operation& operation, FlatMethod method,
                                    Slots& slots) noexcept;
  [[nodiscard]] Failure plan_large(const Operation& operation, FlatMethod method,
                                   Slots& slots) noexcept;
  [[nodiscard]] Failure plan_direct(const Operation& operation, Slots& slots) noexcept;

  std::optional<Staged> staged_;
  std::variant<std::monostate, Parts, Direct, Sliced, TwoLevel> plan_;
  Parts* parts_ = nullptr;
  int64_t written_ = 0, read_ = 0;
  uint64_t first_ = 0;
  bool unreadable_ = false;
  bool asks_ = false;
  bool on_device_ = false;
  bool found_device_ = false;
};

}  // namespace tern::coll
