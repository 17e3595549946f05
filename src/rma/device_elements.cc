// SPDX-License-Identifier: Apache-2.0
// Elements on a device: stages at most one stripe on the host.
#include "rma/device_elements.hpp"

#include <cstring>
#include <new>
#include <vector>

#include "base/error.hpp"
#include "core/device_copy.hpp"
#include "core/process.hpp"
#include "mpi.h"
#include "rma/held_stripe.hpp"

namespace tern::rma {
namespace {

core::Data bytes_at(core::Process& process, void* at, size_t bytes,
                    cuda::MemoryKind kind) noexcept {
  return {at, static_cast<MPI_Count>(bytes), &core::predefined_type(process, MPI_BYTE), kind};
}

int download(core::Process& process, void* from, void* to, size_t bytes) noexcept {
  return fail(core::copy(process, bytes_at(process, from, bytes, cuda::MemoryKind::kUnknown),
                         bytes_at(process, to, bytes, cuda::MemoryKind::kHost)));
}

int upload(core::Process& process, void* from, void* to, size_t bytes) noexcept {
  return fail(core::copy(process, bytes_at(process, from, bytes, cuda::MemoryKind::kHost),
                         bytes_at(process, to, bytes, cuda::MemoryKind::kUnknown)));
}

int apply_there(core::Process& process, std::byte* at, size_t count, const Element& element,
                const Operands& operands, size_t bytes) noexcept {
  const auto elements = static_cast<MPI_Count>(count);
  if (operands.result != nullptr)
    if (const int code = download(process, at, operands.result, bytes); code != MPI_SUCCESS)
      return code;
  if (operands.in == nullptr) return MPI_SUCCESS;
  const core::Data in{const_cast<std::byte*>(operands.in), elements, element.basic,
                      cuda::MemoryKind::kHost};
  const core::Data there{at, elements, element.basic};
  if (element.op->reduction() == Reduction::kReplace) return fail(core::copy(process, in, there));
  const core::Data sources[] = {in, there};
  return fail(core::reduce(process, *element.op, sources, 2, there));
}

int apply_staged(core::Process& process, const Shared& shared, std::byte* at, size_t count,
                 const Element& element, const Operands& operands,
                 std::vector<std::byte>* room) noexcept {
  const size_t bytes = (count - 1) * element.extent + element.span;
  const HeldStripe held(shared, at);
  if (held.code() != MPI_SUCCESS) return held.code();
  if (element.is_aligned(at)) return apply_there(process, at, count, element, operands, bytes);
  int code = download(process, at, room->data(), bytes);
  if (code != MPI_SUCCESS) return code;
  apply_held(room->data(), count, element, operands);
  return operands.in == nullptr ? MPI_SUCCESS : upload(process, room->data(), at, bytes);
}

}  // namespace

int DeviceElements::apply(std::byte* at, size_t count, const Element& element,
                          const Operands& operands) noexcept {
  Operands rest = operands;
  std::vector<std::byte> room;
  while (count > 0) {
    const size_t few =
        HeldStripe::count_under(HeldStripe::place_of(shared_, at), count, element.extent);
    const size_t bytes = few * element.extent;
    try {
      if (room.size() < bytes) room.resize(bytes);
    } catch (const std::bad_alloc&) {
      return fail(MPI_ERR_NO_MEM, "no memory for %zu bytes of a window on a device", bytes);
    }
    const int code = apply_staged(process_, shared_, at, few, element, rest, &room);
    if (code != MPI_SUCCESS) return code;
    at += bytes;
    rest = rest.behind(bytes);
    count -= few;
  }
  return MPI_SUCCESS;
}

int DeviceElements::compare_and_swap(std::byte* at, size_t bytes, const void* compare,
                                     const void* value, void* result) noexcept {
  const HeldStripe held(shared_, at);
  if (held.code() != MPI_SUCCESS) return held.code();
  std::byte old[Element::kMostExtent], next[Element::kMostExtent];
  std::memcpy(next, value, bytes);
  int code = download(process_, at, old, bytes);
  if (code == MPI_SUCCESS && std::memcmp(old, compare, bytes) == 0)
    code = upload(process_, next, at, bytes);
  std::memcpy(result, old, bytes);
  return code;
}

}  // namespace tern::rma
