// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/device_calls.hpp"

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace tern::coll {
namespace {

std::vector<int> peers_of(const core::Communicator& communicator) {
  std::vector<int> peers;
  for (int rank = 0; rank < communicator.size(); ++rank)
    peers.push_back(static_cast<int>(communicator.peer_index(rank)));
  return peers;
}

std::vector<int> names_of(const core::Communicator& communicator) {
  std::vector<int> names;
  for (int rank = 0; rank < communicator.size(); ++rank) names.push_back(communicator.named(rank));
  return names;
}

}  // namespace

DeviceCalls::DeviceCalls(const core::Communicator& communicator, std::shared_ptr<GpuTeam> team)
    : name_(communicator.name.or_words("a communicator")),
      timeout_(communicator.process().params.gpu_timeout * 1000),
      peers_(peers_of(communicator)),
      names_(names_of(communicator)),
      team_(std::move(team)),
      seen_(team_ == nullptr ? 0 : team_->calls.count()) {}

uint32_t DeviceCalls::passed() const noexcept {
  const uint32_t now = team_->calls.passed();
  return closed_.load(std::memory_order_acquire) && static_cast<int32_t>(now - last_) > 0 ? last_
                                                                                          : now;
}

void DeviceCalls::watch() noexcept {
  if (team_ == nullptr) return;
  const uint32_t wait = team_->waits.current();
  if (wait != wait_) {
    wait_ = wait;
    since_ = now_ns();
    return;
  }
  if (TERN_UNLIKELY(wait != 0 && !ordinary_ && team_->abandoned.dead())) return let_go();
  if (wait == 0 || timeout_ == 0 || since_ == 0 || now_ns() - since_ < timeout_) return;
  since_ = 0;
  complain(wait);
}

// Gives each wait 100 ms, because signals may still be on the way.
void DeviceCalls::let_go() noexcept {
  constexpr int64_t kMomentNs = 100'000'000;
  if (now_ns() - since_ < kMomentNs) return;
  since_ = now_ns();
  team_->let_go();
}

int DeviceCalls::look() noexcept {
  if (team_ == nullptr) return 0;
  watch();
  const uint32_t passed = this->passed();
  (void)has_given_up();
  const auto events = static_cast<int>(passed - seen_);
  seen_ = passed;
  return events;
}

// The proxy polls this, because the program may never make another call.
bool DeviceCalls::has_given_up() noexcept {
  if (given_up_ || team_ == nullptr) return given_up_;
  try {
    const std::string why = team_->waits.why_given_up();
    if (why.empty()) return false;
    given_up_ = true;
    if (!team_->abandoned.dead())
      log_line("%s: %s; results of its collectives are undefined from there on", name_.c_str(),
               why.c_str());
  } catch (const std::bad_alloc&) {  // out of memory: no message
  }
  return given_up_;
}

bool DeviceCalls::describe(WaitReport* report) const {
  const uint32_t wait = team_ == nullptr ? 0 : team_->waits.current();
  if (wait == 0) return false;
  std::vector<int> ranks;
  const std::string what = team_->waits.describe(wait, &ranks);
  report->words += strf("%s%s to pass %s", ordinary_ ? "the device's work for " : "the stream of ",
                        name_.c_str(), what.c_str());
  for (const int rank : ranks) report->wait_for(peers_[static_cast<size_t>(rank)]);
  return true;
}

void DeviceCalls::complain(uint32_t wait) const {
  try {
    std::vector<int> ranks;
    const std::string what = team_->waits.describe(wait, &ranks);
    std::string whom;
    for (const int rank : ranks)
      whom += strf("%s%d", whom.empty() ? "" : ", ", names_[static_cast<size_t>(rank)]);
    log_line("%s%s has waited for %.6g s for the device of rank%s %s (%s)%s",
             ordinary_ ? "a collective of device memory on " : "the stream of ", name_.c_str(),
             static_cast<double>(timeout_) / 1e9, ranks.size() == 1 ? "" : "s", whom.c_str(),
             what.c_str(),
             ordinary_ ? "; the device may be busy"
                       : ": all ranks must enqueue the same calls in the same order");
  } catch (const std::bad_alloc&) {  // out of memory: no message
  }
}

}  // namespace tern::coll
