// SPDX-License-Identifier: Apache-2.0
// A blob of fields: words, and texts after a length. Writer and reader have the same byte order.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace tern {

class BlobWriter {
 public:
  void word(uint64_t value) { text_.append(reinterpret_cast<const char*>(&value), sizeof value); }
  void text(std::string_view value) {
    word(value.size());
    text_.append(value);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

class BlobReader {
 public:
  /// A short blob throws Error(`mpi_class`, "`name` is cut short").
  BlobReader(std::string_view text, int mpi_class, const char* name)
      : rest_(text), mpi_class_(mpi_class), name_(name) {}
  uint64_t word() {
    uint64_t value;
    std::memcpy(&value, some(sizeof value).data(), sizeof value);
    return value;
  }
  std::string text() { return std::string(some(word())); }
  [[nodiscard]] size_t left() const noexcept { return rest_.size(); }

 private:
  std::string_view some(uint64_t bytes) {
    if (bytes > rest_.size()) throw Error(mpi_class_, strf("%s is cut short", name_));
    const std::string_view found = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    return found;
  }
  std::string_view rest_;
  int mpi_class_;
  const char* name_;
};

}  // namespace tern
