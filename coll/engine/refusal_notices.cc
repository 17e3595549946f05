// SPDX-License-Identifier: Apache-2.0
// Refusals: sends notices and retries failed sends.
#include <algorithm>
#include <new>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "coll/engine/refusal.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

// ns
constexpr int64_t kLongestUntold = 5'000'000'000, kBetweenTries = 10'000'000;

}  // namespace

void Refusals::tell_all(core::Communicator& comm, const Notice& notice) {
  NoticeInFlight& told = tell(notice);
  const auto to_all = [&](core::Communicator& on) {
    for (int rank = 0; rank < on.peer_count(); ++rank)
      if (on.inter() || rank != on.rank()) send(told, on, rank);
  };
  to_all(comm);
  if (comm.inter() && comm.side) to_all(*comm.side);
}

// Releases completed notices first.
NoticeInFlight& Refusals::tell(const Notice& notice) {
  for (NoticeInFlight& told : in_flight_)
    std::erase_if(told.sends, [](core::Request* request) {
      if (!request->done()) return false;
      request->release();
      return true;
    });
  std::erase_if(in_flight_, [](const NoticeInFlight& told) { return told.sends.empty(); });
  return in_flight_.emplace_back(NoticeInFlight{notice, {}});
}

bool Refusals::try_to_send(NoticeInFlight& told, core::Communicator& on, int rank) {
  told.sends.reserve(told.sends.size() + 1);
  core::Request* request = nullptr;
  const pml::Buffer buffer{&told.notice, sizeof told.notice, byte_};
  const int code = channel_.pml->isend_locked(
      buffer, {&on, rank, pml::kRefusalTag, pml::Plane::kCollective}, &request);
  if (code != MPI_SUCCESS) {
    (void)take_last_error();
  } else if (request->done()) {
    request->release();
  } else {
    told.sends.push_back(request);
  }
  return code == MPI_SUCCESS;
}

void Refusals::send(NoticeInFlight& told, core::Communicator& on, int rank) {
  if (on.fate.dead_locked() || process_.deaths.has(on.peer_index(rank)) ||
      try_to_send(told, on, rank))
    return;
  const int64_t now = now_ns();
  unsent_.push_back({told.notice, &on, rank, now, now});
  ++on.pending;
  ++waiting_;
  channel_.progress.stay_awake(1);
}

// Another program may hold the file descriptors for a while.
bool Refusals::try_again(UnsentNotice& one) noexcept {
  one.tried = now_ns();
  if (one.on->fate.dead_locked() || process_.deaths.has(one.on->peer_index(one.rank))) return true;
  try {
    if (try_to_send(tell(one.notice), *one.on, one.rank)) return true;
  } catch (const std::bad_alloc&) {
  }
  if (one.tried - one.since < kLongestUntold) return false;
  const std::string why = strf("rank %d takes no part in a collective, and cannot tell rank %d: %s",
                               one.notice.rank, one.rank, one.notice.why);
  log_line("%s", why.c_str());
  if (process_.abort_job != nullptr) process_.abort_job(&process_, 1, why.c_str());
  return true;
}

void Refusals::send_unsent() noexcept {
  for (size_t i = 0; i < unsent_.size();) {
    if (now_ns() - unsent_[i].tried < kBetweenTries || !try_again(unsent_[i])) {
      ++i;
      continue;
    }
    core::Communicator* const on = unsent_[i].on;
    unsent_.erase(unsent_.begin() + static_cast<ptrdiff_t>(i));
    --waiting_;
    channel_.progress.stay_awake(-1);
    on->operation_ended();
  }
}

}  // namespace tern::coll
