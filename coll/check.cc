// SPDX-License-Identifier: Apache-2.0
// TERN_CHECK=collective: what ranks tell each other, and what is made of it.
#include "coll/check.hpp"

#include <cstring>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/engine_host.hpp"
#include "core/signature.hpp"

namespace tern::coll {
namespace {

template <size_t N>
void put_words(char (&to)[N], const std::string& words) noexcept {
  std::memset(to, 0, N);
  words.copy(to, N - 1);
}

bool is_packed(const core::Datatype& type) noexcept {
  const core::Datatype* basic = type.basic();
  return basic != nullptr && reinterpret_cast<MPI_Datatype>(basic->handle()) == MPI_PACKED;
}

/// The counts of MPI_Reduce_scatter, which are the same on all ranks.
void add_counts(const Side& side, int ranks, Call* call) {
  for (int i = 0; i < ranks; ++i) {
    call->hash = call->hash * 0x9E3779B97F4A7C15ULL + static_cast<uint64_t>(side.counts[i]) + 1;
    call->elements += static_cast<uint64_t>(side.counts[i]);
  }
  put_words(call->data,
            strf("%llu elements in parts", static_cast<unsigned long long>(call->elements)));
}

void add_data(const Operation& operation, Call* call) {
  const Side& side = agreed_side(operation);
  if (neighborly(operation.collective)) return;  // each edge has its own size
  if (operation.irregular) {
    if (operation.collective == Collective::kReduceScatter)
      add_counts(side, operation.communicator->size(), call);
    return;
  }
  if (side.type == nullptr) return;
  const core::Signature all =
      core::repeated(core::signature_of(*side.type), static_cast<uint64_t>(side.count));
  call->bytes = static_cast<uint64_t>(side.count * side.type->size());
  call->elements = all.elements;
  call->hash = all.hash;
  call->untyped = is_packed(*side.type);
  put_words(call->data, core::in_words(*side.type, side.count));
}

}  // namespace

const Side& agreed_side(const Operation& operation) noexcept {
  const Collective what = operation.collective;
  const bool root = operation.communicator->rank() == operation.root;
  const bool input = reduces(what) || (what == Collective::kGather && !root) ||
                     (what == Collective::kScatter && root);
  return input ? operation.input : operation.output;
}

Call call_of(const Operation& operation) noexcept {
  Call call{};
  std::memset(static_cast<void*>(&call), 0, sizeof call);
  call.collective = operation.collective;
  call.irregular = operation.irregular;
  call.root = rooted(operation.collective) ? operation.root : -1;
  if (operation.op != nullptr) put_words(call.op, operation.op->name());
  add_data(operation, &call);
  return call;
}

std::string in_words(const Call& call) {
  std::string text = strf("%s%s", name_of(call.collective), call.irregular ? "v" : "");
  if (*call.data != '\0') text += strf(" of %s", call.data);
  if (*call.op != '\0') text += strf(" by %s", call.op);
  if (call.root >= 0) text += strf(" with root %d", call.root);
  return text;
}

int differ(const Call& one, const Call& other) noexcept {
  if (one.collective != other.collective || one.irregular != other.irregular) return MPI_ERR_OTHER;
  if (one.root != other.root) return MPI_ERR_ROOT;
  if (std::strcmp(one.op, other.op) != 0) return MPI_ERR_OP;
  if (one.untyped || other.untyped) return one.bytes == other.bytes ? MPI_SUCCESS : MPI_ERR_COUNT;
  if (one.elements != other.elements) return MPI_ERR_COUNT;
  return one.hash == other.hash ? MPI_SUCCESS : MPI_ERR_TYPE;
}

// Posts both messages. Returns an error class with fail() text.
int Execution::begin_check() noexcept {
  const core::Communicator& comm = *operation_.communicator;
  const int ranks = comm.size(), next = (comm.rank() + 1) % ranks;
  const int before = (comm.rank() + ranks - 1) % ranks;
  check_->mine = call_of(operation_);
  const int tag = check_tag();
  const pml::Buffer out{&check_->mine, sizeof(Call), coll_.byte_type()};
  const pml::Buffer in{&check_->theirs, sizeof(Call), coll_.byte_type()};
  core::Communicator* const on = operation_.communicator;
  const int code =
      coll_.pml().irecv_locked(in, {on, before, tag, pml::Plane::kCollective}, &check_->received);
  if (code != MPI_SUCCESS) return code;
  return coll_.pml().isend_locked(out, {on, next, tag, pml::Plane::kCollective}, &check_->sent);
}

// Both messages have come: the collective may go on, or has failed.
void Execution::end_check() noexcept {
  const core::Communicator& comm = *operation_.communicator;
  check_->sent->release();
  check_->received->release();
  const int code = differ(check_->mine, check_->theirs);
  checking_ = false;
  if (code == MPI_SUCCESS) return begin_passes();
  const int before = (comm.rank() + comm.size() - 1) % comm.size();
  take_error(code, strf("rank %d calls %s, but rank %d calls %s, as collective number %u of %s "
                        "(TERN_CHECK=collective)",
                        comm.rank(), in_words(check_->mine).c_str(), before,
                        in_words(check_->theirs).c_str(), sequence_,
                        comm.name.empty() ? "a communicator" : comm.name.c_str())
                       .c_str());
}

}  // namespace tern::coll
