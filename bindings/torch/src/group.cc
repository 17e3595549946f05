// SPDX-License-Identifier: Apache-2.0
// What the operations of one process group share.
#include "group.hpp"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <future>
#include <string_view>
#include <thread>
#include <utility>

#include "errors.hpp"
#include "extensions.hpp"
#include "operation.hpp"
#include "peer_watch.hpp"

namespace torch_tern {

namespace {

std::mutex list_mutex;
std::vector<std::weak_ptr<Group>> groups;
auto& hook_threads = *new std::vector<std::thread>;

// PyTorch's flight recorder has written this one.
bool is_recorder(const std::function<void()>& hook) {
  return std::string_view(hook.target_type().name()).find("FlightRecorder") !=
         std::string_view::npos;
}

// PyTorch's flight recorder imports this within its hook, from a thread that it leaves behind after
// 15 seconds; a thread that still imports when Python ends aborts the process. Here it is waited
// for.
void import_for_report() {
  const pybind11::gil_scoped_acquire python;
  try {
    pybind11::module_::import("torch._inductor.codecache");
  } catch (const pybind11::error_already_set&) {  // the report does without
  }
}

void run_hook(const std::function<void()>& hook) {
  if (is_recorder(hook)) {
    import_for_report();
  }
  try {
    hook();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tern: an abort hook failed: %s\n", error.what());
  }
}

// They write reports, sometimes for many seconds: the calls that wait end after two at the latest.
// So the program's own come first.
void run_hooks(std::map<std::int64_t, std::function<void()>> by_number) {
  if (by_number.empty()) {
    return;
  }
  std::vector<std::function<void()>> hooks;
  for (auto& [number, hook] : by_number) {
    hooks.push_back(std::move(hook));
  }
  std::stable_partition(hooks.begin(), hooks.end(), std::not_fn(is_recorder));
  std::packaged_task<void()> task([hooks = std::move(hooks)] {
    for (const auto& hook : hooks) {
      run_hook(hook);
    }
  });
  const std::future<void> done = task.get_future();
  {
    const std::lock_guard lock(list_mutex);
    hook_threads.emplace_back(std::move(task));
  }
  done.wait_for(std::chrono::seconds(2));
}

}  // namespace

std::shared_ptr<Group> make_group(std::shared_ptr<Session> session, const std::vector<int>& ranks,
                                  const std::string& name, Milliseconds timeout) {
  auto group = std::make_shared<Group>(std::move(session), ranks, name, timeout);
  const std::lock_guard lock(list_mutex);
  std::erase_if(groups, [](const std::weak_ptr<Group>& one) { return one.expired(); });
  groups.push_back(group);
  return group;
}

std::vector<std::shared_ptr<Group>> living_groups() {
  const std::lock_guard lock(list_mutex);
  std::vector<std::shared_ptr<Group>> living;
  for (const std::weak_ptr<Group>& one : groups) {
    if (auto group = one.lock()) {
      living.push_back(std::move(group));
    }
  }
  return living;
}

void await_hooks() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(list_mutex);
    threads.swap(hook_threads);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

Group::Group(std::shared_ptr<Session> session, const std::vector<int>& ranks,
             const std::string& name, Milliseconds timeout)
    : session_(std::move(session)),
      ranks_(ranks),
      name_(name),
      timeout_(timeout),
      hang_report_(HangReport::current()),
      lasting_name_(lasting(name)) {
  comm_ = session_->communicator(ranks_, name_);
}

Group::~Group() {
  if (hang_report_ && !is_forked()) {
    PeerWatch::get().note_calls(name_, sequence);
  }
  if (is_forked() || calls_no_more()) {
    (void)stream_comm_.release();  // MPI is not called any more
  } else if (!close()) {
    (void)stream_comm_.release();
    session_->abandon();  // requests of it may be under way for ever
  }
}

bool Group::close() {
  if (is_dead() || under_way > 0) {
    return false;
  }
  stream_comm_.reset();
  if (comm_ != MPI_COMM_NULL) {
    MPI_Comm_free(&comm_);
  }
  return true;
}

void Group::open_stream_comm(const c10::Device& device) {
  auto made = std::make_unique<StreamComm>(comm_, device);
  const std::lock_guard lock(mutex_);
  stream_comm_ = std::move(made);
}

void Group::extend_timeout(Milliseconds more) {
  const std::lock_guard lock(mutex_);
  extensions_.push_back(std::make_shared<Extension>());
  extensions_.back()->more = more;
  has_extensions_ = true;
}

Milliseconds Group::timeout_of(Milliseconds wanted,
                               std::vector<std::shared_ptr<Extension>>& ending) {
  Milliseconds time = wanted < Milliseconds::zero() ? timeout_.load() : wanted;
  if (!has_extensions_.load(std::memory_order_relaxed)) [[likely]] {
    return time;
  }
  const std::lock_guard lock(mutex_);
  std::erase_if(extensions_, [](const auto& one) { return one->is_over.load(); });
  has_extensions_ = !extensions_.empty();
  for (const auto& one : extensions_) {
    time += one->more;
    if (std::exchange(one->is_new, false)) {
      ending.push_back(one);
    }
  }
  return time;
}

void Group::remember(const std::shared_ptr<Operation>& operation) {
  const std::lock_guard lock(mutex_);
  if (remembered_.size() >= many_remembered_) {
    std::erase_if(remembered_, [](const std::weak_ptr<Operation>& one) { return one.expired(); });
    many_remembered_ = 2 * remembered_.size() + 64;
  }
  remembered_.push_back(operation);
}

std::vector<std::shared_ptr<Operation>> Group::remembered() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Operation>> living;
  for (const std::weak_ptr<Operation>& one : remembered_) {
    if (auto operation = one.lock()) {
      living.push_back(std::move(operation));
    }
  }
  return living;
}

