// SPDX-License-Identifier: Apache-2.0
#include "rma/paths.hpp"

#include "base/copy.hpp"
#include "core/op.hpp"
#include "rma/copied.hpp"
#include "rma/device_elements.hpp"
#include "rma/element_array.hpp"
#include "rma/far_elements.hpp"
#include "rma/stripes.hpp"

namespace tern::rma {
namespace {

int copy_between(core::Process& process, const core::Data& from, const core::Data& to) noexcept {
  if (TERN_UNLIKELY(from.on_device() || to.on_device()) || !from.type->contiguous() ||
      !to.type->contiguous())
    return fail(core::copy(process, from, to));
  copy_bytes(to.first(), from.first(), from.bytes());
  return MPI_SUCCESS;
}

bool is_host_block(const core::Data& here, const TargetData& at) noexcept {
  return here.type->contiguous() && at.type->contiguous() && !here.on_device();
}

bool is_array(const core::Data* data, const core::Datatype& basic) noexcept {
  return data == nullptr || (data->type == &basic && !core::with_kind(*data).on_device());
}

bool are_arrays(const core::Data* origin, const core::Data* result, const TargetData& at,
                const Element& element) noexcept {
  return at.type == element.basic && is_array(origin, *element.basic) &&
         is_array(result, *element.basic);
}

Operands operands_of(const core::Data* origin, const core::Data* result) noexcept {
  return {origin == nullptr ? nullptr : static_cast<std::byte*>(origin->address),
          result == nullptr ? nullptr : static_cast<std::byte*>(result->address)};
}

/// apply_laid_out() accepts any layout on both sides.
int apply_laid_out(core::Process& process, ElementMemory& there, const core::Data* origin,
                   const core::Data* result, const TargetData& at, std::byte* address,
                   const Element& element) {
  constexpr size_t kPieces = 64;
  const core::Data none{nullptr, 0, element.basic, cuda::MemoryKind::kHost};
  ElementArray in(process, origin != nullptr ? *origin : none, *element.basic);
  ElementArray out(process, result != nullptr ? *result : none, *element.basic);
  int code = origin != nullptr ? in.load() : MPI_SUCCESS;
  const auto operands = [&](size_t index) {
    const size_t offset = index * element.extent;
    return Operands{origin != nullptr ? in.data() + offset : nullptr,
                    result != nullptr ? out.data() + offset : nullptr};
  };
  const size_t total = static_cast<size_t>(at.count * at.type->size());
  if (at.type == element.basic || (at.type->contiguous() && !element.padded())) {
    if (code == MPI_SUCCESS)
      code = there.apply(address + at.type->true_lb(), total / element.size, element, operands(0));
  } else {
    iovec pieces[kPieces];
    for (size_t done = 0, covered = 0; done < total && code == MPI_SUCCESS; done += covered) {
      const size_t count =
          at.type->pieces(address, at.count, done, total - done, pieces, kPieces, &covered);
      const size_t first = (done + element.size - 1) / element.size;
      code = there.apply(pieces, count, done, element, operands(first));
    }
  }
  return code == MPI_SUCCESS && result != nullptr ? out.store() : code;
}

int apply_all(core::Process& process, ElementMemory& there, const core::Data* origin,
              const core::Data* result, const TargetData& at, std::byte* address,
              const Element& element) {
  if (are_arrays(origin, result, at, element))
    return there.apply(address, static_cast<size_t>(at.count), element,
                       operands_of(origin, result));
  return apply_laid_out(process, there, origin, result, at, address, element);
}

}  // namespace

int MappedPath::put(const core::Data& origin, const TargetData& to, const Reached& reached,
                    OpRequest*) {
  const core::Data there{reached.address, to.count, to.type, targets_[to.target].kind()};
  return copy_between(targets_.process(), core::with_kind(origin), core::with_kind(there));
}

int MappedPath::get(const core::Data& origin, const TargetData& from, const Reached& reached,
                    OpRequest*) {
  const core::Data there{reached.address, from.count, from.type, targets_[from.target].kind()};
  return copy_between(targets_.process(), core::with_kind(there), core::with_kind(origin));
}

int MappedPath::accumulate(const core::Data* origin, const core::Data* result, const TargetData& at,
                           const Reached& reached, const Element& element, OpRequest*) {
  MappedElements there(targets_.elements_of(at.target));
  return apply_all(targets_.process(), there, origin, result, at, reached.address, element);
}

int MappedPath::compare_and_swap(const void* origin, const void* compare, void* result,
                                 const TargetData& at, const Reached& reached) {
  return MappedElements(targets_.elements_of(at.target))
      .compare_and_swap(reached.address, static_cast<size_t>(at.type->size()), compare, origin,
                        result);
}

int DevicePath::accumulate(const core::Data* origin, const core::Data* result, const TargetData& at,
                           const Reached& reached, const Element& element, OpRequest*) {
  DeviceElements there(targets_.elements_of(at.target), targets_.process());
  return apply_all(targets_.process(), there, origin, result, at, reached.address, element);
}

int DevicePath::compare_and_swap(const void* origin, const void* compare, void* result,
                                 const TargetData& at, const Reached& reached) {
  return DeviceElements(targets_.elements_of(at.target), targets_.process())
      .compare_and_swap(reached.address, static_cast<size_t>(at.type->size()), compare, origin,
                        result);
}

/// judge() names the target in the error if the target has died.
int CopiedPath::judge(int target, int code) noexcept {
  if (TERN_LIKELY(code == MPI_SUCCESS) || !targets_.has_died(target)) return code;
  return fail(targets_.process().deaths.lost_class(MPI_ERR_OTHER),
              "%s has ended, and so has the memory in %s", targets_.rank_in_words(target).c_str(),
              targets_.words().c_str());
}

int CopiedPath::put(const core::Data& origin, const TargetData& to, const Reached& reached,
                    OpRequest*) {
  int code = MPI_SUCCESS;
  const core::Data from = core::with_kind(origin);
  if (is_host_block(from, to) && boxes_.put(to.target, reached.address + to.type->true_lb(),
                                            from.first(), from.bytes(), &code))
    return code;
  return judge(to.target, copy_there(targets_.process(), from, to, reached.address,
                                     targets_[to.target].process));
}

int CopiedPath::get(const core::Data& origin, const TargetData& from, const Reached& reached,
                    OpRequest*) {
  int code = MPI_SUCCESS;
  const core::Data to = core::with_kind(origin);
  if (is_host_block(to, from) && boxes_.get(from.target, reached.address + from.type->true_lb(),
                                            to.first(), to.bytes(), &code))
    return code;
  return judge(from.target, copy_from_there(targets_.process(), from, reached.address,
                                            targets_[from.target].process, to));
}

int CopiedPath::accumulate(const core::Data* origin, const core::Data* result, const TargetData& at,
                           const Reached& reached, const Element& element, OpRequest*) {
  int code = MPI_SUCCESS;
  if (are_arrays(origin, result, at, element) &&
      boxes_.accumulate(at.target, reached.address, static_cast<size_t>(at.count), element,
                        operands_of(origin, result), &code))
    return code;
  FarElements there(targets_.elements_of(at.target), targets_[at.target].process);
  return judge(at.target,
               apply_all(targets_.process(), there, origin, result, at, reached.address, element));
}

int CopiedPath::compare_and_swap(const void* origin, const void* compare, void* result,
                                 const TargetData& at, const Reached& reached) {
  int code = MPI_SUCCESS;
  const auto bytes = static_cast<size_t>(at.type->size());
  if (boxes_.swap(at.target, reached.address, bytes, compare, origin, result, &code)) return code;
  FarElements there(targets_.elements_of(at.target), targets_[at.target].process);
  return judge(at.target, there.compare_and_swap(reached.address, bytes, compare, origin, result));
}

}  // namespace tern::rma
