// SPDX-License-Identifier: Apache-2.0
// View: the blocks of a caller's buffer as packed bytes.
#pragma once

#include <algorithm>
#include <cstddef>

#include "base/copy.hpp"
#include "coll/engine/operation.hpp"

namespace tern::coll {

class View {
 public:
  View() = default;
  explicit View(const Side& side) noexcept
      : type_(side.type), base_(static_cast<std::byte*>(side.address)), count_(side.count) {
    if (type_ == nullptr) return;
    bytes_ = static_cast<size_t>(count_) * static_cast<size_t>(type_->size());
    step_ = count_ * type_->extent();
    dense_ = type_->contiguous();
    if (dense_) base_ += type_->true_lb();
  }

  [[nodiscard]] size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool adjacent() const noexcept {
    return dense_ && step_ == static_cast<MPI_Aint>(bytes_);
  }
  [[nodiscard]] bool dense() const noexcept { return dense_; }
  /// at() requires a dense view.
  [[nodiscard]] std::byte* at(int block, size_t offset = 0) const noexcept {
    return base_ + block * step_ + offset;
  }
  void read(int block, size_t offset, void* to, size_t bytes) const noexcept {
    if (bytes == 0) return;
    if (dense_)
      copy_bytes(to, at(block, offset), bytes);
    else
      type_->pack(at(block), count_, offset, to, bytes);
  }
  void write(int block, size_t offset, const void* from, size_t bytes) const noexcept {
    if (bytes == 0) return;
    if (dense_)
      copy_bytes(at(block, offset), from, bytes);
    else
      type_->unpack(at(block), count_, offset, from, bytes);
  }

 private:
  core::Datatype* type_ = nullptr;
  std::byte* base_ = nullptr;
  MPI_Count count_ = 0;
  size_t bytes_ = 0;
  MPI_Aint step_ = 0;
  bool dense_ = false;
};

}  // namespace tern::coll
