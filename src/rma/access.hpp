// SPDX-License-Identifier: Apache-2.0
// What an operation reaches at its target, and how an accumulate combines elements there.
#pragma once

#include <cstdint>
#include <new>
#include <vector>

#include "base/error.hpp"
#include "rma/stripes.hpp"
#include "rma/window.hpp"

namespace tern::rma {

/// Where an operation goes.
struct Window::Reached {
  bool nothing = false;          // no element, or MPI_PROC_NULL
  bool by_messages = false;      // this rank does not reach the part itself
  int64_t at = 0;                // of the first element's origin: bytes from the part's first
  std::byte* address = nullptr;  // the same in memory, where this rank reaches the part itself:
  int32_t process = 0;           // in its own memory, or in this process', by the kernel
};

/// An operation on elements of one predefined type.
struct Window::Combination {
  Element element;
  core::Datatype* basic = nullptr;
  Reduction reduction = Reduction::kNoOp;
};

/// What may lack memory.
template <class Work>
int with_memory(Work&& work) noexcept {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for a one-sided operation");
  }
}

/// Elements as an array, for loops: the data itself where it is one in host memory, else a copy.
/// Throws std::bad_alloc.
class ElementArray {
 public:
  ElementArray(core::Process& process, const core::Data& data, core::Datatype& basic);
  [[nodiscard]] std::byte* data() noexcept { return data_; }
  /// From the data; and back to it. 0, or an error class with fail() text.
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
