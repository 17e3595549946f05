// SPDX-License-Identifier: Apache-2.0
#include "rma/window.hpp"

#include <atomic>

#include "coll/coll.hpp"
#include "pml/pml.hpp"

namespace tern::rma {

Window::Window(core::Process& process, core::Communicator& communicator, int made_by)
    : Object(kKind),
      flavor_value(made_by),
      targets(process, communicator, made_by),
      epoch(communicator.size()),
      accesses(targets),
      regions(targets),
      locks(targets, epoch, accesses),
      posts(targets, epoch, accesses),
      mapped_(targets) {}

Window::~Window() {
  core::Communicator& own = targets.communicator();
  {
    const core::ChannelLock lock(targets.progress());
    copied_.reset();
    accesses.network.reset();
    accesses.messages.reset();
  }
  own.channel().coll->refusals().freeing(own);
  const core::ChannelLock lock(targets.progress());
  own.free();
}

int Window::barrier() noexcept {
  coll::Operation operation{};
  operation.collective = coll::Collective::kBarrier;
  operation.communicator = &targets.communicator();
  return targets.communicator().channel().coll->run(operation);
}

int Window::fence(int assertion) noexcept {
  constexpr int kKnown =
      MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if ((assertion & ~kKnown) != 0)
    return fail(MPI_ERR_ASSERT,
                "assert is %d, but must combine MPI_MODE_NOSTORE, MPI_MODE_NOPUT, "
                "MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED",
                assertion);
  int code = epoch.may_fence();
  if (code != MPI_SUCCESS) return code;
  code = accesses.finish(-1, false);
  constexpr int kNoMeeting = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if ((assertion & kNoMeeting) != kNoMeeting)
    if (const int met = barrier(); met != MPI_SUCCESS) return met;
  const core::ChannelLock lock(targets.progress());
  epoch.fenced((assertion & MPI_MODE_NOSUCCEED) == 0);
  return code;
}

int Window::flush(int target, bool local) noexcept {
  if (TERN_LIKELY(static_cast<unsigned>(target) < static_cast<unsigned>(targets.size()) &&
                  epoch.passive(target) && accesses.end_with_a_fence())) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return MPI_SUCCESS;
  }
  return flush_late(target, local);
}

int Window::flush_late(int target, bool local) noexcept {
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  int code = targets.check(target);
  if (code == MPI_SUCCESS) code = epoch.may_flush(target);
  return code == MPI_SUCCESS ? accesses.finish(target, local) : code;
}

int Window::flush_all(bool local) noexcept {
  const int code = epoch.may_flush();
  return code == MPI_SUCCESS ? accesses.finish(-1, local) : code;
}

int Window::sync() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  accesses.look_around();
  return MPI_SUCCESS;
}

int Window::shared_query(int rank, WindowPart* part) noexcept {
  if (targets.dynamic())
    return fail(MPI_ERR_RMA_FLAVOR, "%s is dynamic, and has no memory for a query",
                targets.words().c_str());
  const bool lowest = rank == MPI_PROC_NULL;
  for (int i = 0; lowest && i < targets.size() && rank == MPI_PROC_NULL; ++i)
    if (targets.is_local(i) && targets[i].size > 0) rank = i;
  *part = {};
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  if (const int code = targets.check(rank); code != MPI_SUCCESS) return code;
  const Target& there = targets[rank];
  if (there.memory == nullptr && rank != targets.rank()) return MPI_SUCCESS;
  const bool has_place = there.size > 0 || contiguous_;
  *part = {there.size, there.unit, has_place ? there.memory : nullptr};
  return MPI_SUCCESS;
}

int Window::leave() noexcept {
  int code = epoch.may_free();
  if (code == MPI_SUCCESS) code = accesses.finish(-1, false);
  if (code == MPI_SUCCESS && accesses.messages != nullptr)
    code = accesses.messages->finish_notices();
  if (code != MPI_SUCCESS) return code;
  code = barrier();
  if (accesses.network != nullptr && code == MPI_SUCCESS) accesses.network->withdraw();
  if (accesses.messages != nullptr && code == MPI_SUCCESS) accesses.messages->drain();
  return code;
}

}  // namespace tern::rma
