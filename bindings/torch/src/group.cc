// SPDX-License-Identifier: Apache-2.0
#include "group.hpp"

#include <algorithm>
#include <utility>

#include "call.hpp"
#include "errors.hpp"
#include "extensions.hpp"
#include "peer_watch.hpp"

namespace torch_tern {

namespace {

WeakList<Group> groups;

}  // namespace

std::shared_ptr<Group> make_group(std::shared_ptr<Session> session, const std::vector<int>& ranks,
                                  const std::string& name, Milliseconds timeout) {
  auto group = std::make_shared<Group>(std::move(session), ranks, name, timeout);
  groups.add(group);
  return group;
}

std::vector<std::shared_ptr<Group>> living_groups() { return groups.living(); }

Group::Group(std::shared_ptr<Session> session, const std::vector<int>& ranks,
             const std::string& name, Milliseconds timeout)
    : timeouts(timeout),
      session_(std::move(session)),
      ranks_(ranks),
      name_(name),
      hang_report_(HangReport::current()),
      lasting_name_(lasting(name)) {
  comm_ = session_->communicator(ranks_, name_);
}

Group::~Group() {
  if (hang_report_ && !is_forked()) {
    PeerWatch::get().note_calls(name_, sequence);
  }
  if (is_forked() || calls_no_more()) {
    (void)stream_comm_.release();
  } else if (!close()) {
    (void)stream_comm_.release();
    session_->abandon();  // a request may stay pending forever
  }
}

bool Group::close() {
  if (fate_.dead() || under_way > 0) {
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

void Group::refuse_dead() const {
  refuse_fork();
  if (fate_.dead()) [[unlikely]] {
    fail("the process group \"" + name_ + "\" has ended: " + fate_.why());
  }
}

void Group::end(const std::string& why) {
  fate_.end([&why] { return why; }, false, [this] { wake_waits(); });
}

// Reads the peers' last calls before the hooks, which may take seconds.
void Group::end_with_report(const std::string& words, bool by_timeout) {
  const auto why = [&] { return words + (hang_report_ ? hang_report_->describe(ranks_) : ""); };
  fate_.end(why, by_timeout, [this] { wake_waits(); });
}

void Group::end_overdue(const std::string& words) { end_with_report(words, true); }

void Group::end_broken(const std::string& words) { end_with_report(words, false); }

void Group::wake_waits() {
  const auto interrupt = extensions().comm_interrupt;
  if (interrupt) {
    interrupt(comm_);
  }
  const std::lock_guard lock(mutex_);
  if (interrupt && stream_comm_) {
    interrupt(stream_comm_->comm());
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
      return alarm->call_.waits_in_vain(member, end);
    });
    if (waiting != alarms_.end()) {
      words = (*waiting)->call_.name();
    }
  }
  if (!words.empty()) {
    end_broken(
        words + " failed, as rank " + std::to_string(member) + " of " + std::to_string(size()) +
        (end.has_died
             ? " has died"
             : " has left after " + std::to_string(end.calls) + " collectives of this group"));
  }
}

bool Group::has_died(int member) const {
  const std::lock_guard lock(mutex_);
  return dead_.count(member) > 0;
}

Group::Alarm::Alarm(Group& group, const Call& call, std::function<void()> ring)
    : group_(group), call_(call), ring_(std::move(ring)) {
  const std::lock_guard lock(group_.mutex_);
  group_.alarms_.insert(this);
  if (group_.fate_.dead()) {
    ring_();
  }
}

Group::Alarm::~Alarm() {
  const std::lock_guard lock(group_.mutex_);
  group_.alarms_.erase(this);
}

}  // namespace torch_tern
