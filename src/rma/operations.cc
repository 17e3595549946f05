// SPDX-License-Identifier: Apache-2.0
// Operations. The fast path serves blocks, or elements of one predefined type, in host memory at a
// mapped target; find_block() and find_elements() check the conditions. Other operations go through
// perform().
#include <cstring>
#include <new>

#include "base/copy.hpp"
#include "core/op.hpp"
#include "rma/held_stripe.hpp"
#include "rma/stripes.hpp"
#include "rma/window.hpp"

namespace tern::rma {
namespace {

// Uses memcpy, because no rank waits for these bytes.
inline void copy_block(std::byte* to, const std::byte* from, size_t bytes) noexcept {
  if (bytes == sizeof(uint64_t)) return void(std::memcpy(to, from, sizeof(uint64_t)));
  if (bytes <= 64) return copy_few(to, from, bytes);
  std::memcpy(to, from, bytes);
}

bool is_on_host(const core::Data& data) noexcept { return !core::with_kind(data).on_device(); }

bool is_on_host(const void* address) noexcept { return !cuda::on_device(cuda::kind_of(address)); }

std::byte* array_of(const core::Data* data) noexcept {
  return data == nullptr ? nullptr : static_cast<std::byte*>(data->address);
}

bool is_array_like(const core::Data* data, const TargetData& at) noexcept {
  return data == nullptr || (data->type == at.type && data->count == at.count && is_on_host(*data));
}

bool is_aligned(const core::Datatype& type, const void* at) noexcept {
  return (reinterpret_cast<uintptr_t>(at) & (static_cast<size_t>(type.alignment()) - 1)) == 0;
}

/// Returns null if not all bytes lie in the part.
inline std::byte* find_plain(Window& window, const TargetData& at, size_t length) noexcept {
  if (static_cast<unsigned>(at.target) >= static_cast<unsigned>(window.targets.size()))
    return nullptr;
  const Target& there = window.targets[at.target];
  if (TERN_UNLIKELY(window.accesses.log != nullptr)) return nullptr;
  if (there.memory == nullptr || !window.epoch.is_open_to(at.target)) return nullptr;
  int64_t offset = 0;
  if (__builtin_mul_overflow(int64_t{at.disp}, there.unit, &offset) || offset < 0 ||
      offset > there.size || length > static_cast<size_t>(there.size - offset))
    return nullptr;
  return there.memory + offset;
}

inline void count_mapped(Window& window) noexcept {
  auto& counts = window.targets.process().window_operations;
  counts.add_to(counts.mapped);
}

/// find_block() requires blocks on both sides.
inline std::byte* find_block(Window& window, const core::Data& here, const TargetData& at,
                             size_t* length) noexcept {
  MPI_Count all = 0, own = 0;
  if (!at.type->contiguous() || !here.type->contiguous() || at.type->true_lb() != 0 ||
      __builtin_mul_overflow(at.count, at.type->size(), &all) ||
      __builtin_mul_overflow(here.count, here.type->size(), &own) || own != all)
    return nullptr;
  *length = static_cast<size_t>(all);
  return is_on_host(here) ? find_plain(window, at, *length) : nullptr;
}

struct Elements {
  std::byte* first = nullptr;
  size_t length = 0;
  core::Op::Loop loop = nullptr;
  const Target* part = nullptr;
};

/// Avoids the lookups of Targets::elements_of().
inline Shared shared_with(const Window& window, const Target& part) noexcept {
  return {part.control, part.memory, window.targets.pid};
}

inline bool is_under_one_stripe(const Target& part, const std::byte* at, size_t length) noexcept {
  const auto place = static_cast<uint64_t>(at - part.memory);
  return place % HeldStripe::kBytes + length <= HeldStripe::kBytes;
}

[[gnu::always_inline]] inline Elements find_elements(Window& window, const core::Data* origin,
                                                     const core::Data* result, const TargetData& at,
                                                     const core::Op& op) noexcept {
  const core::Datatype& type = *at.type;
  const core::Op::Loop loop = op.loop(type);
  if (loop == nullptr || !type.predefined() || !type.contiguous() ||
      static_cast<uint64_t>(at.count) > HeldStripe::kBytes || !is_array_like(origin, at) ||
      !is_array_like(result, at))
    return {};
  const size_t length = static_cast<size_t>(at.count * type.size());
  std::byte* const there = find_plain(window, at, length);
  if (TERN_UNLIKELY(there == nullptr)) return {};
  const Target& part = window.targets[at.target];
  if (!is_aligned(type, there) || !is_aligned(type, array_of(origin)) ||
      !is_under_one_stripe(part, there, length))
    return {};
  return {there, length, loop, &part};
}

struct Span {
  int64_t low = 0, high = 0;
  bool overflows = false;
};

Span span_of(const TargetData& at, int64_t unit) noexcept {
  Span span;
  const core::Datatype& type = *at.type;
  int64_t origin = 0, all = 0;
  span.overflows = __builtin_mul_overflow(int64_t{at.disp}, unit, &origin) ||
                   __builtin_mul_overflow(at.count - 1, int64_t{type.extent()}, &all);
  const int64_t first = all < 0 ? all : 0, last = all < 0 ? 0 : all;
  span.overflows |= __builtin_add_overflow(first, int64_t{type.true_lb()}, &span.low);
  span.overflows |= __builtin_add_overflow(span.low, origin, &span.low);
  span.overflows |=
      __builtin_add_overflow(last, int64_t{type.true_lb()} + type.true_extent(), &span.high);
  span.overflows |= __builtin_add_overflow(span.high, origin, &span.high);
  return span;
}

/// A target using messages checks regions itself.
int find_attached(Window& window, const TargetData& at, uint64_t low, uint64_t length,
                  Reached* reached) {
  Targets& targets = window.targets;
  bool found = true;
  int code = MPI_SUCCESS;
  reached->at = at.disp;
  reached->address = reinterpret_cast<std::byte*>(at.disp);
  if (at.target == targets.rank())
    found = window.regions.attached(low, length);
  else if (targets[at.target].process != 0)
    code = window.regions.look_up(at.target, low, length, &found);
  if (code != MPI_SUCCESS || found) return code;
  return fail(MPI_ERR_RMA_RANGE, "memory from 0x%llx on is not attached to %s at rank %d",
              static_cast<unsigned long long>(low), targets.words().c_str(), at.target);
}

int find_part(Window& window, const TargetData& at, Reached* reached) {
  const Target& there = window.targets[at.target];
  const bool dynamic = window.targets.dynamic();
  const Span span = span_of(at, dynamic ? 1 : there.unit);
  if (dynamic && !span.overflows)
    return find_attached(window, at, static_cast<uint64_t>(span.low),
                         static_cast<uint64_t>(span.high - span.low), reached);
  if (TERN_UNLIKELY(span.overflows || span.low < 0 || span.high > there.size))
    return fail(MPI_ERR_RMA_RANGE,
                "the bytes %lld to %lld of rank %d's memory are outside %s, with %lld bytes there "
                "(target_disp is %lld, the unit %lld)",
                static_cast<long long>(span.low), static_cast<long long>(span.high), at.target,
                window.targets.words().c_str(), static_cast<long long>(there.size),
                static_cast<long long>(at.disp), static_cast<long long>(there.unit));
  reached->at = at.disp * there.unit;
  std::byte* const first = there.first();
  if (first != nullptr) reached->address = first + reached->at;
  return MPI_SUCCESS;
}

/// Checks epoch, target and bounds, and waits for MPI_Win_post. Returns 0, or an error class with
/// fail() text; throws std::bad_alloc.
int begin_access(Window& window, const TargetData& at, bool with_request, Reached* reached) {
  if (at.target == MPI_PROC_NULL) return MPI_SUCCESS;
  int code = window.targets.check(at.target);
  if (code == MPI_SUCCESS)
    code = with_request ? window.epoch.may_request(at.target) : window.epoch.use(at.target);
  if (code != MPI_SUCCESS || at.count == 0 || at.type->size() == 0) return code;
  code = find_part(window, at, reached);
  if (code == MPI_SUCCESS && TERN_UNLIKELY(window.epoch.reach(at.target) == Epoch::Reach::kStarted))
    code = window.posts.await_post(at.target);
  reached->path = window.targets[at.target].path;
  return code;
}

int check_bytes(const core::Data& one, const TargetData& at) noexcept {
  MPI_Count bytes = 0, own = 0;
  if (!__builtin_mul_overflow(at.count, at.type->size(), &bytes) &&
      !__builtin_mul_overflow(one.count, one.type->size(), &own) && own == bytes)
    return MPI_SUCCESS;
  return fail(MPI_ERR_TYPE,
              "%lld elements of %lld bytes on this side, but %lld elements of %lld bytes at the "
              "target",
              static_cast<long long>(one.count), static_cast<long long>(one.type->size()),
              static_cast<long long>(at.count), static_cast<long long>(at.type->size()));
}

int note(Window& window, const TargetData& at, const Reached& reached, Intent intent) noexcept {
  core::Process::WindowOperations::add_to(reached.path->counted);
  AccessLog* const log = window.accesses.log.get();
  return TERN_LIKELY(log == nullptr) ? MPI_SUCCESS : log->begin(at, reached.at, intent);
}

/// `moved` is the data of a put or get.
template <class Check, class Run>
int perform(Window& window, const TargetData& at, OpRequest* request, Intent intent,
            const core::Data* moved, Check&& check, Run&& run) noexcept {
  try {
    Reached reached;
    int code = begin_access(window, at, request != nullptr, &reached);
    if (code == MPI_SUCCESS && reached.path != nullptr) code = check();
    if (code != MPI_SUCCESS || reached.path == nullptr) return code;
    reached.path = &reached.path->carrier(moved, at, reached);
    code = note(window, at, reached, intent);
    return code == MPI_SUCCESS ? run(*reached.path, reached) : code;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for an operation on a window");
  }
}

/// Not inlined, so that the caller's fast path needs no stack frame.
[[gnu::noinline]] int move(Window& window, const core::Data& here, const TargetData& at,
                           OpRequest* request, Intent intent) noexcept {
  return perform(
      window, at, request, intent, &here, [&] { return check_bytes(here, at); },
      [&](Path& path, const Reached& reached) {
        return intent == Intent::kPut ? path.put(here, at, reached, request)
                                      : path.get(here, at, reached, request);
      });
}

/// A non-null `result` fetches.
[[gnu::noinline]] int update(Window& window, const core::Data* origin, const core::Data* result,
                             const TargetData& at, const core::Op& op,
                             OpRequest* request) noexcept {
  if (op.reduction() == Reduction::kNoOp && !op.user_defined()) {
    if (result == nullptr)
      return fail(MPI_ERR_OP, "MPI_NO_OP is for MPI_Get_accumulate and MPI_Fetch_and_op");
    origin = nullptr;
  }
  Element element;
  const auto check = [&] {
    int code = MPI_SUCCESS;
    for (const core::Data* const data : {result, origin})
      if (data != nullptr && code == MPI_SUCCESS) code = check_bytes(*data, at);
    for (const core::Data* const data : {origin, result})
      if (data != nullptr && code == MPI_SUCCESS)
        code = find_element(op, *data->type, *at.type, &element);
    return code;
  };
  return perform(window, at, request, Intent::kUpdate, nullptr, check,
                 [&](Path& path, const Reached& reached) {
                   return path.accumulate(origin, result, at, reached, element, request);
                 });
}

[[gnu::noinline]] int swap(Window& window, const void* origin, const void* compare, void* result,
                           const TargetData& at) noexcept {
  return perform(
      window, at, nullptr, Intent::kUpdate, nullptr, [] { return MPI_SUCCESS; },
      [&](Path& path, const Reached& reached) {
        return path.compare_and_swap(origin, compare, result, at, reached);
      });
}

}  // namespace

int Window::put(const core::Data& origin, const TargetData& to, OpRequest* request) noexcept {
  size_t length = 0;
  std::byte* const there = request == nullptr ? find_block(*this, origin, to, &length) : nullptr;
  if (TERN_UNLIKELY(there == nullptr)) return move(*this, origin, to, request, Intent::kPut);
  count_mapped(*this);
  copy_block(there, origin.first(), length);
  return MPI_SUCCESS;
}

int Window::get(const core::Data& origin, const TargetData& from, OpRequest* request) noexcept {
  size_t length = 0;
  const std::byte* const there =
      request == nullptr ? find_block(*this, origin, from, &length) : nullptr;
  if (TERN_UNLIKELY(there == nullptr)) return move(*this, origin, from, request, Intent::kGet);
  count_mapped(*this);
  copy_block(origin.first(), there, length);
  return MPI_SUCCESS;
}

int Window::accumulate(const core::Data& origin, const TargetData& to, const core::Op& op,
                       OpRequest* request) noexcept {
  const bool plain = request == nullptr && op.reduction() != Reduction::kNoOp;
  const Elements there = plain ? find_elements(*this, &origin, nullptr, to, op) : Elements{};
  if (TERN_UNLIKELY(there.first == nullptr))
    return update(*this, &origin, nullptr, to, op, request);
  count_mapped(*this);
  const HeldStripe held(shared_with(*this, *there.part), there.first);
  if (TERN_LIKELY(held.code() == MPI_SUCCESS))
    there.loop(array_of(&origin), there.first, static_cast<size_t>(to.count));
  return held.code();
}

int Window::get_accumulate(const core::Data& origin, const core::Data& result, const TargetData& at,
                           const core::Op& op, OpRequest* request) noexcept {
  const core::Data* const in = op.reduction() == Reduction::kNoOp ? nullptr : &origin;
  const Elements there =
      request == nullptr ? find_elements(*this, in, &result, at, op) : Elements{};
  if (TERN_UNLIKELY(there.first == nullptr))
    return update(*this, &origin, &result, at, op, request);
  count_mapped(*this);
  const HeldStripe held(shared_with(*this, *there.part), there.first);
  if (TERN_UNLIKELY(held.code() != MPI_SUCCESS)) return held.code();
  copy_block(array_of(&result), there.first, there.length);
  if (in != nullptr) there.loop(array_of(in), there.first, static_cast<size_t>(at.count));
  return MPI_SUCCESS;
}

int Window::fetch_and_op(const void* origin, void* result, const TargetData& at,
                         const core::Op& op) noexcept {
  const core::Datatype& type = *at.type;
  const auto length = static_cast<size_t>(type.size());
  const core::Op::Loop loop = op.loop(type);
  const bool reads = op.reduction() != Reduction::kNoOp;
  const bool plain = loop != nullptr && type.predefined() && type.contiguous() &&
                     is_on_host(result) &&
                     (!reads || (is_on_host(origin) && is_aligned(type, origin)));
  std::byte* const there = TERN_LIKELY(plain) ? find_plain(*this, at, length) : nullptr;
  if (TERN_UNLIKELY(there == nullptr) || !is_aligned(type, there) ||
      !is_under_one_stripe(targets[at.target], there, length))
    return get_accumulate({const_cast<void*>(origin), 1, at.type}, {result, 1, at.type}, at, op,
                          nullptr);
  count_mapped(*this);
  const HeldStripe held(shared_with(*this, targets[at.target]), there);
  if (TERN_UNLIKELY(held.code() != MPI_SUCCESS)) return held.code();
  copy_block(static_cast<std::byte*>(result), there, length);
  if (reads) loop(origin, there, 1);
  return MPI_SUCCESS;
}

int Window::compare_and_swap(const void* origin, const void* compare, void* result,
                             const TargetData& at) noexcept {
  const auto length = static_cast<size_t>(at.type->size());
  std::byte* const there = find_plain(*this, at, length);
  if (TERN_UNLIKELY(there == nullptr)) return swap(*this, origin, compare, result, at);
  count_mapped(*this);
  return MappedElements(shared_with(*this, targets[at.target]))
      .compare_and_swap(there, length, compare, origin, result);
}

}  // namespace tern::rma
