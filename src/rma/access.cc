// SPDX-License-Identifier: Apache-2.0
// Whether an operation may begin: epoch, target, bounds.
#include "rma/access.hpp"

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

/// A target of messages checks its regions by itself.
int find_attached(Window& window, const Place& at, uint64_t low, uint64_t length,
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

int find(Window& window, const Place& at, Reached* reached) {
  const Target& there = window.targets[at.target];
  const bool dynamic = window.targets.dynamic();
  const Span span = span_of(at, dynamic ? 1 : there.unit);
  if (dynamic && !span.overflows)
    return find_attached(window, at, static_cast<uint64_t>(span.low),
                         static_cast<uint64_t>(span.high - span.low), reached);
  if (TERN_UNLIKELY(span.overflows || span.low < 0 || span.high > there.size))
    return fail(MPI_ERR_RMA_RANGE,
                "the bytes %lld to %lld of rank %d's memory are outside %s, which has %lld there "
                "(target_disp is %lld, its unit %lld)",
                static_cast<long long>(span.low), static_cast<long long>(span.high), at.target,
                window.targets.words().c_str(), static_cast<long long>(there.size),
                static_cast<long long>(at.disp), static_cast<long long>(there.unit));
  reached->at = at.disp * there.unit;
  std::byte* const first = there.first();
  if (first != nullptr) reached->address = first + reached->at;
  return MPI_SUCCESS;
}

}  // namespace

int begin_access(Window& window, const Place& at, bool with_request, Reached* reached) {
  if (at.target == MPI_PROC_NULL) return MPI_SUCCESS;
  int code = window.targets.check(at.target);
  if (code == MPI_SUCCESS)
    code = with_request ? window.epoch.may_request(at.target) : window.epoch.use(at.target);
  if (code != MPI_SUCCESS || at.count == 0 || at.type->size() == 0) return code;
  code = find(window, at, reached);
  if (code == MPI_SUCCESS && TERN_UNLIKELY(window.epoch.reach(at.target) == Epoch::Reach::kStarted))
    code = window.posts.await_post(at.target);
  reached->path = window.targets[at.target].path;
  return code;
}

}  // namespace tern::rma
