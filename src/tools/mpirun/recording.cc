// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/recording.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace tern::mpirun {
namespace {

constexpr double kBusyRound = 0.001, kRound = 0.005;  // seconds between drains

}  // namespace

Recording::Recording(Loop& loop, Wanted& wanted, trace::Claim profile, const JobFacts& facts,
                     std::function<void(const std::string&)> say)
    : loop_(loop),
      file_(wanted.trace),
      facts_(facts),
      say_(std::move(say)),
      wants_profile_(wanted.profile),
      profile_(std::move(profile)),
      sizes_(file_.valid() ? trace::ring_sizes(wanted.buffer) : trace::AreaSizes{}),
      memory_(make_memfd("tern-trace", sizes_.bytes() * static_cast<size_t>(facts.size))),
      map_(Mapping::shared(memory_.get(), sizes_.bytes() * static_cast<size_t>(facts.size))) {
  drains_.resize(static_cast<size_t>(facts.size));
  if (file_.valid()) loop_.after(kRound, this, [this] { run(); });
}

Recording::~Recording() {
  loop_.forget_timers(this);
  for (const auto& drain : drains_)
    if (drain != nullptr) drain->finish("left behind", true);
  complain();
}

std::string Recording::words() const {
  return strf("%d %llu", memory_.get(), static_cast<unsigned long long>(sizes_.ring_records));
}

void Recording::add_rank(int world, int rank, const App& app) {
  std::string command;
  for (const std::string& word : app.command) command += (command.empty() ? "" : " ") + word;
  area(rank).head().magic = trace::kAreaMagic;
  if (rank == 0) program_ = app.command.front();
  if (!file_.valid()) return;
  drains_[static_cast<size_t>(rank)] = std::make_unique<trace::Drain>(
      file_, area(rank), trace::ProcessFacts{world, rank, facts_.size, facts_.host, command});
}

void Recording::end_rank(int rank, const siginfo_t& how, boot::RankState state) {
  const bool exited = how.si_code == CLD_EXITED;
  const bool finalised = exited && how.si_status == 0 && state == boot::RankState::kFinalised;
  const std::string words = finalised ? "finalised"
                            : exited  ? strf("exit %d", how.si_status)
                                      : strf("killed by signal %d", how.si_status);
  const auto& drain = drains_[static_cast<size_t>(rank)];
  if (drain != nullptr) drain->finish(words, !finalised);
  complain();
}

trace::Area Recording::area(int rank) const noexcept {
  return {map_.data() + sizes_.bytes() * static_cast<size_t>(rank), sizes_};
}

std::string Recording::page() {
  if (!wants_profile_) return {};
  trace::Page page(program_);
  for (int rank = 0; rank < facts_.size; ++rank) page.add(rank, area(rank));
  if (page.empty()) return {};
  if (!profile_.fd.valid()) return page.text();
  const std::string error = trace::write_profile(profile_, page.json());
  if (!error.empty()) say_(error);
  return page.text();
}

void Recording::run() {
  size_t most = 0;
  for (const auto& drain : drains_)
    if (drain != nullptr) most = std::max(most, drain->run());
  complain();
  const bool busy = most * 4 > sizes_.ring_records;
  loop_.after(busy ? kBusyRound : kRound, this, [this] { run(); });
}

void Recording::complain() {
  const std::string words = file_.take_complaint();
  if (!words.empty()) say_(words);
}

namespace {

trace::Claim claim_profile(const Wanted& wanted, int world,
                           const std::function<void(const std::string&)>& say) {
  if (wanted.profile_file.empty()) return {};
  const std::string path =
      world == 0 ? wanted.profile_file : strf("%s.world.%d", wanted.profile_file.c_str(), world);
  try {
    trace::Claim claimed = trace::claim(path, "profile");
    if (!claimed.remark.empty()) say(claimed.remark);
    return claimed;
  } catch (const Error& error) {
    if (world == 0) throw;
    say(error.what());
    return {};
  }
}

}  // namespace

std::unique_ptr<Recording> make_recording(Loop& loop, Wanted& wanted, int world,
                                          const JobFacts& facts,
                                          const std::function<void(const std::string&)>& say) {
  if (!wanted.trace.valid() && !wanted.profile) return nullptr;
  trace::Claim profile = claim_profile(wanted, world, say);
  try {
    return std::make_unique<Recording>(loop, wanted, std::move(profile), facts, say);
  } catch (const Error& error) {
    say(strf("the ranks are not recorded: %s", error.what()));
    return nullptr;
  }
}

}  // namespace tern::mpirun
