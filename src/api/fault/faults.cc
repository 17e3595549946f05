// SPDX-License-Identifier: Apache-2.0
#include "api/fault/faults.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "api/attempt.hpp"
#include "api/comm/comm_interrupt.hpp"
#include "api/comm/intercomm.hpp"
#include "base/log.hpp"
#include "boot/boot.hpp"
#include "core/communicator.hpp"
#include "core/failed_member.hpp"
#include "mpix.h"
#include "pml/pml.hpp"

namespace tern::api {
namespace {

using core::Communicator;

constexpr size_t kMostEarly = 4096;

Failure revoked(const Communicator& comm) noexcept {
  return failure(MPIX_ERR_REVOKED, "%s is revoked (MPIX_Comm_revoke)",
                 comm.name.or_words("the communicator").c_str());
}

/// A rank tells the ranks at distances of powers of two on both sides, so that deaths of tellers
/// leave other ways; each rank passes the revocation on.
template <class Tell>
void for_neighbours(const Communicator& of, const Tell& tell) {
  const int ranks = of.peer_count(), self = of.inter() ? 0 : of.rank();
  const core::Deaths& deaths = of.process().deaths;
  for (int64_t step = 1; step < ranks; step *= 2)
    for (const int64_t sign : {1, -1}) {
      int rank = static_cast<int>(((self + sign * step) % ranks + ranks) % ranks);
      while (rank != self && deaths.has(of.peer_index(rank)))
        rank = static_cast<int>((rank + sign + ranks) % ranks);
      if (of.inter() || rank != self) tell(rank);
    }
  if (of.inter()) tell(of.rank() % ranks);
}

}  // namespace

std::unique_ptr<FaultTolerance> make_fault_tolerance(core::Process& process) {
  return std::make_unique<Faults>(process);
}

struct Faults::Heard {
  Heard(Faults& owner, core::Channel& of) noexcept : faults(owner), channel(of) {}
  Faults& faults;
  core::Channel& channel;
  bool polled = false;
  std::vector<core::ContextId> ids;
};

// Without fault tolerance, a channel has no poller until the first revocation.
Faults::Faults(core::Process& process) : process_(process) {
  if (process.params.ft != 0) detector_ = std::make_unique<Detector>(process);
  agreements_ = std::make_unique<Agreements>(process, detector_.get());
  for (const auto& channel : process.channels())
    by_channel_.push_back(std::make_unique<Heard>(*this, *channel));
  process.deaths.watch = this;
}

Faults::~Faults() {
  process_.deaths.watch = nullptr;
  process_.deaths.forget_all();
  for (const auto& one : by_channel_) one->channel.progress.remove(one.get());
}

void Faults::start_polling(Heard& heard) {
  if (heard.polled) return;
  heard.channel.progress.add(&Faults::poll, &heard);
  heard.polled = true;
}

void Faults::enter() {
  if (detector_ == nullptr) return;
  if (process_.world_rank == 0 && process_.boot->job().launcher == "Slurm")
    log_line(
        "TERN_FT=1, but Slurm ends a job step after the death of a rank. Cure: start the "
        "ranks by mpirun --with-ft ulfm, or by prterun, in the allocation");
  detector_->enter();
  for (const auto& one : by_channel_) {
    const core::ChannelLock lock(one->channel.progress);
    start_polling(*one);
  }
}

bool Faults::meet() noexcept {
  const auto ranks = static_cast<size_t>(process_.world_size);
  if (!tolerated() || process_.boot->local_ranks().size() == ranks ||
      ranks > fault::HostMemory::kMostMembers)
    return false;
  core::Communicator& world = *process_.world;
  core::Progress& progress = world.channel().progress;
  const core::ChannelLock lock(progress);
  int flag = 1;
  const int code = attempt([&] {
    AgreeRequest& request = *agreements_->start(world, &flag, nullptr);
    progress.wait([&] { return request.done(); },
                  [&](WaitReport* report) { request.describe(report); });
    request.release();
    return MPI_SUCCESS;
  });
  if (code != MPI_SUCCESS)
    log_line("the last agreement of all ranks: %s", take_last_error().text.c_str());
  return true;
}

bool Faults::leave() noexcept {
  if (!tolerated()) return false;
  detector_->leave();
  return true;
}

int Faults::poll(void* of_channel) noexcept {
  auto& heard = *static_cast<Heard*>(of_channel);
  Faults& faults = heard.faults;
  int events = 0;
  if (faults.tolerated()) {
    const int deaths = faults.detector_->poll(heard.channel);
    if (TERN_UNLIKELY(deaths != 0)) {
      faults.pass_on_again(heard.channel);
      faults.end_in_range(heard.channel);
    }
    events = deaths + faults.agreements_->poll(heard.channel);
  }
  if (TERN_UNLIKELY(!heard.ids.empty())) events += faults.take_heard(heard);
  return events;
}

void Faults::heard_revoke(core::Channel& channel, const core::ContextId& id) noexcept {
  Heard& heard = *by_channel_[channel.number];
  try {
    heard.ids.push_back(id);
    start_polling(heard);
  } catch (const std::bad_alloc&) {
    log_line("no memory to take a revocation of a communicator");
  }
}

// The communicator may belong to another channel, whose lock another thread may hold.
int Faults::take_heard(Heard& heard) noexcept {
  int taken = 0;
  for (size_t i = 0; i < heard.ids.size();) {
    const core::ContextId id = heard.ids[i];
    if (!revoke_by_id(id, heard.channel)) {
      ++i;
      continue;
    }
    heard.ids.erase(heard.ids.begin() + static_cast<ptrdiff_t>(i));
    ++taken;
  }
  return taken;
}

bool Faults::revoke_by_id(const core::ContextId& id, core::Channel& here) noexcept {
  core::Channel& channel = process_.channel(id.channel_hint());
  if (&channel != &here && !channel.progress.mutex.try_lock()) return false;
  Communicator* found = nullptr;
  channel.pml->for_communicators([&](Communicator& comm) {
    if (!(comm.id() == id)) return;
    found = &comm;
    ++comm.pending;
  });
  if (found != nullptr) {
    revoke(*found);
    found->operation_ended();
  } else {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (early_.size() == kMostEarly) early_.pop_front();
    early_.push_back(id);
  }
  if (&channel != &here) channel.progress.mutex.unlock();
  return true;
}

void Faults::revoke(Communicator& comm) noexcept {
  if (comm.fate.dead_locked() && comm.fate.code() == MPIX_ERR_REVOKED) return;
  ++comm.pending;  // keeps the communicator while its operations end
  pass_on(comm);
  const Failure why = revoked(comm);
  comm.fate.overrule(why);
  break_off(comm, why);
  comm.operation_ended();
}

void Faults::pass_on(Communicator& comm) noexcept {
  const core::ContextId id = comm.id();
  try {
    const auto tell = [&](Communicator& of) {
      for_neighbours(of, [&](int rank) { (void)of.channel().pml->tell_revoked(of, rank, id); });
    };
    tell(comm);
    if (comm.inter()) tell(own_side(comm));
  } catch (const std::exception&) {
    log_line("no memory to pass on the revocation of a communicator");
  }
}

// A dead rank may have been about to pass on the revocation.
void Faults::pass_on_again(core::Channel& channel) noexcept {
  std::vector<Communicator*> revoked_ones;
  channel.pml->for_communicators([&](Communicator& comm) {
    if (!comm.fate.dead_locked() || comm.fate.code() != MPIX_ERR_REVOKED ||
        !comm.has_failed_member())
      return;
    revoked_ones.push_back(&comm);
    ++comm.pending;
  });
  for (Communicator* const comm : revoked_ones) {
    pass_on(*comm);
    comm->operation_ended();
  }
}

bool Faults::is_in_range(const Communicator& comm) noexcept {
  core::ErrorRange range = core::ErrorRange::kPartners;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    for (const auto& [id, set] : ranges_)
      if (id == comm.id()) range = set;
  }
  return range == core::ErrorRange::kGroup
             ? comm.has_failed_member()
             : range == core::ErrorRange::kUniverse && process_.deaths.count() != 0;
}

