// SPDX-License-Identifier: Apache-2.0
// Whether an operation may begin: its epoch, its target, its bounds, its types.
#include "rma/access.hpp"

#include "core/op.hpp"
#include "rma/access_log.hpp"

namespace tern::rma {
namespace {

/// The bytes that elements take, from the place of the first one's origin: [low, high).
struct Span {
  int64_t low = 0, high = 0;
  bool overflows = false;
};

Span span_of(const Place& at, int64_t unit) noexcept {
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

/// Of a predefined type, or of the same type in another language.
bool same_elements(const core::Datatype& one, const core::Datatype& other) noexcept {
  return &one == &other || (one.number() == other.number() && one.size() == other.size());
}

}  // namespace

int Window::begin(const Place& at, bool with_request, Reached* reached) noexcept {
  if (at.target == MPI_PROC_NULL) {
    reached->nothing = true;
    return MPI_SUCCESS;
  }
  int code = check_target(at.target);
  if (code == MPI_SUCCESS)
    code = with_request ? epoch_.may_request(at.target) : epoch_.use(at.target);
  if (code != MPI_SUCCESS) return code;
  if (at.count == 0 || at.type->size() == 0) {
    reached->nothing = true;
    return MPI_SUCCESS;
  }
  code = find(at, reached);
  if (code == MPI_SUCCESS && TERN_UNLIKELY(epoch_.reach(at.target) == Epoch::Reach::kStarted))
    code = await_post(at.target);
  return code;
}

int Window::note(const Place& at, const Reached& reached, Intent intent) noexcept {
  auto& counts = process_.window_operations;
  counts.add_to(reached.by_messages    ? counts.by_messages
                : reached.process != 0 ? counts.copied
                                       : counts.mapped);
  return TERN_LIKELY(log_ == nullptr) ? MPI_SUCCESS : log_->begin(at, reached.at, intent);
}

/// Of a rank that is reached by messages, it knows itself.
int Window::find_attached(const Place& at, uint64_t low, uint64_t length,
                          Reached* reached) noexcept {
  bool found = true;
  int code = MPI_SUCCESS;
  reached->at = at.disp;
  reached->process = target(at.target).process;
  if (at.target == rank())
    found = attached(low, length);
  else if (reached->process != 0)
    code = with_memory([&] { return look_up(at.target, low, length, &found); });
  if (code != MPI_SUCCESS) return code;
  if (at.target == rank() || reached->process != 0)
    reached->address = reinterpret_cast<std::byte*>(at.disp);
  return found ? MPI_SUCCESS
               : fail(MPI_ERR_RMA_RANGE, "memory from 0x%llx on is not attached to %s at rank %d",
                      static_cast<unsigned long long>(low), words().c_str(), at.target);
}

int Window::find(const Place& at, Reached* reached) noexcept {
  const Target& there = target(at.target);
  reached->by_messages = by_messages(at.target);
  const Span span = span_of(at, dynamic() ? 1 : there.unit);
  if (dynamic() && !span.overflows)
    return find_attached(at, static_cast<uint64_t>(span.low),
                         static_cast<uint64_t>(span.high - span.low), reached);
  if (TERN_UNLIKELY(span.overflows || span.low < 0 || span.high > there.size))
    return fail(MPI_ERR_RMA_RANGE,
                "the bytes %lld to %lld of rank %d's memory are outside %s, which has %lld there "
                "(target_disp is %lld, its unit %lld)",
                static_cast<long long>(span.low), static_cast<long long>(span.high), at.target,
                words().c_str(), static_cast<long long>(there.size),
                static_cast<long long>(at.disp), static_cast<long long>(there.unit));
  reached->at = at.disp * there.unit;
  reached->process = there.process;
  std::byte* const first = there.first();
  if (first != nullptr) reached->address = first + reached->at;
  return MPI_SUCCESS;
}

int Window::combine(const core::Op& op, const core::Datatype& origin, const core::Datatype& type,
                    Combination* found) const noexcept {
  if (op.user_defined())
    return fail(MPI_ERR_OP, "op was made by MPI_Op_create; accumulates take predefined operations");
  const core::Datatype* const basic = type.basic();
  if (basic == nullptr)
    return fail(MPI_ERR_TYPE,
                "the target's datatype has several basic types; an accumulate takes "
                "elements of one predefined type");
  if (origin.basic() == nullptr || !same_elements(*origin.basic(), *basic))
    return fail(MPI_ERR_TYPE,
                "the elements of the origin's datatype are not those of the target's, "
                "which are %s",
                basic->name.text().c_str());
  found->element = element_of(op, *basic);
  found->reduction = op.reduction();
  found->basic = const_cast<core::Datatype*>(basic);
  if (found->element.loop != nullptr) return MPI_SUCCESS;
  return fail(MPI_ERR_OP, "%s is not defined on %s; see MPI-5.0 section 6.9.2 for its types",
              op.name(), basic->name.text().c_str());
}

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
  return copy_.empty() ? MPI_SUCCESS : core::copy(process_, of_, array_);
}

int ElementArray::store() noexcept {
  return copy_.empty() ? MPI_SUCCESS : core::copy(process_, array_, of_);
}

}  // namespace tern::rma
