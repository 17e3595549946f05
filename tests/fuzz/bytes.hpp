// SPDX-License-Identifier: Apache-2.0
// Bytes: numbers and blocks read from a fuzz target's input.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace tern::fuzz {

/// After the end of the input, all bytes are 0.
class Bytes {
 public:
  Bytes(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  [[nodiscard]] bool empty() const { return left_ == 0; }
  template <class T>
  T take() {
    T value{};
    const size_t bytes = std::min(left_, sizeof value);
    if (bytes > 0) std::memcpy(&value, data_, bytes);
    data_ += bytes;
    left_ -= bytes;
    return value;
  }
  /// A separate block lets sanitizers detect reads beyond its end.
  std::vector<std::byte> block(size_t bytes) {
    std::vector<std::byte> made(bytes);
    const size_t there = std::min(left_, bytes);
    if (there > 0) std::memcpy(made.data(), data_, there);
    data_ += there;
    left_ -= there;
    return made;
  }
  std::string text(size_t bytes) {
    const auto made = block(std::min(left_, bytes));
    return {reinterpret_cast<const char*>(made.data()), made.size()};
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace tern::fuzz
