// SPDX-License-Identifier: Apache-2.0
// Memory: the packed bytes of a caller's buffer, in host or device memory.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>

#include "base/error.hpp"
#include "core/data.hpp"
#include "core/datatype_order.hpp"
#include "core/device_copy.hpp"

namespace tern::io {

class Memory {
 public:
  Memory(core::Process& process, const core::Data& data) noexcept
      : process_(&process), data_(core::with_kind(data)) {
    if (data_.count > 0 && !data_.on_device() && is_block()) block_ = data_.first();
  }
  /// Bytes in host memory.
  Memory(core::Process& process, std::byte* block) noexcept : process_(&process), block_(block) {}

  [[nodiscard]] core::Process& process() const noexcept { return *process_; }
  [[nodiscard]] const core::Data& data() const noexcept { return data_; }
  /// The packed bytes, if they form a block of host memory, otherwise null.
  [[nodiscard]] std::byte* block() const noexcept { return block_; }
  /// The packed bytes, if they form a block of memory that only devices access, otherwise null.
  [[nodiscard]] std::byte* device_block() const noexcept {
    return data_.kind == cuda::MemoryKind::kDevice && is_block() ? data_.first() : nullptr;
  }
  /// Bytes of device_block().
  [[nodiscard]] Memory of_device_block(size_t offset, size_t bytes) const noexcept {
    core::Data data;
    data.address = device_block() + offset;
    data.count = static_cast<MPI_Count>(bytes);
    data.type = &core::predefined_type(*process_, MPI_BYTE);
    data.kind = data_.kind;
    return {*process_, data};
  }
  [[nodiscard]] bool on_host() const noexcept { return block_ != nullptr || !data_.on_device(); }

  /// The mean bytes of a part in host memory.
  [[nodiscard]] size_t mean_part() const noexcept {
    if (mean_part_ == 0) {
      const int64_t blocks = core::order_of(data_.type->layout()).blocks;
      mean_part_ =
          std::max<size_t>(1, blocks == 0 ? 0 : static_cast<size_t>(data_.type->size() / blocks));
    }
    return mean_part_;
  }
  [[nodiscard]] Failure get(size_t offset, void* to, size_t bytes) const noexcept {
    return core::pack(*process_, data_, offset, to, bytes, cuda::MemoryKind::kHost);
  }
  [[nodiscard]] Failure put(size_t offset, const void* from, size_t bytes) const noexcept {
    return core::unpack(*process_, data_, offset, from, bytes, cuda::MemoryKind::kHost);
  }
  /// For memory without block() on the host: see Datatype::pieces.
  size_t pieces(size_t offset, size_t limit, iovec* out, size_t most,
                size_t* covered) const noexcept {
    return data_.type->pieces(data_.address, data_.count, offset, limit, out, most, covered);
  }

 private:
  [[nodiscard]] bool is_block() const noexcept {
    const core::PlacedLayout& layout = data_.type->layout();
    return data_.type->contiguous() || (data_.count == 1 && layout.node && layout.node->block());
  }

  core::Process* process_;
  core::Data data_;
  std::byte* block_ = nullptr;
  mutable size_t mean_part_ = 0;  // 0: unknown
};

}  // namespace tern::io
