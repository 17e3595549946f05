// SPDX-License-Identifier: Apache-2.0
#include "rma/epoch.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::rma {
namespace {

const char* this_call() noexcept {
  const char* const name = core::current_call.call;
  return name != nullptr ? name : "this call";
}

const char* end_of(Epoch::Access access) noexcept {
  switch (access) {
    case Epoch::Access::kFence:
      return "MPI_Win_fence";
    case Epoch::Access::kStart:
      return "MPI_Win_complete";
    case Epoch::Access::kLock:
      return "MPI_Win_unlock";
    default:
      return "MPI_Win_unlock_all";
  }
}

}  // namespace

int Epoch::refuse_open() const noexcept {
  return fail(MPI_ERR_RMA_SYNC, "the access epoch opened by %s is open; end the epoch with %s",
              opened_by_ != nullptr ? opened_by_ : "an earlier call", end_of(access_));
}

int Epoch::refuse_exposed() const noexcept {
  return fail(MPI_ERR_RMA_SYNC, "the exposure epoch opened by %s is open; end the epoch with %s",
              exposed_by_ != nullptr ? exposed_by_ : "an earlier call",
              exposure_ == Exposure::kPost ? "MPI_Win_wait" : "MPI_Win_fence");
}

int Epoch::refuse_end(const char* what) const noexcept {
  const bool exposure = std::string(what) == "MPI_Win_post";
  const char* const last = exposure ? hidden_by_ : ended_by_;
  const char* const open = exposure ? exposed_by_ : opened_by_;
  if (exposure ? exposure_ != Exposure::kNone : access_ != Access::kNone)
    return fail(MPI_ERR_RMA_SYNC, "no %s came before; the open epoch was opened by %s", what,
                open != nullptr ? open : "another call");
  if (last == nullptr) return fail(MPI_ERR_RMA_SYNC, "no %s came before", what);
  return fail(MPI_ERR_RMA_SYNC, "no %s came before; the last epoch was ended by %s", what, last);
}

int Epoch::refuse_access(int target) const noexcept {
  if (access_ == Access::kStart)
    return fail(MPI_ERR_RMA_SYNC, "rank %d is not in the group of %s", target,
                opened_by_ != nullptr ? opened_by_ : "MPI_Win_start");
  if (access_ == Access::kLock)
    return fail(
        MPI_ERR_RMA_SYNC,
        "no lock of rank %d is held; the open access epoch was opened by %s for another rank",
        target, opened_by_ != nullptr ? opened_by_ : "MPI_Win_lock");
  if (ended_by_ != nullptr)
    return fail(MPI_ERR_RMA_SYNC, "no access epoch is open to rank %d: the last was ended by %s",
                target, ended_by_);
  return fail(MPI_ERR_RMA_SYNC,
              "no access epoch is open to rank %d: open an epoch with MPI_Win_fence, "
              "MPI_Win_start, MPI_Win_lock or MPI_Win_lock_all",
              target);
}

int Epoch::may_fence() const noexcept {
  if (access_ != Access::kNone && access_ != Access::kFence) return refuse_open();
  return exposure_ == Exposure::kPost ? refuse_exposed() : MPI_SUCCESS;
}

int Epoch::may_free() const noexcept {
  const int code = may_begin_access();
  if (code != MPI_SUCCESS) return code;
  return exposure_ == Exposure::kPost ? refuse_exposed() : MPI_SUCCESS;
}

int Epoch::refuse_lock(int target) const noexcept {
  return fail(MPI_ERR_RMA_SYNC, "rank %d is already locked by %s", target,
              opened_by_ != nullptr ? opened_by_ : "MPI_Win_lock");
}

int Epoch::refuse_unlock(int target) const noexcept {
  if (access_ != Access::kLock) return refuse_end("MPI_Win_lock");
  return fail(MPI_ERR_RMA_SYNC, "no lock of rank %d is held, though %s has locked another", target,
              opened_by_ != nullptr ? opened_by_ : "MPI_Win_lock");
}

int Epoch::may_unlock_all() const noexcept {
  return access_ == Access::kLockAll ? MPI_SUCCESS : refuse_end("MPI_Win_lock_all");
}

int Epoch::may_flush() const noexcept {
  if (access_ == Access::kLock || access_ == Access::kLockAll) return MPI_SUCCESS;
  return refuse_end("MPI_Win_lock or MPI_Win_lock_all");
}

int Epoch::refuse_flush(int target) const noexcept {
  return access_ == Access::kLock ? refuse_access(target)
                                  : refuse_end("MPI_Win_lock or MPI_Win_lock_all");
}

int Epoch::may_request(int target) const noexcept {
  if (passive(target)) return MPI_SUCCESS;
  if (access_ == Access::kLock || access_ == Access::kNone) return refuse_access(target);
  return fail(MPI_ERR_RMA_SYNC,
              "operations with a request need an epoch of locks, but this epoch was opened by %s",
              opened_by_ != nullptr ? opened_by_ : "another call");
}

int Epoch::may_complete() const noexcept {
  return access_ == Access::kStart ? MPI_SUCCESS : refuse_end("MPI_Win_start");
}

int Epoch::may_post() const noexcept {
  if (exposure_ == Exposure::kNone || (exposure_ == Exposure::kFence && !used()))
    return MPI_SUCCESS;
  return refuse_exposed();
}

int Epoch::may_wait() const noexcept {
  return exposure_ == Exposure::kPost ? MPI_SUCCESS : refuse_end("MPI_Win_post");
}

void Epoch::fenced(bool opens) noexcept {
  used_.store(false, std::memory_order_relaxed);
  access_ = opens ? Access::kFence : Access::kNone;
  exposure_ = opens ? Exposure::kFence : Exposure::kNone;
  const char* const call = this_call();
  opened_by_ = exposed_by_ = opens ? call : nullptr;
  ended_by_ = hidden_by_ = call;
}

void Epoch::begin(Access access) noexcept {
  if (exposure_ == Exposure::kFence) exposure_ = Exposure::kNone;
  access_ = access;
  opened_by_ = this_call();
}

void Epoch::end_access() noexcept {
  access_ = Access::kNone;
  std::fill(reach_.begin(), reach_.end(), Reach::kNone);
  ended_by_ = this_call();
}

void Epoch::locked(int target, bool exclusive) noexcept {
  if (access_ != Access::kLock) begin(Access::kLock);
  set_reach(target, exclusive ? Reach::kExclusive : Reach::kShared);
  ++locks_;
}

void Epoch::unlocked(int target) noexcept {
  set_reach(target, Reach::kNone);
  ended_by_ = this_call();
  if (--locks_ == 0) access_ = Access::kNone;
}

void Epoch::posted() noexcept {
  if (access_ == Access::kFence) access_ = Access::kNone;
  exposure_ = Exposure::kPost;
  exposed_by_ = this_call();
}

void Epoch::end_exposure() noexcept {
  exposure_ = Exposure::kNone;
  hidden_by_ = this_call();
}

}  // namespace tern::rma
