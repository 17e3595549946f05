// SPDX-License-Identifier: Apache-2.0
#include "stream/elements.hpp"

#include "base/error.hpp"
#include "mpi.h"

namespace tern::stream {
namespace {

bool is_dense(const core::Datatype& type) noexcept {
  return type.contiguous() && type.true_lb() == 0 && type.lb() == 0 && type.extent() == type.size();
}

}  // namespace

Elements elements_of(core::Process& process, const coll::Operation& operation,
                     core::Datatype& type) {
  core::Datatype& byte = core::predefined_type(process, MPI_BYTE);
  if (operation.op == nullptr) return {&byte, 1, type.size(), &type, 1};
  const auto extent = static_cast<size_t>(type.extent());
  if (is_dense(type)) return {&type, extent, 1, &type, 1};
  // Pairs with a gap in C move as bytes, gap included.
  if (type.number() != Number::kNone) return {&type, extent, 1, &byte, type.extent()};
  auto* const basic = const_cast<core::Datatype*>(type.basic());
  if (!operation.op->user_defined() && basic != nullptr && is_dense(*basic))
    return {basic, static_cast<size_t>(basic->size()), type.size() / basic->size(), &type, 1};
  throw Error(MPI_ERR_TYPE,
              strf("%s on a type with holes (%lld bytes of data in %lld) cannot be enqueued; pack "
                   "the data, or use a type without holes",
                   operation.op->name(), static_cast<long long>(type.size()),
                   static_cast<long long>(type.extent())));
}

}  // namespace tern::stream
