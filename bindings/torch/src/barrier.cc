// SPDX-License-Identifier: Apache-2.0
// The barrier, and the monitored barrier, which names the missing ranks.
#include <algorithm>
#include <sstream>
#include <thread>

#include "backend.hpp"
#include "device_queue.hpp"
#include "signals.hpp"

namespace torch_tern {

namespace {

using std::chrono::microseconds;

// The tags are unlikely in programs: arrival, and rank 0's answer (1: all arrived).
constexpr int kArrived = 0x7ffe0000 - 1;
constexpr int kAnswer = kArrived - 1;

bool give_up(MPI_Request& request) {
  MPI_Cancel(&request);
  MPI_Status status;
  MPI_Wait(&request, &status);
  int is_cancelled = 0;
  MPI_Test_cancelled(&status, &is_cancelled);
  return !is_cancelled;
}

struct Requests {
  explicit Requests(int count) : all(count, MPI_REQUEST_NULL) {}
  ~Requests() {
    for (MPI_Request& request : all) {
      if (request != MPI_REQUEST_NULL) {
        give_up(request);
      }
    }
  }
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  std::vector<MPI_Request> all;
};

// Cancels the request after the deadline or the peer's death, with the reason in `why`.
bool await(const Group& group, int peer, MPI_Request& request, Clock::time_point deadline,
           std::string& why) {
  microseconds nap{20};
  auto next_look = next_look_for_signals();
  for (;;) {
    int is_done = 0;
    const int code = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS) {
      why = sentence(code);
      return false;
    }
    if (is_done) {
      return true;
    }
    const bool has_died = group.has_died(peer);
    if (has_died) {
      why = "rank " + std::to_string(peer) + " has died";
    }
    if (has_died || Clock::now() >= deadline) {
      return give_up(request);
    }
    if (Clock::now() >= next_look) {
      run_signal_handlers();
      next_look = next_look_for_signals();
    }
    std::this_thread::sleep_for(nap);
    nap = std::min(nap * 2, microseconds(1000));
  }
}

std::string listed(const std::vector<int>& ranks) {
  std::ostringstream words;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    words << (i ? ", " : "") << ranks[i];
  }
  return words.str();
}

void answer(const Group& group, const std::vector<int>& ranks, char word) {
  for (const int rank : ranks) {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Isend(&word, 1, MPI_CHAR, rank, kAnswer, group.comm(), &request));
    std::string why;
    await(group, rank, request, Clock::now() + std::chrono::seconds(1), why);
  }
}

void await_others(const Group& group, Milliseconds timeout, bool waits_for_all) {
  const int size = group.size();
  const auto deadline = Clock::now() + timeout;
  std::vector<int> here, missing;
  std::string why = "Rank 0 timed out in monitoredBarrier";
  std::vector<char> words(size);
  Requests requests(size);
  for (int rank = 1; rank < size; ++rank) {
    check(MPI_Irecv(&words[rank], 1, MPI_CHAR, rank, kArrived, group.comm(), &requests.all[rank]));
  }
  for (int rank = 1; rank < size; ++rank) {
    const bool is_late = !missing.empty() && !waits_for_all;
    const bool is_here =
        await(group, rank, requests.all[rank], is_late ? Clock::now() : deadline, why);
    (is_here ? here : missing).push_back(rank);
  }
  answer(group, here, missing.empty() ? 1 : 0);
  if (missing.empty()) {
    return;
  }
  std::ostringstream sentence;
  if (waits_for_all) {
    sentence << "[Rank 0]: Ranks " << listed(missing);
  } else {
    sentence << "[Rank 0]: Rank " << missing.front();
  }
  sentence << " failed to pass monitoredBarrier in " << timeout.count() << " ms (" << why << ")";
  fail(sentence.str());
}

void await_first(const Group& group, int own, Milliseconds timeout) {
  const auto deadline = Clock::now() + timeout;
  char word = 1, all_are_here = 0;
  Requests requests(1);
  MPI_Request& request = requests.all.front();
  check(MPI_Isend(&word, 1, MPI_CHAR, 0, kArrived, group.comm(), &request));
  std::string why = "no answer from rank 0";
  bool is_answered = await(group, 0, request, deadline, why);
  if (is_answered) {
    check(MPI_Irecv(&all_are_here, 1, MPI_CHAR, 0, kAnswer, group.comm(), &request));
    is_answered = await(group, 0, request, deadline, why);
  }
  if (!is_answered || !all_are_here) {
    std::ostringstream sentence;
    sentence << "[Rank " << own << "]: Rank " << own
             << " successfully reached monitoredBarrier, but received errors while waiting for "
                "send/recv from rank 0: "
             << (is_answered ? "rank 0 misses other ranks" : why) << " after " << timeout.count()
             << " ms. Please check rank 0 logs for faulty rank.";
    fail(sentence.str());
  }
}

}  // namespace

WorkPointer Backend::barrier(const c10d::BarrierOptions& options) {
  auto operation = start("barrier", options);
  operation->describe(Description("barrier"));
  operation->issue(MPI_Barrier, MPI_Ibarrier, comm());
  return finish(operation, c10d::OpType::BARRIER, "tern:barrier", {}, {});
}

void Backend::monitoredBarrier(const c10d::BarrierOptions& options, bool waits_for_all) {
  group_->refuse_dead();
  group_->sequence++;
  DeviceQueue::get().await_begun(*group_);
  const Milliseconds timeout =
      options.timeout < Milliseconds::zero() ? options_->timeout : options.timeout;
  rank_ == 0 ? await_others(*group_, timeout, waits_for_all) : await_first(*group_, rank_, timeout);
}

}  // namespace torch_tern
