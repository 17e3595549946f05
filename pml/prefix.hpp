// SPDX-License-Identifier: Apache-2.0
// PrefixWriter, PrefixReader: access to the prefix of a frame. Payload is unaligned, and the sender
// may still be writing, so each value is copied once. The caller checks lengths.
#pragma once

#include <cstddef>
#include <cstring>

namespace tern::pml {

class PrefixWriter {
 public:
  explicit PrefixWriter(std::byte* room) noexcept : next_(room) {}
  template <class T>
  void put(const T& value) noexcept {
    std::memcpy(next_, &value, sizeof value);
    next_ += sizeof value;
  }
  [[nodiscard]] std::byte* next() const noexcept { return next_; }

 private:
  std::byte* next_;
};

class PrefixReader {
 public:
  PrefixReader(const std::byte* payload, size_t bytes) noexcept : next_(payload), left_(bytes) {}
  template <class T>
  [[nodiscard]] T take() noexcept {
    T value;
    std::memcpy(&value, next_, sizeof value);
    next_ += sizeof value;
    left_ -= sizeof value;
    return value;
  }
  [[nodiscard]] const std::byte* next() const noexcept { return next_; }
  [[nodiscard]] size_t left() const noexcept { return left_; }

 private:
  const std::byte* next_;
  size_t left_;
};

}  // namespace tern::pml
