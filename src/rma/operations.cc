// SPDX-License-Identifier: Apache-2.0
// Operations on memory that this process reaches itself, or the kernel for it: copies, and loops
// under stripes.
#include "base/copy.hpp"
#include "core/op.hpp"
#include "rma/access.hpp"
#include "rma/access_log.hpp"
#include "rma/boxes.hpp"
#include "rma/copied.hpp"
#include "rma/messages.hpp"
#include "rma/request.hpp"

namespace tern::rma {
namespace {

/// Of what goes one way and comes the other.
int check_bytes(const core::Data& one, const Place& at) noexcept {
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

core::Data there(const Place& at, std::byte* address, const Target& target) noexcept {
  return core::with_kind({address, at.count, at.type, target.kind()});
}

/// False where it takes more than a plain copy.
bool copy_block(const core::Data& from, const core::Data& to) noexcept {
  if (!from.type->contiguous() || !to.type->contiguous()) return false;
  copy_bytes(to.first(), from.first(), from.bytes());
  return true;
}

/// Data that is an array of elements in host memory already.
bool is_plain(const core::Data* data, const core::Datatype& basic) noexcept {
  return data == nullptr || (data->type == &basic && !core::with_kind(*data).on_device());
}

std::byte* address_of(const core::Data* data) noexcept {
  return data == nullptr ? nullptr : static_cast<std::byte*>(data->address);
}

}  // namespace

int Window::put_any(const core::Data& origin, const Place& to, OpRequest* request) noexcept {
  Reached reached;
  int code = begin(to, request != nullptr, &reached);
  if (code == MPI_SUCCESS && !reached.nothing) code = check_bytes(origin, to);
  if (code == MPI_SUCCESS && !reached.nothing) code = note(to, reached, Intent::kPut);
  if (code != MPI_SUCCESS || reached.nothing) return code;
  if (reached.by_messages)
    return with_memory([&] { return messages_->put(origin, to, reached.at, request); });
  if (reached.process != 0 && put_by_box(origin, to, reached.address, &code)) return code;
  if (reached.process != 0)
    return judge(to, reached, with_memory([&] {
                   return copy_there(process_, origin, to, reached.address, reached.process);
                 }));
  const core::Data from = core::with_kind(origin);
  const core::Data target = there(to, reached.address, this->target(to.target));
  if (TERN_LIKELY(!from.on_device() && !target.on_device()) && copy_block(from, target))
    return MPI_SUCCESS;
  return core::copy(process_, from, target);
}

int Window::get_any(const core::Data& origin, const Place& from, OpRequest* request) noexcept {
  Reached reached;
  int code = begin(from, request != nullptr, &reached);
  if (code == MPI_SUCCESS && !reached.nothing) code = check_bytes(origin, from);
  if (code == MPI_SUCCESS && !reached.nothing) code = note(from, reached, Intent::kGet);
  if (code != MPI_SUCCESS || reached.nothing) return code;
  if (reached.by_messages)
    return with_memory([&] { return messages_->get(origin, from, reached.at, request); });
  if (reached.process != 0 && get_by_box(origin, from, reached.address, &code)) return code;
  if (reached.process != 0)
    return judge(from, reached, with_memory([&] {
                   return copy_from_there(process_, from, reached.address, reached.process, origin);
                 }));
  const core::Data to = core::with_kind(origin);
  const core::Data target = there(from, reached.address, this->target(from.target));
  if (TERN_LIKELY(!to.on_device() && !target.on_device()) && copy_block(target, to))
    return MPI_SUCCESS;
  return core::copy(process_, target, to);
}

/// Whether a target that polls has done it.
bool Window::put_by_box(const core::Data& origin, const Place& to, std::byte* address,
                        int* code) noexcept {
  const core::Data from = core::with_kind(origin);
  return from.type->contiguous() && to.type->contiguous() && !from.on_device() &&
         boxes_->put(to.target, address + to.type->true_lb(), from.first(), from.bytes(), code);
}

bool Window::get_by_box(const core::Data& origin, const Place& from, std::byte* address,
                        int* code) noexcept {
  const core::Data to = core::with_kind(origin);
  return to.type->contiguous() && from.type->contiguous() && !to.on_device() &&
         boxes_->get(from.target, address + from.type->true_lb(), to.first(), to.bytes(), code);
}

/// What became of an operation that the kernel has done: a target that has ended is told by name.
int Window::judge(const Place& at, const Reached& reached, int code) noexcept {
  if (TERN_LIKELY(code == MPI_SUCCESS) || reached.process == 0 || !has_died(at.target)) return code;
  return fail(MPI_ERR_OTHER, "%s has ended, and its memory of %s with it",
              rank_in_words(at.target).c_str(), words().c_str());
}

Shared Window::shared_elements(const Place& at, const Reached& reached) noexcept {
  const Target& part = target(at.target);
  return {part.control, dynamic() ? nullptr : part.first(), pid_, reached.process,
          part.on_device ? &process_ : nullptr};
}

int Window::apply_here(const Place& at, const Reached& reached, const Combination& how,
                       const core::Data* origin, const core::Data* result) {
  constexpr size_t kPieces = 64;
  const Shared shared = shared_elements(at, reached);
  const bool plain =
      at.type == how.basic && is_plain(origin, *how.basic) && is_plain(result, *how.basic);
  int code = MPI_SUCCESS;
  if (plain && reached.process != 0 &&
      boxes_->accumulate(at.target, reached.address, static_cast<size_t>(at.count), how.element,
                         how.reduction, how.basic->number(),
                         {address_of(origin), address_of(result)}, &code))
    return code;
  if (plain)
    return apply(shared, reached.address, static_cast<size_t>(at.count), how.element,
                 {address_of(origin), address_of(result)});
  const core::Data none{nullptr, 0, how.basic, cuda::MemoryKind::kHost};
  ElementArray in(process_, origin != nullptr ? *origin : none, *how.basic);
  ElementArray out(process_, result != nullptr ? *result : none, *how.basic);
  if (origin != nullptr) code = in.load();
  const auto operands = [&](size_t index) {
    const size_t offset = index * how.element.extent;
    return Operands{origin != nullptr ? in.data() + offset : nullptr,
                    result != nullptr ? out.data() + offset : nullptr};
  };
  const size_t total = static_cast<size_t>(at.count * at.type->size());
  if (at.type == how.basic || (at.type->contiguous() && !how.element.padded())) {
    if (code == MPI_SUCCESS)
      code = apply(shared, reached.address + at.type->true_lb(), total / how.element.size,
                   how.element, operands(0));
  } else {
    iovec pieces[kPieces];
    for (size_t done = 0, covered = 0; done < total && code == MPI_SUCCESS; done += covered) {
      const size_t count =
          at.type->pieces(reached.address, at.count, done, total - done, pieces, kPieces, &covered);
      const size_t first = (done + how.element.size - 1) / how.element.size;
      code = apply(shared, pieces, count, done, how.element, operands(first));
    }
  }
  return code == MPI_SUCCESS && result != nullptr ? out.store() : code;
}

int Window::accumulate_any(const core::Data& origin, const Place& to, const core::Op& op,
                           OpRequest* request) noexcept {
  Reached reached;
  Combination how;
  int code = MPI_SUCCESS;
  if (op.reduction() == Reduction::kNoOp && !op.user_defined())
    return fail(MPI_ERR_OP, "MPI_NO_OP is for MPI_Get_accumulate and MPI_Fetch_and_op");
  code = begin(to, request != nullptr, &reached);
  if (code == MPI_SUCCESS && !reached.nothing) code = check_bytes(origin, to);
  if (code == MPI_SUCCESS && !reached.nothing) code = combine(op, *origin.type, *to.type, &how);
  if (code == MPI_SUCCESS && !reached.nothing) code = note(to, reached, Intent::kUpdate);
  if (code != MPI_SUCCESS || reached.nothing) return code;
  return with_memory([&] {
    if (!reached.by_messages)
      return judge(to, reached, apply_here(to, reached, how, &origin, nullptr));
    return messages_->accumulate(&origin, nullptr, to, reached.at, *how.basic, op.reduction(),
                                 request);
  });
}

int Window::get_accumulate_any(const core::Data& origin, const core::Data& result, const Place& at,
                               const core::Op& op, OpRequest* request) noexcept {
  Reached reached;
  Combination how;
  const bool reads = op.reduction() == Reduction::kNoOp && !op.user_defined();
  const core::Data* const in = reads ? nullptr : &origin;
  int code = begin(at, request != nullptr, &reached);
  if (code != MPI_SUCCESS || reached.nothing) return code;
  code = check_bytes(result, at);
  if (code == MPI_SUCCESS && !reads) code = check_bytes(origin, at);
  if (code == MPI_SUCCESS && !reads) code = combine(op, *origin.type, *at.type, &how);
  if (code == MPI_SUCCESS) code = combine(op, *result.type, *at.type, &how);
  if (code == MPI_SUCCESS) code = note(at, reached, Intent::kUpdate);
  if (code != MPI_SUCCESS) return code;
  return with_memory([&] {
    if (!reached.by_messages) return judge(at, reached, apply_here(at, reached, how, in, &result));
    return messages_->accumulate(in, &result, at, reached.at, *how.basic, op.reduction(), request);
  });
}

int Window::compare_and_swap_any(const void* origin, const void* compare, void* result,
                                 const Place& at) noexcept {
  Reached reached;
  int code = begin(at, false, &reached);
  if (code == MPI_SUCCESS && !reached.nothing) code = note(at, reached, Intent::kUpdate);
  if (code != MPI_SUCCESS || reached.nothing) return code;
  if (reached.by_messages)
    return with_memory(
        [&] { return messages_->compare_and_swap(origin, compare, result, at, reached.at); });
  const auto bytes_of_one = static_cast<size_t>(at.type->size());
  if (reached.process != 0 &&
      boxes_->swap(at.target, reached.address, bytes_of_one, compare, origin, result, &code))
    return code;
  return judge(
      at, reached,
      rma::compare_and_swap(shared_elements(at, reached), reached.address,
                            static_cast<size_t>(at.type->size()), compare, origin, result));
}

}  // namespace tern::rma