void Group::refuse_dead() const {
  refuse_fork();
  if (is_dead()) [[unlikely]] {
    fail("the process group \"" + name_ + "\" has ended: " + why_dead());
  }
}

// Written once, before is_dead_; so no lock is needed, under which alarms ring.
std::string Group::why_dead() const { return is_dead() ? why_dead_ : std::string(); }

void Group::end(const std::string& why, bool by_timeout) {
  end_with([&why] { return why; }, by_timeout);
}

// Peers are asked before hooks run, which may take seconds.
std::string Group::with_report(const std::string& words) const {
  return words + (hang_report_ ? hang_report_->describe(ranks_) : "");
}

void Group::end_overdue(const std::string& words) {
  end_with([&] { return with_report(words); }, true);
}

void Group::end_broken(const std::string& words) {
  end_with([&] { return with_report(words); }, false);
}

void Group::end_with(const std::function<std::string()>& why, bool by_timeout) {
  if (is_dead()) {
    return;
  }
  const std::lock_guard only_one(ending_);
  std::map<std::int64_t, std::function<void()>> hooks;
  if (std::exchange(is_ending_, true)) {
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    hooks.swap(abort_hooks_);
  }
  why_dead_ = why();
  run_hooks(std::move(hooks));
  timed_out_ = by_timeout;
  is_dead_.store(true, std::memory_order_release);
  if (extensions().comm_interrupt) {
    extensions().comm_interrupt(comm_);
  }
  const std::lock_guard lock(mutex_);
  if (extensions().comm_interrupt && stream_comm_) {
    extensions().comm_interrupt(stream_comm_->comm());
  }
  for (Alarm* alarm : alarms_) {
    alarm->ring_();
  }
}

void Group::note_end_of(const EndOfRank& end) {
  const auto place = std::find(ranks_.begin(), ranks_.end(), end.rank);
  if (place == ranks_.end()) {
    return;
  }
  const int member = static_cast<int>(place - ranks_.begin());
  std::string words;
  {
    const std::lock_guard lock(mutex_);
    if (end.has_died) {
      dead_.insert(member);
    }
    const auto waiting = std::find_if(alarms_.begin(), alarms_.end(), [&](const Alarm* alarm) {
      return alarm->operation_.waits_in_vain(member, end);
    });
    if (waiting != alarms_.end()) {
      words = (*waiting)->operation_.name();
    }
  }
  if (!words.empty()) {
    end_broken(words + " failed, as rank " + std::to_string(member) + " of " +
               std::to_string(ranks_.size()) +
               (end.has_died ? " has died"
                             : " has left after " + std::to_string(end.calls) +
                                   " collectives of this group"));
  }
}

bool Group::has_died(int member) const {
  const std::lock_guard lock(mutex_);
  return dead_.count(member) > 0;
}

Group::Alarm::Alarm(Group& group, const Operation& operation, std::function<void()> ring)
    : group_(group), operation_(operation), ring_(std::move(ring)) {
  const std::lock_guard lock(group_.mutex_);
  group_.alarms_.insert(this);
  if (group_.is_dead_) {
    ring_();
  }
}

Group::Alarm::~Alarm() {
  const std::lock_guard lock(group_.mutex_);
  group_.alarms_.erase(this);
}

void Group::set_abort_hook(std::int64_t id, std::function<void()> hook) {
  const std::lock_guard lock(mutex_);
  abort_hooks_[id] = std::move(hook);
}

void Group::remove_abort_hook(std::int64_t id) {
  const std::lock_guard lock(mutex_);
  abort_hooks_.erase(id);
}

}  // namespace torch_tern
