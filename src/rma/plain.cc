// SPDX-License-Identifier: Apache-2.0
// Operations as most calls are: blocks, or elements of one predefined type, in memory of the host,
// at a target whose memory this process maps, in an epoch that is open. Everything is looked at
// once; what is otherwise, or wrong, is left to operations.cc.
#include <cstring>

#include "base/copy.hpp"
#include "core/op.hpp"
#include "rma/held_stripe.hpp"
#include "rma/window.hpp"

namespace tern::rma {
namespace {

// The C library's way: no other rank waits for these bytes at this moment, as one does for a
// message's.
void copy_block(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  if (bytes <= 64) return copy_few(to, from, bytes);
  std::memcpy(to, from, bytes);
}

bool is_host_block(const core::Data& data) noexcept { return !core::with_kind(data).on_device(); }

std::byte* array_of(const core::Data* data) noexcept {
  return data == nullptr ? nullptr : static_cast<std::byte*>(data->address);
}

/// Whether it is an array of as many elements as the target's.
bool is_array_like(const core::Data* data, const Place& at) noexcept {
  return data == nullptr ||
         (data->type == at.type && data->count == at.count && is_host_block(*data));
}

bool is_aligned(const core::Datatype& type, const void* at) noexcept {
  return (reinterpret_cast<uintptr_t>(at) & (static_cast<size_t>(type.alignment()) - 1)) == 0;
}

}  // namespace

/// Where `length` bytes from the first element's origin on are; null where not all are in the part.
inline std::byte* Window::find_plain(const Place& at, size_t length) noexcept {
  if (static_cast<size_t>(at.target) >= targets_.size()) return nullptr;
  const Target& there = target(at.target);
  if (TERN_UNLIKELY(log_ != nullptr)) return nullptr;
  if (there.memory == nullptr || !epoch_.is_open_to(at.target)) return nullptr;
  int64_t offset = 0;
  if (__builtin_mul_overflow(int64_t{at.disp}, there.unit, &offset) || offset < 0 ||
      offset > there.size || length > static_cast<size_t>(there.size - offset))
    return nullptr;
  return there.memory + offset;
}

inline void Window::count_mapped() noexcept {
  process_.window_operations.add_to(process_.window_operations.mapped);
}

/// Likewise, of blocks on both sides.
inline std::byte* Window::find_block(const core::Data& here, const Place& at,
                                     size_t* length) noexcept {
  MPI_Count all = 0, own = 0;
  if (!at.type->contiguous() || !here.type->contiguous() || at.type->true_lb() != 0 ||
      __builtin_mul_overflow(at.count, at.type->size(), &all) ||
      __builtin_mul_overflow(here.count, here.type->size(), &own) || own != all)
    return nullptr;
  *length = static_cast<size_t>(all);
  return is_host_block(here) ? find_plain(at, *length) : nullptr;
}

int Window::put(const core::Data& origin, const Place& to, OpRequest* request) noexcept {
  size_t length = 0;
  std::byte* const there = request == nullptr ? find_block(origin, to, &length) : nullptr;
  if (TERN_UNLIKELY(there == nullptr)) return put_any(origin, to, request);
  count_mapped();
  copy_block(there, origin.first(), length);
  return MPI_SUCCESS;
}

int Window::get(const core::Data& origin, const Place& from, OpRequest* request) noexcept {
  size_t length = 0;
  const std::byte* const there = request == nullptr ? find_block(origin, from, &length) : nullptr;
  if (TERN_UNLIKELY(there == nullptr)) return get_any(origin, from, request);
  count_mapped();
  copy_block(origin.first(), there, length);
  return MPI_SUCCESS;
}

/// `origin` or `result` may be null: nothing goes that way.
[[gnu::always_inline]] inline Window::Elements Window::find_elements(const core::Data* origin,
                                                                     const core::Data* result,
                                                                     const Place& at,
                                                                     const core::Op& op) noexcept {
  const core::Datatype& type = *at.type;
  const core::Op::Loop loop = op.loop(type);
  if (loop == nullptr || !type.predefined() || !type.contiguous() ||
      static_cast<uint64_t>(at.count) > HeldStripe::kBytes || !is_array_like(origin, at) ||
      !is_array_like(result, at))
    return {};
  const size_t length = static_cast<size_t>(at.count * type.size());
  std::byte* const there = find_plain(at, length);
  if (TERN_UNLIKELY(there == nullptr) || !is_aligned(type, there) ||
      !is_aligned(type, array_of(origin)) || !is_under_one_stripe(at.target, there, length))
    return {};
  return {there, length, loop};
}

inline bool Window::is_under_one_stripe(int target_rank, const std::byte* at,
                                        size_t length) noexcept {
  const auto place = static_cast<uint64_t>(at - target(target_rank).memory);
  return place % HeldStripe::kBytes + length <= HeldStripe::kBytes;
}

inline Shared Window::shared_with(int target_rank) noexcept {
  const Target& part = target(target_rank);
  return {part.control, part.memory, pid_};
}

int Window::accumulate(const core::Data& origin, const Place& to, const core::Op& op,
                       OpRequest* request) noexcept {
  const bool plain = request == nullptr && op.reduction() != Reduction::kNoOp;
  const Elements there = plain ? find_elements(&origin, nullptr, to, op) : Elements{};
  if (TERN_UNLIKELY(there.first == nullptr)) return accumulate_any(origin, to, op, request);
  count_mapped();
  const HeldStripe held(shared_with(to.target), there.first);
  if (TERN_LIKELY(held.code() == MPI_SUCCESS))
    there.loop(array_of(&origin), there.first, static_cast<size_t>(to.count));
  return held.code();
}

int Window::get_accumulate(const core::Data& origin, const core::Data& result, const Place& at,
                           const core::Op& op, OpRequest* request) noexcept {
  const core::Data* const in = op.reduction() == Reduction::kNoOp ? nullptr : &origin;
  const Elements there = request == nullptr ? find_elements(in, &result, at, op) : Elements{};
  if (TERN_UNLIKELY(there.first == nullptr))
    return get_accumulate_any(origin, result, at, op, request);
  count_mapped();
  const HeldStripe held(shared_with(at.target), there.first);
  if (TERN_UNLIKELY(held.code() != MPI_SUCCESS)) return held.code();
  copy_block(array_of(&result), there.first, there.length);
  if (in != nullptr) there.loop(array_of(in), there.first, static_cast<size_t>(at.count));
  return MPI_SUCCESS;
}

int Window::compare_and_swap(const void* origin, const void* compare, void* result,
                             const Place& at) noexcept {
  const auto length = static_cast<size_t>(at.type->size());
  std::byte* const there = find_plain(at, length);
  if (TERN_UNLIKELY(there == nullptr)) return compare_and_swap_any(origin, compare, result, at);
  count_mapped();
  return rma::compare_and_swap(shared_with(at.target), there, length, compare, origin, result);
}

}  // namespace tern::rma
