// SPDX-License-Identifier: Apache-2.0
// Datatype: packing, pieces, and counts of basic elements.
#include "core/datatype.hpp"

#include <cstring>
#include <vector>

#include "core/datatype_copy.hpp"
#include "core/datatype_recipe.hpp"
#include "core/datatype_walk.hpp"

namespace tern::core {
namespace {

class PieceList {
 public:
  PieceList(iovec* out, size_t most) noexcept : out_(out), most_(most) {}

  [[nodiscard]] bool full() const noexcept { return full_; }
  [[nodiscard]] size_t used() const noexcept { return used_; }
  [[nodiscard]] size_t covered() const noexcept { return covered_; }

  void run(uintptr_t at, int64_t length) noexcept {
    if (full_) return;
    const size_t bytes = static_cast<size_t>(length);
    if (used_ > 0 && at == end_) {
      out_[used_ - 1].iov_len += bytes;
    } else if (used_ < most_) {
      out_[used_++] = {reinterpret_cast<void*>(at), bytes};
    } else {
      full_ = true;
      return;
    }
    end_ = at + bytes;
    covered_ += bytes;
  }
  void strided(uintptr_t at, int64_t stride, int64_t block, int64_t count) noexcept {
    for (int64_t i = 0; i < count && !full_; ++i)
      run(at + static_cast<uintptr_t>(i * stride), block);
  }
  void grid(uintptr_t at, int64_t rows, int64_t row_stride, int64_t count, int64_t stride,
            int64_t block) noexcept {
    for (int64_t row = 0; row < rows && !full_; ++row)
      strided(at + static_cast<uintptr_t>(row * row_stride), stride, block, count);
  }
  void listed(uintptr_t origin, const int64_t* places, int64_t count, int64_t block) noexcept {
    for (int64_t i = 0; i < count && !full_; ++i)
      run(origin + static_cast<uintptr_t>(places[i]), block);
  }
  void blocks(uintptr_t origin, const int64_t* places, const int64_t* starts,
              int64_t count) noexcept {
    for (int64_t i = 0; i < count && !full_; ++i)
      run(origin + static_cast<uintptr_t>(places[i]), starts[i + 1] - starts[i]);
  }

  void records(uintptr_t at, int64_t stride, int64_t count, const int64_t* places,
               const int64_t* starts, int64_t blocks_of_one) noexcept {
    for (int64_t i = 0; i < count && !full_; ++i)
      blocks(at + static_cast<uintptr_t>(i * stride), places, starts, blocks_of_one);
  }

 private:
  iovec* out_;
  size_t most_;
  size_t used_ = 0;
  size_t covered_ = 0;
  uintptr_t end_ = 0;
  bool full_ = false;
};

MPI_Count value_bytes(const Datatype& type) noexcept {
  if (type.number() < Number::kFloatInt || type.number() > Number::kDoubleDouble) return 0;
  return type.number() >= Number::kFloatFloat ? type.size() / 2 : type.size() - 4;
}

MPI_Count elements_in_one(const Datatype& type, MPI_Count bytes) noexcept {
  const std::vector<Ref<Datatype>>& types = type.recipe().types;
  const std::vector<MPI_Count>& repeats = type.recipe().repeats;
  if (types.empty()) return value_bytes(type) == bytes ? 1 : -1;
  if (repeats.empty()) return types[0]->elements_in(bytes);
  MPI_Count elements = 0;
  for (size_t i = 0; i < types.size() && bytes > 0; ++i) {
    const MPI_Count part = repeats[i] * types[i]->size();
    if (bytes < part) {
      const MPI_Count last = types[i]->elements_in(bytes);
      return last < 0 ? -1 : elements + last;
    }
    elements += repeats[i] * types[i]->elements();
    bytes -= part;
  }
  return elements;
}

MPI_Count bytes_of_one(const Datatype& type, MPI_Count elements) noexcept {
  const std::vector<Ref<Datatype>>& types = type.recipe().types;
  const std::vector<MPI_Count>& repeats = type.recipe().repeats;
  if (types.empty()) return elements == 1 ? value_bytes(type) : 0;
  if (repeats.empty()) return types[0]->bytes_of(elements);
  MPI_Count bytes = 0;
  for (size_t i = 0; i < types.size() && elements > 0; ++i) {
    const MPI_Count part = repeats[i] * types[i]->elements();
    if (elements < part) return bytes + types[i]->bytes_of(elements);
    bytes += repeats[i] * types[i]->size();
    elements -= part;
  }
  return bytes;
}

}  // namespace

Datatype::~Datatype() = default;

template <class Visitor>
void Datatype::visit(const void* buf, MPI_Count count, size_t offset, size_t bytes,
                     Visitor& visitor) const noexcept {
  if (bytes == 0 || !layout_.node) return;
  const uintptr_t origin = reinterpret_cast<uintptr_t>(buf) + static_cast<uintptr_t>(layout_.at);
  const int64_t from = static_cast<int64_t>(offset);
  const int64_t to = from + static_cast<int64_t>(bytes);
  Walk<Visitor> walk(visitor);
  if (contiguous_)
    visitor.run(origin + offset, static_cast<int64_t>(bytes));
  else if (count == 1)
    walk.range(*layout_.node, origin, from, to);
  else
    walk.strided(count, extent_, *layout_.node, origin, from, to);
}

void Datatype::pack(const void* buf, MPI_Count count, size_t offset, void* out,
                    size_t bytes) const noexcept {
  Copier<true> copier(static_cast<char*>(out), count * size_);
  visit(buf, count, offset, bytes, copier);
}

void Datatype::unpack(void* buf, MPI_Count count, size_t offset, const void* in,
                      size_t bytes) const noexcept {
  Copier<false> copier(static_cast<const char*>(in), count * size_);
  visit(buf, count, offset, bytes, copier);
}

size_t Datatype::pieces(const void* buf, MPI_Count count, size_t offset, size_t limit, iovec* out,
                        size_t most, size_t* covered) const noexcept {
  const size_t total = static_cast<size_t>(count * size_);
  limit = offset < total ? std::min(limit, total - offset) : 0;
  PieceList list(out, most);
  visit(buf, count, offset, limit, list);
  *covered = list.covered();
  return list.used();
}

MPI_Count Datatype::elements_in(MPI_Count bytes) const noexcept {
  if (size_ <= 0) return 0;
  const MPI_Count whole = bytes / size_;
  const MPI_Count rest = bytes % size_;
  if (rest == 0) return whole * elements_;
  const MPI_Count more = elements_in_one(*this, rest);
  return more < 0 ? -1 : whole * elements_ + more;
}

MPI_Count Datatype::bytes_of(MPI_Count elements) const noexcept {
  if (elements_ == 0) return 0;
  const MPI_Count rest = elements % elements_;
  return elements / elements_ * size_ + (rest == 0 ? 0 : bytes_of_one(*this, rest));
}

}  // namespace tern::core
