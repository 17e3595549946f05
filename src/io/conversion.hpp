// SPDX-License-Identifier: Apache-2.0
// Conversion: a buffer in the representation of the file.
// Threads: conversion functions run in the user's thread.
#pragma once

#include <memory>

#include "io/memory.hpp"
#include "io/view.hpp"

namespace tern::io {

class Conversion {
 public:
  /// Allocates the bytes in the file's form. Throws std::bad_alloc. An error of the
  /// representation waits for to_file() or from_file(), because other ranks expect a meeting.
  Conversion(core::Process& process, const core::Data& data, std::shared_ptr<const View> view);

  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] Memory memory() const noexcept { return {process_, bytes_of_file_.get()}; }
  /// The bytes in memory of the whole elements among `bytes` of the file.
  [[nodiscard]] MPI_Count bytes_in_memory(size_t bytes) const noexcept {
    return element_ == 0 ? 0 : static_cast<MPI_Count>(bytes / element_) * type_->size();
  }
  // These functions return an error class with fail() text.
  [[nodiscard]] int to_file() noexcept;
  /// Converts the whole elements among the first `bytes`. *moved gets their bytes in memory.
  [[nodiscard]] int from_file(size_t bytes, MPI_Count* moved) noexcept;

 private:
  core::Process& process_;
  const core::Data data_;
  const core::Ref<core::Datatype> type_;
  const std::shared_ptr<const View> view_;
  Failure failed_;
  const size_t element_, bytes_;
  const std::unique_ptr<std::byte[]> bytes_of_file_;
};

}  // namespace tern::io
