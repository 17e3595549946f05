// SPDX-License-Identifier: Apache-2.0
#include "rma/element_array.hpp"

namespace tern::rma {

ElementArray::ElementArray(core::Process& process, const core::Data& data, core::Datatype& basic)
    : process_(process), of_(core::with_kind(data)) {
  const bool padded = basic.size() != basic.extent();
  const bool is_array = of_.type == &basic || (of_.type->contiguous() && !padded);
  data_ = of_.first();
  if (is_array && !of_.on_device()) return;
  const auto count = static_cast<MPI_Count>(of_.bytes() / static_cast<size_t>(basic.size()));
  copy_.resize(static_cast<size_t>(count) * static_cast<size_t>(basic.extent()));
  data_ = copy_.data();
  array_ = {data_, count, &basic, cuda::MemoryKind::kHost};
}

int ElementArray::load() noexcept {
  return copy_.empty() ? MPI_SUCCESS : fail(core::copy(process_, of_, array_));
}

int ElementArray::store() noexcept {
  return copy_.empty() ? MPI_SUCCESS : fail(core::copy(process_, array_, of_));
}

}  // namespace tern::rma
