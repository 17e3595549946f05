// SPDX-License-Identifier: Apache-2.0
// Window: what its other files share; fences, flushes, and memory that is attached.
#include "rma/window.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/ended.hpp"
#include "coll/coll.hpp"
#include "pml/pml.hpp"
#include "rma/access_log.hpp"
#include "rma/boxes.hpp"
#include "rma/messages.hpp"

namespace tern::rma {

Window::Window(core::Process& process, core::Communicator& communicator, int made_by)
    : Object(kKind),
      flavor(made_by),
      flavor_value(made_by),
      process_(process),
      communicator_(&communicator),
      targets_(static_cast<size_t>(communicator.size())),
      epoch_(communicator.size()),
      starts_(targets_.size()),
      posts_(targets_.size()),
      unchecked_(targets_.size()),
      pid_(::getpid()) {}

Window::~Window() {
  core::Communicator* const own = communicator_;
  if (own == nullptr) return;
  {
    const core::ChannelLock lock(own->channel().progress);
    boxes_.reset();
    messages_.reset();
  }
  own->channel().coll->refusals().freeing(*own);
  const core::ChannelLock lock(own->channel().progress);
  own->freed = true;
  if (own->pending == 0) own->end();
}

std::string Window::rank_in_words(int rank) {
  const Control control = target(rank).control;
  if (!control.valid()) return strf("rank %d", rank);
  const int32_t pid = control.head().pid.load(std::memory_order_relaxed);
  return pid > 0 ? strf("rank %d (pid %d)", rank, pid) : strf("rank %d", rank);
}

bool Window::look_again(int64_t* looked_ns) noexcept {
  constexpr int64_t kPeriodNs = 100'000'000;
  const int64_t now = now_ns();
  if (now - *looked_ns < kPeriodNs) return false;
  return std::exchange(*looked_ns, now) != 0;
}

bool Window::has_died(int rank) noexcept {
  const Control control = target(rank).control;
  if (!control.valid() || rank == this->rank()) return false;
  return has_ended(control.head().pid.load(std::memory_order_relaxed));
}

int Window::fail_dead(int rank) noexcept {
  return fail(MPI_ERR_OTHER, "%s ended while this rank waited for it at %s",
              rank_in_words(rank).c_str(), words().c_str());
}

void Window::wake(int target_rank) noexcept {
  Doorbell* const bell = target(target_rank).bell;
  if (bell != nullptr)
    bell->ring(true);
  else if (target_rank == rank())
    progress().wake();
}

int Window::barrier() noexcept {
  coll::Operation operation{};
  operation.collective = coll::Collective::kBarrier;
  operation.communicator = communicator_;
  return communicator_->channel().coll->run(operation);
}

int Window::find_ranks(const core::Group& group, std::vector<int>* ranks) const {
  for (int i = 0; i < group.size(); ++i) {
    const int found = communicator_->group().rank_of(group.peer_index(i));
    if (found == MPI_UNDEFINED)
      return fail(MPI_ERR_GROUP, "rank %d of the group (of %d) is no member of %s's group", i,
                  group.size(), words().c_str());
    ranks->push_back(found);
  }
  return MPI_SUCCESS;
}

int Window::finish(int target_rank, bool local) noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (TERN_UNLIKELY(log_ != nullptr) && !local) return finish_logged(target_rank);
  if (TERN_UNLIKELY(messages_ != nullptr)) return messages_->finish(target_rank, local);
  look_around();
  return MPI_SUCCESS;
}

int Window::finish_logged(int target_rank) noexcept {
  const int code = messages_ == nullptr ? MPI_SUCCESS : messages_->finish(target_rank, false);
  log_->end(target_rank);
  poll();
  return code;
}

/// A loop of such calls is all that a rank may do while others wait for an answer of its.
void Window::look_around() noexcept {
  constexpr uint32_t kCallsBetween = 127;
  const uint32_t calls = calls_.load(std::memory_order_relaxed) + 1;
  calls_.store(calls, std::memory_order_relaxed);
  if (TERN_UNLIKELY((calls & kCallsBetween) == 0 || messages_ != nullptr)) poll();
}

void Window::poll() noexcept {
  const core::ChannelLock lock(progress());
  (void)progress().poll_for_caller();
}

int Window::fence(int assertion) noexcept {
  constexpr int kKnown =
      MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if ((assertion & ~kKnown) != 0)
    return fail(MPI_ERR_ASSERT,
                "assert is %d, which is no combination of MPI_MODE_NOSTORE, "
                "MPI_MODE_NOPUT, MPI_MODE_NOPRECEDE and MPI_MODE_NOSUCCEED",
                assertion);
  int code = epoch_.may_fence();
  if (code != MPI_SUCCESS) return code;
  code = finish(-1, false);
  constexpr int kNoMeeting = MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if ((assertion & kNoMeeting) != kNoMeeting)
    if (const int met = barrier(); met != MPI_SUCCESS) return met;
  const core::ChannelLock lock(progress());
  epoch_.fenced((assertion & MPI_MODE_NOSUCCEED) == 0);
  return code;
}

int Window::flush(int target, bool local) noexcept {
  if (TERN_LIKELY(static_cast<size_t>(target) < targets_.size() && epoch_.passive(target) &&
                  messages_ == nullptr && log_ == nullptr)) {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    look_around();
    return MPI_SUCCESS;
  }
  if (target == MPI_PROC_NULL) return MPI_SUCCESS;
  int code = check_target(target);
  if (code == MPI_SUCCESS) code = epoch_.may_flush(target);
  return code == MPI_SUCCESS ? finish(target, local) : code;
}

int Window::flush_all(bool local) noexcept {
  const int code = epoch_.may_flush();
  return code == MPI_SUCCESS ? finish(-1, local) : code;
}

int Window::sync() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  look_around();
  return MPI_SUCCESS;
}

int Window::check_target(int rank) const noexcept {
  if (rank >= 0 && rank < communicator_->size()) return MPI_SUCCESS;
  return fail(MPI_ERR_RANK, "the target rank is %d, but %s has ranks 0..%d", rank, words().c_str(),
              communicator_->size() - 1);
}

int Window::shared_query(int rank, Part* part) noexcept {
  if (dynamic())
    return fail(MPI_ERR_RMA_FLAVOR, "%s is dynamic: it has no memory of its own to ask for",
                words().c_str());
  const bool lowest = rank == MPI_PROC_NULL;
  for (int i = 0; lowest && i < size() && rank == MPI_PROC_NULL; ++i)
    if (is_local(i) && target(i).size > 0) rank = i;
  *part = {};
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;  // none has memory
  if (const int code = check_target(rank); code != MPI_SUCCESS) return code;
  const Target& there = target(rank);
  if (there.memory == nullptr && rank != this->rank()) return MPI_SUCCESS;
  const bool has_place = there.size > 0 || contiguous;
  *part = {there.size, there.unit, has_place ? there.memory : nullptr};
  return MPI_SUCCESS;
}

int Window::leave() noexcept {
  int code = epoch_.may_free();
  if (code == MPI_SUCCESS) code = finish(-1, false);
  if (code != MPI_SUCCESS) return code;
  code = barrier();
  if (messages_ != nullptr && code == MPI_SUCCESS) messages_->drain();
  return code;
}

}  // namespace tern::rma
