// SPDX-License-Identifier: Apache-2.0
// ElementArray: operands of an accumulate as an array in host memory. Threads: any.
#pragma once

#include <cstddef>
#include <vector>

#include "core/device_copy.hpp"

namespace tern::rma {

/// Refers to the data itself, or to a copy. Throws std::bad_alloc.
class ElementArray {
 public:
  ElementArray(core::Process& process, const core::Data& data, core::Datatype& basic);
  [[nodiscard]] std::byte* data() noexcept { return data_; }
  /// load() and store() return 0, or an error class with fail() text.
  [[nodiscard]] int load() noexcept;
  [[nodiscard]] int store() noexcept;

 private:
  core::Process& process_;
  const core::Data of_;
  core::Data array_;
  std::byte* data_;
  std::vector<std::byte> copy_;
};

}  // namespace tern::rma
