// SPDX-License-Identifier: Apache-2.0
// TERN_CHECK=collective: the exchange of calls, and the comparison.
#include "coll/engine/check.hpp"

#include <cstring>

#include "base/error.hpp"
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

/// Adds MPI_Reduce_scatter's counts to the compared call; they must be equal on all ranks.
void add_counts(const Side& side, int ranks, ComparedCall* call) {
  for (int i = 0; i < ranks; ++i) {
    call->hash = call->hash * 0x9E3779B97F4A7C15ULL + static_cast<uint64_t>(side.counts[i]) + 1;
    call->elements += static_cast<uint64_t>(side.counts[i]);
  }
  put_words(call->data,
            strf("%llu elements in parts", static_cast<unsigned long long>(call->elements)));
}

void add_data(const Operation& operation, ComparedCall* call) {
  const Side& side = agreed_side(operation);
  if (neighborly(operation.collective)) return;
  if (operation.communicator->inter() && call->root == kOnThisSide) return;
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

int32_t root_in(const Operation& operation) noexcept {
  const core::Communicator& comm = *operation.communicator;
  if (!rooted(operation.collective)) return kNoRoot;
  if (!comm.inter()) return operation.root;
  return operation.root < comm.size() ? kOnThisSide : operation.root - comm.size();
}

/// Non-root ranks of the root's group have no operation.
bool same_op(const ComparedCall& one, const ComparedCall& other) noexcept {
  return *one.op == '\0' || *other.op == '\0' || std::strcmp(one.op, other.op) == 0;
}

int differ_across(const ComparedCall& one, const ComparedCall& other) noexcept {
  if (one.collective != other.collective || one.irregular != other.irregular) return MPI_ERR_OTHER;
  if (rooted(one.collective) && (one.root == kOnThisSide) == (other.root == kOnThisSide))
    return MPI_ERR_ROOT;
  if (!same_op(one, other)) return MPI_ERR_OP;
  return one.collective == Collective::kAllreduce ? differ(one, other) : MPI_SUCCESS;
}

pml::Envelope on_ring(core::Communicator& comm, bool next, int tag) noexcept {
  const int size = comm.size(), rank = comm.rank() + (next ? 1 : -1);
  const bool across = comm.inter() && (rank < 0 || rank == size);
  const int at = across ? (next ? 0 : comm.peer_count() - 1) : (rank + size) % size;
  core::Communicator* on = comm.inter() && !across ? comm.side.get() : &comm;
  return {on, at, tag, pml::Plane::kCollective};
}

}  // namespace

const Side& agreed_side(const Operation& operation) noexcept {
  const Collective what = operation.collective;
  const bool root = operation.communicator->rank() == operation.root;
  const bool input = reduces(what) || (what == Collective::kGather && !root) ||
                     (what == Collective::kScatter && root);
  return input ? operation.input : operation.output;
}

ComparedCall call_of(const Operation& operation) noexcept {
  ComparedCall call{};
  std::memset(static_cast<void*>(&call), 0, sizeof call);
  call.collective = operation.collective;
  call.irregular = operation.irregular;
  call.root = root_in(operation);
  if (operation.op != nullptr) put_words(call.op, operation.op->name());
  add_data(operation, &call);
  return call;
}

std::string in_words(const ComparedCall& call) {
  std::string text = strf("%s%s", name_of(call.collective), call.irregular ? "v" : "");
  if (*call.data != '\0') text += strf(" of %s", call.data);
  if (*call.op != '\0') text += strf(" by %s", call.op);
  if (call.root == kOnThisSide) text += " with the root in this group";
  if (call.root >= 0) text += strf(" with root %d", call.root);
  return text;
}

int differ(const ComparedCall& one, const ComparedCall& other) noexcept {
  if (one.collective != other.collective || one.irregular != other.irregular) return MPI_ERR_OTHER;
  if (one.root != other.root) return MPI_ERR_ROOT;
  if (!same_op(one, other)) return MPI_ERR_OP;
  if (one.untyped || other.untyped) return one.bytes == other.bytes ? MPI_SUCCESS : MPI_ERR_COUNT;
  if (one.elements != other.elements) return MPI_ERR_COUNT;
  return one.hash == other.hash ? MPI_SUCCESS : MPI_ERR_TYPE;
}

int CallCheck::begin(pml::Pml& pml, core::Datatype* byte, const Operation& operation,
                     int tag) noexcept {
  comm_ = operation.communicator;
  sent_ = received_ = nullptr;
  dropped_ = false;
  mine_ = call_of(operation);
  const pml::Buffer out{&mine_, sizeof(ComparedCall), byte},
      in{&theirs_, sizeof(ComparedCall), byte};
  const int code = pml.irecv_locked(in, on_ring(*comm_, false, tag), &received_);
  return code != MPI_SUCCESS ? code : pml.isend_locked(out, on_ring(*comm_, true, tag), &sent_);
}

int CallCheck::end(uint32_t number) noexcept {
  sent_->release();
  received_->release();
  const pml::Envelope before = on_ring(*comm_, false, 0);
  const bool across = comm_->inter() && before.communicator == comm_;
  const int code = across ? differ_across(mine_, theirs_) : differ(mine_, theirs_);
  if (code == MPI_SUCCESS) return code;
  return fail(
      code, "%s",
      strf("rank %d calls %s, but rank %d%s calls %s, as collective number %u of %s "
           "(TERN_CHECK=collective)",
           comm_->rank(), in_words(mine_).c_str(), before.rank, across ? " of the other group" : "",
           in_words(theirs_).c_str(), number, comm_->name.or_words("a communicator").c_str())
          .c_str());
}

bool CallCheck::drop() noexcept {
  bool left = false;
  for (core::Request** const request : {&sent_, &received_}) {
    if (*request == nullptr) continue;
    if (!(*request)->done() && !dropped_) (*request)->cancel_locked();
    if (!(*request)->done()) {
      left = true;
    } else {
      (*request)->release();
      *request = nullptr;
    }
  }
  dropped_ = true;
  return !left;
}

}  // namespace tern::coll
