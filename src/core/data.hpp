// SPDX-License-Identifier: Apache-2.0
// The data of a call: address, count, datatype and memory kind.
#pragma once

#include <cstddef>

#include "core/datatype.hpp"
#include "cuda/memory.hpp"
#include "mpi.h"

namespace tern::core {

struct Data {
  void* address = nullptr;
  MPI_Count count = 0;
  Datatype* type = nullptr;
  cuda::MemoryKind kind = cuda::MemoryKind::kUnknown;
  [[nodiscard]] size_t bytes() const noexcept {
    return static_cast<size_t>(count) * static_cast<size_t>(type->size());
  }
  /// For types with absolute addresses (MPI_BOTTOM), `address` is 0.
  [[nodiscard]] std::byte* first() const noexcept {
    return static_cast<std::byte*>(address) + type->true_lb();
  }
  [[nodiscard]] bool on_device() const noexcept { return cuda::on_device(kind); }
  void ask() noexcept {
    if (kind == cuda::MemoryKind::kUnknown)
      kind = count == 0 ? cuda::MemoryKind::kHost : cuda::kind_of(first());
  }
};

[[nodiscard]] inline Data with_kind(Data data) noexcept {
  data.ask();
  return data;
}

}  // namespace tern::core
