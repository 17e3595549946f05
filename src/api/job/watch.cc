// SPDX-License-Identifier: Apache-2.0
#include "api/job/watch.hpp"

#include <algorithm>
#include <exception>
#include <filesystem>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/shared_file.hpp"
#include "boot/boot.hpp"
#include "core/current_call.hpp"
#include "pml/pml.hpp"
#include "stream/proxy.hpp"

namespace tern::api {
namespace {

constexpr int64_t kPollsHold = 200000000;  // a polling rank may leave MPI

size_t count_threads(const core::Process& process) {
  const std::filesystem::directory_iterator tasks("/proc/self/task"), end;
  size_t own = process.threads.has_progress ? 1 : 0;
  if (process.proxy != nullptr && !process.proxy->waits()) ++own;
  own += static_cast<size_t>(keeper_threads());
  return static_cast<size_t>(std::distance(tasks, end)) - own;
}

/// held() is false if another thread holds a channel.
class OtherLocks {
 public:
  OtherLocks(const core::Process& process, const core::Progress& mine) noexcept {
    for (const auto& channel : process.channels()) {
      if (&channel->progress == &mine) continue;
      if (!channel->progress.mutex.try_lock()) return;
      locked_.push_back(&channel->progress);
    }
    held_ = true;
  }
  OtherLocks(const OtherLocks&) = delete;
  OtherLocks& operator=(const OtherLocks&) = delete;
  ~OtherLocks() {
    for (core::Progress* one : locked_) one->mutex.unlock();
  }
  [[nodiscard]] bool held() const noexcept { return held_; }

 private:
  std::vector<core::Progress*> locked_;
  bool held_ = false;
};

}  // namespace

HangWatch::HangWatch(core::Process& process) noexcept
    : process_(process),
      watched_(process.boot->job().watched),
      answered_(process.boot->question().value) {
  process.boot->tell_call_address(&core::current_call.call);
  if (!watched_ && process.params.hang == 0) return;
  for (const auto& channel : process.channels()) channel->progress.sleepers.set_watch(this);
}

HangWatch::~HangWatch() {
  for (const auto& channel : process_.channels()) channel->progress.sleepers.set_watch(nullptr);
  process_.waits.question.set({});
}

// Sleepers of several channels may call asleep(); a single sleeper reports.
void HangWatch::asleep(core::Progress& progress) noexcept {
  const FutexWord question = process_.boot->question();
  process_.waits.question.set(question);
  const std::unique_lock<std::mutex> speaker(mutex_, std::try_to_lock);
  if (!speaker.owns_lock()) return;
  const OtherLocks others(process_, progress);
  if (!others.held()) return;
  bool only_polls = true;
  int64_t since = 0;
  for (const auto& channel : process_.channels()) {
    if (channel->progress.sleepers.empty()) continue;
    only_polls = false;
    since = std::max(since, channel->progress.sleepers.idle_since_ns());
  }
  if (only_polls) since = progress.polling_since_ns();
  if (!watched_) return speak_up(progress, since);
  process_.boot->tell_waiting(since, only_polls ? now_ns() + kPollsHold : INT64_MAX);
  if (TERN_UNLIKELY(question.value != answered_)) answer(progress, question.value);
}

void HangWatch::awake() noexcept { process_.boot->tell_waiting(0, 0); }

std::vector<WaitReport> HangWatch::reports(const core::Progress& progress) const {
  std::vector<WaitReport> all;
  for (const auto& channel : process_.channels()) channel->progress.sleepers.add_reports(&all);
  if (all.empty() && core::current_call.call != nullptr) {
    all.push_back(progress.polling_report());
    for (const auto& channel : process_.channels()) channel->pml->describe_open(&all[0]);
  }
  const size_t threads =
      process_.threads.level == core::ThreadLevel::kMultiple ? count_threads(process_) : all.size();
  if (threads > all.size())
    all.push_back({"",
                   strf("%zu threads of the rank do not wait in MPI", threads - all.size()),
                   {},
                   true,
                   0});
  return all;
}

void HangWatch::answer(const core::Progress& progress, uint32_t question) noexcept {
  answered_ = question;
  try {
    process_.boot->answer(question, encode(reports(progress), process_.boot->answer_room()));
  } catch (const std::exception& error) {
    log_line("cannot report the waits of this rank: %s", error.what());
  }
}

void HangWatch::speak_up(const core::Progress& progress, int64_t since_ns) noexcept {
  const int64_t waited = now_ns() - since_ns;
  if (waited < process_.params.hang * 1000 || spoken_ == since_ns) return;
  spoken_ = since_ns;
  try {
    for (const WaitReport& report : reports(progress))
      log_line("no progress for %.1f s in %s: %s (TERN_HANG; Tern's mpirun reports all ranks)",
               report.seconds, report.call.c_str(), report.words.c_str());
  } catch (const std::exception& error) {
    log_line("cannot report the waits of this rank: %s", error.what());
  }
}

}  // namespace tern::api