void Faults::end_if_in_range(Communicator& comm) noexcept {
  if (comm.fate.dead_locked() || !is_in_range(comm)) return;
  ++comm.pending;  // keeps the communicator while its operations end
  break_off(comm, comm.has_failed_member()
                      ? core::death_in(comm)
                      : failure(MPIX_ERR_PROC_FAILED,
                                "a process has failed, and mpi_error_range of %s is universe",
                                comm.name.or_words("the communicator").c_str()));
  comm.operation_ended();
}

void Faults::end_in_range(core::Channel& channel) noexcept {
  std::vector<Communicator*> all;
  channel.pml->for_communicators([&](Communicator& comm) {
    if (comm.fate.dead_locked() || !is_in_range(comm)) return;
    all.push_back(&comm);
    ++comm.pending;
  });
  for (Communicator* const comm : all) {
    end_if_in_range(*comm);
    comm->operation_ended();
  }
}

void Faults::set_range(Communicator& of, core::ErrorRange range) {
  const std::lock_guard<std::mutex> guard(mutex_);
  std::erase_if(ranges_, [&](const auto& one) { return one.first == of.id(); });
  if (range != core::ErrorRange::kPartners) ranges_.emplace_back(of.id(), range);
}

void Faults::forget(const Communicator& ended) noexcept {
  agreements_->forget(ended);
  const std::lock_guard<std::mutex> guard(mutex_);
  std::erase_if(ranges_, [&](const auto& one) { return one.first == ended.id(); });
}

bool Faults::was_revoked_before(const Communicator& made) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = std::find(early_.begin(), early_.end(), made.id());
  if (found == early_.end()) return false;
  early_.erase(found);
  return true;
}

void Faults::admit(Communicator& made, core::Channel* held) noexcept {
  const bool is_revoked = was_revoked_before(made);
  if (!is_revoked && !is_in_range(made)) return;
  const auto end = [&] { is_revoked ? revoke(made) : end_if_in_range(made); };
  if (held == &made.channel()) return end();
  if (held != nullptr) {
    if (is_revoked) heard_revoke(*held, made.id());
    return;  // the next death ends a communicator in range
  }
  const core::ChannelLock lock(made.channel().progress);
  end();
}

}  // namespace tern::api
