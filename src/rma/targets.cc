// SPDX-License-Identifier: Apache-2.0
#include "rma/targets.hpp"

#include <new>

#include <unistd.h>

#include <utility>

#include "base/clock.hpp"
#include "base/ended.hpp"

namespace tern::rma {

Targets::Targets(core::Process& process, core::Communicator& communicator, int made_by)
    : flavor(made_by),
      pid(::getpid()),
      process_(process),
      communicator_(communicator),
      rank_(communicator.rank()),
      size_(communicator.size()),
      all_(static_cast<size_t>(size_)),
      own_(&(*this)[rank_]) {}

std::string Targets::rank_in_words(int rank) {
  const Control control = (*this)[rank].control;
  if (!control.valid()) return strf("rank %d", rank);
  const int32_t process = control.head().pid.load(std::memory_order_relaxed);
  return process > 0 ? strf("rank %d (pid %d)", rank, process) : strf("rank %d", rank);
}

bool Targets::look_again(int64_t* looked_ns) noexcept {
  constexpr int64_t kPeriodNs = 100'000'000;
  const int64_t now = now_ns();
  if (now - *looked_ns < kPeriodNs) return false;
  return std::exchange(*looked_ns, now) != 0;
}

bool Targets::has_died(int rank) noexcept {
  const Control control = (*this)[rank].control;
  if (!control.valid() || rank == this->rank()) return false;
  return has_ended(control.head().pid.load(std::memory_order_relaxed));
}

int Targets::fail_dead(int rank) noexcept {
  return fail(process_.deaths.lost_class(MPI_ERR_OTHER), "%s ended while this rank waited at %s",
              rank_in_words(rank).c_str(), words().c_str());
}

int Targets::fail_access(int rank, int error) noexcept {
  const char* const known = error_class_name(error);
  return fail(error, "an access to rank %d's memory of %s failed at the target (%s)", rank,
              words().c_str(), known != nullptr ? known : "an error of the target");
}

void Targets::wake(int rank) noexcept {
  Doorbell* const bell = (*this)[rank].bell;
  if (bell != nullptr)
    bell->ring(true);
  else if (rank == this->rank())
    progress().wake();
}

int Targets::find_ranks(const core::Group& group, std::vector<int>* ranks) const noexcept {
  try {
    ranks->reserve(static_cast<size_t>(group.size()));
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for %d ranks", group.size());
  }
  for (int i = 0; i < group.size(); ++i) {
    const int found = communicator_.group().rank_of(group.peer_index(i));
    if (found == MPI_UNDEFINED)
      return fail(MPI_ERR_GROUP, "rank %d of the group (of %d) is not a member of the group of %s",
                  i, group.size(), words().c_str());
    ranks->push_back(found);
  }
  return MPI_SUCCESS;
}

int Targets::check(int rank) const noexcept {
  if (rank >= 0 && rank < size_) return MPI_SUCCESS;
  return fail(MPI_ERR_RANK, "the target rank is %d, but %s has ranks 0..%d", rank, words().c_str(),
              size_ - 1);
}

Shared Targets::elements_of(int rank) noexcept {
  const Target& part = (*this)[rank];
  return {part.control, dynamic() ? nullptr : part.first(), pid};
}

}  // namespace tern::rma
