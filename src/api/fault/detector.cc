// SPDX-License-Identifier: Apache-2.0
#include "api/fault/detector.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.hpp"
#include "base/ended.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/process_id.hpp"
#include "boot/boot.hpp"
#include "core/communicator.hpp"
#include "core/slabs.hpp"
#include "mpi.h"
#include "pml/pml.hpp"

namespace tern::api {
namespace {

constexpr const char* kMemoryKey = "fault.memory";
constexpr int64_t kBetweenLooksNs = 50'000'000;
constexpr uint32_t kStrangersDeaths = 4096;  // room in the list
constexpr uint32_t kStranger = 0x40000000;   // bit of a number
constexpr uint32_t kUnknown = UINT32_MAX;    // a stranger that this rank has not met

}  // namespace

Detector::Detector(core::Process& process)
    : process_(process), own_(static_cast<uint32_t>(process.boot->job().local_index)) {
  boot::Boot& boot = *process.boot;
  if (own_ != 0) return;
  const fault::HostMemory::Shape shape{static_cast<uint32_t>(boot.size()) + kStrangersDeaths,
                                       static_cast<uint32_t>(boot.local_ranks().size())};
  file_ = make_memfd("tern-fault", fault::HostMemory::bytes_for(shape));
  (void)fault::HostMemory::create(file_.get(), shape);
  offered_ = OfferedFile(file_, OfferedFile::Keep::kYes);
  const FileOffer& offer = offered_.offer();
  boot.put(kMemoryKey, {reinterpret_cast<const char*>(&offer), sizeof offer});
}

void Detector::enter() {
  boot::Boot& boot = *process_.boot;
  if (own_ == 0) {
    memory_ = fault::HostMemory::attach(file_.get());
  } else {
    const std::string text = boot.get(boot.local_ranks().front(), kMemoryKey);
    FileOffer offer;
    if (text.size() != sizeof offer)
      throw Error(MPI_ERR_OTHER,
                  strf("rank %d has no fault tolerance; set TERN_FT to one value on all ranks",
                       boot.local_ranks().front()));
    std::memcpy(&offer, text.data(), sizeof offer);
    const FoundFile found = open_offered(offer, O_RDWR);
    if (!found.valid())
      throw Error(MPI_ERR_OTHER, strf("the failure detector's memory of rank %d: %s",
                                      boot.local_ranks().front(), found.why.c_str()));
    memory_ = fault::HostMemory::attach(found.descriptors.front().get());
  }
  memory_.enter(own_, static_cast<uint32_t>(process_.world_rank), ::getpid(), proc_domain());
  process_.deaths.admit(memory_.shape().deaths);
  if (own_ == 0) await_others();
  boot.put(boot::kDetectorKey, {});
  news_ = boot.hear_deaths();
  question_ = boot.question();
  asked_ = question_.value;
  process_.waits.most_sleep_us =
      std::min(process_.waits.most_sleep_us.load(), kBetweenLooksNs / 1000);
}

// The others open the memory through this process. A rank that dies before is unknown here.
void Detector::await_others() noexcept {
  constexpr int64_t kMostNs = 5'000'000'000, kMostSleepUs = 1000;
  const int64_t since = now_ns();
  uint32_t entered = 0;
  const auto all_entered = [&] {
    while (entered < memory_.shape().members && memory_.has_entered(entered)) ++entered;
    return entered == memory_.shape().members || now_ns() - since > kMostNs;
  };
  core::Progress& progress = process_.channel(0).progress;
  const core::ChannelLock lock(progress);
  progress.wait(
      all_entered, [](WaitReport* report) { report->words += "all ranks to enter MPI"; },
      kMostSleepUs);
}

int Detector::member_of(uint32_t peer_index) const noexcept {
  const std::vector<int>& ranks = process_.boot->local_ranks();
  const auto found = std::lower_bound(ranks.begin(), ranks.end(), static_cast<int>(peer_index));
  return found != ranks.end() && *found == static_cast<int>(peer_index)
             ? static_cast<int>(found - ranks.begin())
             : -1;
}

uint32_t Detector::number_of(uint32_t peer_index) const noexcept {
  const core::Worlds& worlds = process_.worlds;
  if (!worlds.is_stranger(peer_index)) return peer_index;
  const core::ProcessName name = worlds.name_of(peer_index);
  const uint64_t hash = (name.world + name.rank) * 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>(hash >> 34) | kStranger;
}

uint32_t Detector::peer_of(uint32_t number) const {
  if ((number & kStranger) == 0) return number;
  for (const uint32_t peer : process_.worlds.all())
    if (number_of(peer) == number) return peer;
  return kUnknown;
}

void Detector::append(uint32_t number) noexcept {
  fault::DeathList list = memory_.deaths();
  if (list.add(number) == memory_.shape().deaths)
    log_line("the list of %u dead processes is full; ranks may wait for processes that die later",
             memory_.shape().deaths);
  memory_.ring();
}

void Detector::ask_launcher() noexcept {
  if (news_ == nullptr) return;
  for (int rank; (rank = news_->take()) >= 0;) add(static_cast<uint32_t>(rank));
}

bool Detector::finds_dead(uint32_t peer_index) noexcept {
  const int member = member_of(peer_index);
  if (member < 0) {
    ask_launcher();
    const fault::DeathList list = memory_.deaths();
    return list.has(number_of(peer_index), list.length());
  }
  if (!has_died(static_cast<uint32_t>(member))) return false;
  append(peer_index);
  return true;
}

void Detector::add(uint32_t peer_index) noexcept {
  if (!entered() || member_of(peer_index) >= 0 || process_.deaths.has(peer_index)) return;
  append(number_of(peer_index));
  name_late(peer_index);
}

// The list may have had the stranger before this rank met the stranger.
void Detector::name_late(uint32_t peer_index) noexcept {
  const std::lock_guard<std::mutex> follows(looking_);
  core::Deaths& deaths = process_.deaths;
  const uint32_t number = number_of(peer_index);
  try {
    for (uint32_t i = 0; i < deaths.count(); ++i) {
      if (deaths.at(i) != kUnknown || memory_.deaths().at(i) != number) continue;
      late_.push_back(peer_index);
      deaths.rename(i, peer_index);
      late_count_.store(late_.size(), std::memory_order_release);
    }
  } catch (const std::bad_alloc&) {
    log_line("no memory to note the death of a process");
  }
}

int Detector::bury_late(core::Channel& channel) noexcept {
  size_t& buried = buried_late_[channel.number];
  int taken = 0;
  for (; buried < late_count_.load(std::memory_order_acquire); ++buried, ++taken) {
    uint32_t peer_index = 0;
    {
      const std::lock_guard<std::mutex> follows(looking_);
      peer_index = late_[buried];
    }
    bury(channel, peer_index);
  }
  return taken;
}

bool Detector::has_died(uint32_t member) const noexcept {
  const int32_t pid = memory_.pid(member, proc_domain());
  return member != own_ && pid != 0 && !memory_.has_left(member) && has_ended(pid) &&
         !memory_.has_left(member);  // the process may have left between both reads
}

bool Detector::is_due(const core::Progress& progress) noexcept {
  constexpr uint64_t kRoundsBetweenClocks = 1023;
  if (question_.word != nullptr &&
      question_.word->load(std::memory_order_acquire) != asked_.load(std::memory_order_relaxed))
    return true;
  return ((progress.rounds() & kRoundsBetweenClocks) == 0 || progress.is_before_sleep()) &&
         now_ns() >= next_look_ns_.load(std::memory_order_relaxed);
}

// Without an endpoint no transport looks. Channel 0 has opened the memory of all.
void Detector::look_at_strangers(core::Channel& channel) noexcept {
  if (channel.number != 0 || channel.slabs == nullptr || !process_.worlds.any()) return;
  try {
    for (const uint32_t index : process_.worlds.all()) {
      core::Peer& peer = process_.peer(index);
      if (peer.shares_memory && !process_.deaths.has(index) && channel.slabs->has_died(peer))
        add(index);
    }
  } catch (const std::bad_alloc&) {
    log_line("no memory to look at the processes of other worlds");
  }
}

void Detector::look(core::Channel& channel) noexcept {
  look_at_strangers(channel);
  ask_launcher();
  const std::unique_lock<std::mutex> looks(looking_, std::try_to_lock);
  if (!looks.owns_lock()) return;
  if (question_.word != nullptr) asked_ = question_.word->load(std::memory_order_acquire);
  next_look_ns_ = now_ns() + kBetweenLooksNs;
  const fault::DeathList list = memory_.deaths();
  const uint32_t length = list.length();
  for (uint32_t member = 0; member < memory_.shape().members; ++member)
    if (!list.has(memory_.process(member), length) && has_died(member))
      append(memory_.process(member));
}

int Detector::poll(core::Channel& channel) noexcept {
  if (TERN_UNLIKELY(is_due(channel.progress))) look(channel);
  core::Deaths& deaths = process_.deaths;
  uint32_t& buried = buried_[channel.number];
  const fault::DeathList list = memory_.deaths();
  if (TERN_UNLIKELY(late_count_.load(std::memory_order_acquire) != buried_late_[channel.number]))
    return bury_late(channel);
  if (TERN_LIKELY(list.length(buried) == buried)) return 0;
  {
    const std::lock_guard<std::mutex> follows(looking_);
    for (uint32_t length = list.length(); deaths.count() < length;)
      deaths.add(peer_of(list.at(deaths.count())));
  }
  int taken = 0;
  while (buried < deaths.count()) {
    bury(channel, deaths.at(buried++));
    ++taken;
  }
  return taken;
}

void Detector::bury(core::Channel& channel, uint32_t peer_index) noexcept {
  if (peer_index == static_cast<uint32_t>(process_.world_rank)) {
    log_line("another rank has found this rank dead, and goes on without; this rank ends");
    ::_exit(1);
  }
  if (peer_index == kUnknown) return;
  const bool stranger = process_.worlds.is_stranger(peer_index);
  const Failure why =
      failure(process_.deaths.lost_class(),
              "rank %u of %s has failed: the process has ended without leaving MPI",
              process_.peer(peer_index).rank, stranger ? "another world" : "MPI_COMM_WORLD");
  if (channel.number == 0)
    process_.explain.say("lost", {{"lost_rank", uint64_t{peer_index}}, {"why", why.text}},
                         why.text);
  channel.pml->lose(peer_index, why);
}

void Detector::leave() noexcept {
  memory_.leave(own_);
  const auto all_left = [this] {
    process_.waits.awaited.set(memory_.bell());
    const fault::DeathList list = memory_.deaths();
    const uint32_t length = list.length();
    bool all = true;
    for (uint32_t member = 0; member < memory_.shape().members && all; ++member)
      all = memory_.has_left(member) || list.has(memory_.process(member), length);
    return all;
  };
  core::Progress& progress = process_.channel(0).progress;
  memory_.sleeps(true);
  {
    const core::ChannelLock lock(progress);
    progress.wait(all_left, [](WaitReport* report) { report->words += "all ranks"; });
  }
  memory_.sleeps(false);
  process_.waits.awaited.set({});
}

}  // namespace tern::api
