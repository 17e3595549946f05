// SPDX-License-Identifier: Apache-2.0
// Posts: two counters per pair of ranks, with one writer each.
#include "rma/posts.hpp"

#include <algorithm>

namespace tern::rma {
namespace {

/// Counter and number wrap around.
bool reached(const std::atomic<uint32_t>& counter, uint32_t number) noexcept {
  return static_cast<int32_t>(counter.load(std::memory_order_acquire) - number) >= 0;
}

void describe_ranks(const Targets& targets, const char* what, const std::vector<int>& ranks,
                    WaitReport* report) {
  report->words += strf("%s of %s", what, targets.words().c_str());
  for (const int rank : ranks) core::report_wait_for(targets.communicator().peer(rank), report);
}

}  // namespace

int Posts::post(const core::Group& group, int assertion) noexcept {
  constexpr int kKnown = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
  if ((assertion & ~kKnown) != 0)
    return fail(
        MPI_ERR_ASSERT,
        "assert is %d, but must combine MPI_MODE_NOCHECK, MPI_MODE_NOSTORE and MPI_MODE_NOPUT",
        assertion);
  const core::ChannelLock lock(targets_.progress());
  int code = epoch_.may_post();
  std::vector<int> ranks;
  if (code == MPI_SUCCESS) code = targets_.find_ranks(group, &ranks);
  if (code != MPI_SUCCESS) return code;
  posted_ = std::move(ranks);
  epoch_.posted();
  for (const int to : posted_) {
    ++posts_[static_cast<size_t>(to)];
    if (const int told = tell_posted(to); told != MPI_SUCCESS) code = told;
  }
  return code;
}

int Posts::tell_posted(int to) {
  if (!targets_.is_local(to)) return accesses_.messages->tell(Verb::kPost, to);
  targets_[to].control.posted(targets_.rank()).fetch_add(1);
  targets_.wake(to);
  return MPI_SUCCESS;
}

/// The notice follows earlier messages.
int Posts::tell_completed(int to) {
  if (!targets_.is_local(to) || targets_[to].path == accesses_.messages.get())
    return accesses_.messages->tell(Verb::kComplete, to);
  targets_[to].control.completed(targets_.rank()).fetch_add(1);
  targets_.wake(to);
  return MPI_SUCCESS;
}

int Posts::start(const core::Group& group, int assertion) noexcept {
  if ((assertion & ~MPI_MODE_NOCHECK) != 0)
    return fail(MPI_ERR_ASSERT, "assert is %d, but this call takes 0 or MPI_MODE_NOCHECK",
                assertion);
  const core::ChannelLock lock(targets_.progress());
  int code = epoch_.may_begin_access();
  std::vector<int> ranks;
  if (code == MPI_SUCCESS) code = targets_.find_ranks(group, &ranks);
  if (code != MPI_SUCCESS) return code;
  started_ = std::move(ranks);
  epoch_.begin(Epoch::Access::kStart);
  for (const int to : started_) {
    ++starts_[static_cast<size_t>(to)];
    epoch_.set_reach(to, Epoch::Reach::kStarted);
  }
  return MPI_SUCCESS;
}

int Posts::await_post(int by) noexcept {
  const core::ChannelLock lock(targets_.progress());
  const std::atomic<uint32_t>& counter = targets_.own().control.posted(by);
  const uint32_t number = starts_[static_cast<size_t>(by)];
  const int code =
      reached(counter, number)
          ? MPI_SUCCESS
          : targets_.await([&] { return reached(counter, number); },
                           [&] { return targets_.has_died(by) ? by : -1; },
                           [&](WaitReport* report) {
                             describe_ranks(targets_, "the MPI_Win_post", {by}, report);
                           });
  if (code == MPI_SUCCESS) epoch_.set_reach(by, Epoch::Reach::kPosted);
  return code;
}

int Posts::complete() noexcept {
  int code = epoch_.may_complete();
  if (code != MPI_SUCCESS) return code;
  code = accesses_.finish_before_notice();
  if (TERN_UNLIKELY(accesses_.log != nullptr)) accesses_.log->end(-1);
  const core::ChannelLock lock(targets_.progress());
  for (const int to : started_)
    if (const int told = tell_completed(to); told != MPI_SUCCESS) code = told;
  started_.clear();
  epoch_.end_access();
  return code;
}

bool Posts::has_completed(int by) noexcept {
  return reached(targets_.own().control.completed(by), posts_[static_cast<size_t>(by)]);
}

bool Posts::completed_by_all() noexcept {
  return std::all_of(posted_.begin(), posted_.end(), [this](int by) { return has_completed(by); });
}

int Posts::wait() noexcept {
  const core::ChannelLock lock(targets_.progress());
  int code = epoch_.may_wait();
  if (code != MPI_SUCCESS) return code;
  code = targets_.await([this] { return completed_by_all(); },
                        [this] {
                          for (const int by : posted_)
                            if (targets_.has_died(by) && !has_completed(by)) return by;
                          return -1;
                        },
                        [this](WaitReport* report) {
                          std::vector<int> missing;
                          for (const int by : posted_)
                            if (!has_completed(by)) missing.push_back(by);
                          describe_ranks(targets_, "the MPI_Win_complete", missing, report);
                        });
  if (code != MPI_SUCCESS) return code;
  posted_.clear();
  epoch_.end_exposure();
  return MPI_SUCCESS;
}

int Posts::test(int* flag) noexcept {
  *flag = 0;
  const core::ChannelLock lock(targets_.progress());
  const int code = epoch_.may_wait();
  if (code != MPI_SUCCESS) return code;
  if (!completed_by_all()) (void)targets_.progress().poll_for_caller();
  if (!completed_by_all()) return MPI_SUCCESS;
  *flag = 1;
  posted_.clear();
  epoch_.end_exposure();
  return MPI_SUCCESS;
}

}  // namespace tern::rma
