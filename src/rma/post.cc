// SPDX-License-Identifier: Apache-2.0
// Post, start, complete, wait: two counters for each pair of ranks, one writer each. Who posts
// counts up a word of each origin's; who completes, one of each target's. Nothing is set back.
#include <algorithm>

#include "rma/access_log.hpp"
#include "rma/messages.hpp"
#include "rma/window.hpp"

namespace tern::rma {
namespace {

/// Whether a counter has come to a number; both wrap around.
bool reached(const std::atomic<uint32_t>& counter, uint32_t number) noexcept {
  return static_cast<int32_t>(counter.load(std::memory_order_acquire) - number) >= 0;
}

void describe_ranks(const Window& window, const char* what, const std::vector<int>& ranks,
                    WaitReport* report) {
  report->words += strf("%s of %s", what, window.words().c_str());
  for (const int rank : ranks)
    report->wait_for(static_cast<int>(window.communicator().peer_index(rank)));
}

}  // namespace

int Window::post(const core::Group& group, int assertion) noexcept {
  constexpr int kKnown = MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT;
  if ((assertion & ~kKnown) != 0)
    return fail(MPI_ERR_ASSERT,
                "assert is %d, which is no combination of MPI_MODE_NOCHECK, "
                "MPI_MODE_NOSTORE and MPI_MODE_NOPUT",
                assertion);
  const core::ChannelLock lock(progress());
  int code = epoch_.may_post();
  std::vector<int> ranks;
  if (code == MPI_SUCCESS) code = find_ranks(group, &ranks);
  if (code != MPI_SUCCESS) return code;
  posted_ = std::move(ranks);
  epoch_.posted();
  for (const int to : posted_) {
    ++posts_[static_cast<size_t>(to)];
    if (const int told = tell_posted(to); told != MPI_SUCCESS) code = told;
  }
  return code;
}

int Window::tell_posted(int to) {
  if (!is_local(to)) return messages_->tell(Verb::kPost, to);
  target(to).control.posted(rank()).fetch_add(1);
  wake(to);
  return MPI_SUCCESS;
}

/// Behind the accesses: what went by messages is there before the word of it.
int Window::tell_completed(int to) {
  if (by_messages(to)) return messages_->tell(Verb::kComplete, to);
  target(to).control.completed(rank()).fetch_add(1);
  wake(to);
  return MPI_SUCCESS;
}

int Window::start(const core::Group& group, int assertion) noexcept {
  if ((assertion & ~MPI_MODE_NOCHECK) != 0)
    return fail(MPI_ERR_ASSERT, "assert is %d, but this call takes 0 or MPI_MODE_NOCHECK",
                assertion);
  const core::ChannelLock lock(progress());
  int code = epoch_.may_begin_access();
  std::vector<int> ranks;
  if (code == MPI_SUCCESS) code = find_ranks(group, &ranks);
  if (code != MPI_SUCCESS) return code;
  started_ = std::move(ranks);
  epoch_.begin(Epoch::Access::kStart);
  for (const int to : started_) {
    ++starts_[static_cast<size_t>(to)];
    epoch_.set_reach(to, Epoch::Reach::kStarted);
  }
  return MPI_SUCCESS;
}

int Window::await_post(int by) noexcept {
  const core::ChannelLock lock(progress());
  const std::atomic<uint32_t>& counter = own().control.posted(by);
  const uint32_t number = starts_[static_cast<size_t>(by)];
  const int code =
      reached(counter, number)
          ? MPI_SUCCESS
          : await([&] { return reached(counter, number); }, [&] { return has_died(by) ? by : -1; },
                  [&](WaitReport* report) {
                    describe_ranks(*this, "the MPI_Win_post", {by}, report);
                  });
  if (code == MPI_SUCCESS) epoch_.set_reach(by, Epoch::Reach::kPosted);
  return code;
}

int Window::complete() noexcept {
  int code = epoch_.may_complete();
  if (code != MPI_SUCCESS) return code;
  code = finish(-1, true);
  if (TERN_UNLIKELY(log_ != nullptr)) log_->end(-1);
  const core::ChannelLock lock(progress());
  for (const int to : started_)
    if (const int told = tell_completed(to); told != MPI_SUCCESS) code = told;
  started_.clear();
  epoch_.end_access();
  return code;
}

bool Window::completed_by_all() noexcept {
  return std::all_of(posted_.begin(), posted_.end(), [this](int by) {
    return reached(own().control.completed(by), posts_[static_cast<size_t>(by)]);
  });
}

int Window::wait() noexcept {
  const core::ChannelLock lock(progress());
  int code = epoch_.may_wait();
  if (code != MPI_SUCCESS) return code;
  code = await([this] { return completed_by_all(); },
               [this] {
                 for (const int by : posted_)
                   if (has_died(by) &&
                       !reached(own().control.completed(by), posts_[static_cast<size_t>(by)]))
                     return by;
                 return -1;
               },
               [this](WaitReport* report) {
                 std::vector<int> missing;
                 for (const int by : posted_)
                   if (!reached(own().control.completed(by), posts_[static_cast<size_t>(by)]))
                     missing.push_back(by);
                 describe_ranks(*this, "the MPI_Win_complete", missing, report);
               });
  if (code != MPI_SUCCESS) return code;
  posted_.clear();
  epoch_.end_exposure();
  return MPI_SUCCESS;
}

int Window::test(int* flag) noexcept {
  *flag = 0;
  const core::ChannelLock lock(progress());
  const int code = epoch_.may_wait();
  if (code != MPI_SUCCESS) return code;
  if (!completed_by_all()) (void)progress().poll_for_caller();
  if (!completed_by_all()) return MPI_SUCCESS;
  *flag = 1;
  posted_.clear();
  epoch_.end_exposure();
  return MPI_SUCCESS;
}

}  // namespace tern::rma
