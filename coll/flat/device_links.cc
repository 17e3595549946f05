// SPDX-License-Identifier: Apache-2.0
#include "coll/flat/device_links.hpp"

#include <algorithm>
#include <cstring>
#include <memory>

#include "base/pattern.hpp"
#include "core/datatype_device.hpp"
#include "core/op.hpp"
#include "core/process.hpp"
#include "cuda/kernels.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr const char* kName = "a trial of the links between devices";
constexpr size_t kPattern = 65536;
constexpr size_t kMark = 256;  // each rank writes a mark after the pattern

std::vector<uint64_t> pattern_of(int rank, uint64_t salt, size_t bytes) {
  const uint64_t seed = (static_cast<uint64_t>(rank) + 1) * 0x9e3779b97f4a7c15 + salt;
  return tern::pattern_of(seed, bytes / sizeof(uint64_t));
}

class Trial {
 public:
  Trial(core::Process& process, Slots& slots, pml::Pml& pml, cuda::Job& job,
        const std::vector<cuda::Uuid>& devices);

  /// A rank without a block says so in meet().
  void open();
  void read_and_write();
  void check_marks();
  [[nodiscard]] DeviceLinks::State state(int rank) const {
    return states_[static_cast<size_t>(rank)];
  }
  /// meet() exchanges whether the ranks wrote.
  void meet();

 private:
  using State = DeviceLinks::State;
  [[nodiscard]] State state_if(bool right) const {
    return job_.failed() ? State::kUntried : right ? State::kGood : State::kBad;
  }
  [[nodiscard]] bool reads(int rank, const std::byte* there);
  [[nodiscard]] bool load_by_kernel(std::byte* to, const std::byte* from);
  [[nodiscard]] bool holds(const std::byte* device, const std::vector<uint64_t>& pattern);
  [[nodiscard]] size_t mark_at(int rank) const {
    return kPattern + static_cast<size_t>(rank) * kMark;
  }

  core::Process& process_;
  Slots& slots_;
  pml::Pml& pml_;
  cuda::Job& job_;
  const int rank_, ranks_;
  cuda::Block block_, aside_;
  std::vector<std::unique_ptr<pml::MappedPeerMemory>> there_;
  std::vector<State> states_;
  std::vector<bool> is_other_;
  bool written_ = false;
  std::vector<bool> wrote_;
};

Trial::Trial(core::Process& process, Slots& slots, pml::Pml& pml, cuda::Job& job,
             const std::vector<cuda::Uuid>& devices)
    : process_(process),
      slots_(slots),
      pml_(pml),
      job_(job),
      rank_(slots.rank()),
      ranks_(slots.ranks()),
      there_(devices.size()),
      wrote_(devices.size(), false) {
  for (const cuda::Uuid& device : devices) {
    is_other_.push_back(!(device == job.device().uuid));
    states_.push_back(is_other_.back() ? State::kUntried : State::kGood);
  }
}

void Trial::open() {
  pml::MemoryHandle mine{};
  block_ = cuda::Block(job_, mark_at(ranks_));
  aside_ = cuda::Block(job_, kPattern);
  if (block_.valid() && aside_.valid()) {
    const auto pattern = pattern_of(rank_, 0, kPattern);
    job_.copy(block_.data(), pattern.data(), kPattern);
    if (!job_.finish() || !pml_.offer(job_.device(), block_.data(), block_.bytes(), &mine))
      mine = {};
  }
  slots_.begin(kName);
  std::memcpy(slots_.claim(), &mine, sizeof mine);
  slots_.post(sizeof mine);
  for (int i = 0; i < ranks_; ++i) {
    if (i == rank_) continue;
    pml::MemoryHandle handle;
    std::memcpy(&handle, slots_.await(i).data(), sizeof handle);
    if (state(i) != State::kUntried || !aside_.valid()) continue;
    const auto at = static_cast<size_t>(i);
    there_[at] = pml_.map(handle, job_.device());
    if (there_[at] == nullptr && pml_.avoids(job_.device().uuid, handle.device))
      states_[at] = State::kBad;
  }
  slots_.awaited_all();
  slots_.end();
}

void Trial::read_and_write() {
  const auto mark = pattern_of(rank_, 1, kMark);
  if (aside_.valid()) job_.copy(aside_.data(), mark.data(), kMark);
  written_ = aside_.valid();
  for (int i = 0; i < ranks_; ++i) {
    const auto& there = there_[static_cast<size_t>(i)];
    written_ &= there != nullptr || state(i) == State::kGood;
    if (there != nullptr) job_.copy(there->address + mark_at(rank_), aside_.data(), kMark);
  }
  written_ &= job_.finish();
  for (int i = 0; i < ranks_; ++i) {
    const auto at = static_cast<size_t>(i);
    if (there_[at] != nullptr && written_) states_[at] = state_if(reads(i, there_[at]->address));
  }
}

bool Trial::reads(int rank, const std::byte* there) {
  const auto pattern = pattern_of(rank, 0, kPattern);
  job_.copy(aside_.data(), there, kPattern);
  if (!holds(aside_.data(), pattern)) return false;
  if (job_.device().kernels() == nullptr) return true;
  job_.set(aside_.data(), 0);  // exposes a load without effect
  return load_by_kernel(aside_.data(), there) && holds(aside_.data(), pattern);
}

bool Trial::load_by_kernel(std::byte* to, const std::byte* from) {
  const auto plan = core::device_reduction(core::predefined_op(process_, Reduction::kBor),
                                           core::predefined_type(process_, MPI_UINT64_T));
  cuda::Kernels* const kernels = job_.device().kernels();
  if (!plan) return false;
  const cuda::Current current(job_.device());
  const void* const source = from;
  job_.mark();
  job_.note("cuLaunchKernel",
            kernels->reduce(job_.stream(), plan->operation, plan->plan, &source, 1, to,
                            static_cast<int64_t>(kPattern / sizeof(uint64_t))));
  return true;
}

bool Trial::holds(const std::byte* device, const std::vector<uint64_t>& pattern) {
  std::vector<uint64_t> found(pattern.size());
  job_.copy(found.data(), device, found.size() * sizeof(uint64_t));
  return job_.finish() && found == pattern;
}

void Trial::check_marks() {
  there_.clear();
  for (int i = 0; i < ranks_; ++i) {
    const auto at = static_cast<size_t>(i);
    if (!is_other_[at] || states_[at] != State::kGood) continue;
    const bool right = holds(block_.data() + mark_at(i), pattern_of(i, 1, kMark));
    states_[at] = wrote_[at] ? state_if(right) : State::kUntried;
  }
}

void Trial::meet() {
  slots_.begin(kName);
  std::memcpy(slots_.claim(), &written_, sizeof written_);
  slots_.post(sizeof written_);
  for (int i = 1; i < ranks_; ++i) {
    const int from = (rank_ + i) % ranks_;
    bool wrote = false;
    std::memcpy(&wrote, slots_.await(from).data(), sizeof wrote);
    wrote_[static_cast<size_t>(from)] = wrote;
  }
  slots_.awaited_all();
  slots_.end();
}

}  // namespace

DeviceLinks::State DeviceLinks::between(const cuda::Uuid& own,
                                        const cuda::Uuid& other) const noexcept {
  if (own == other) return State::kGood;
  for (const TriedLink& link : links_)
    if (link.own == own && link.other == other) return link.good ? State::kGood : State::kBad;
  return State::kUntried;
}

void DeviceLinks::remember(const cuda::Uuid& own, const cuda::Uuid& other, bool good) {
  if (own == other) return;
  for (TriedLink& link : links_)
    if (link.own == own && link.other == other) {
      link.good = link.good && good;
      return;
    }
  links_.push_back({own, other, good});
}

bool DeviceLinks::try_all(core::Process& process, Slots& slots, pml::Pml& pml, cuda::Job& job,
                          const std::vector<cuda::Uuid>& devices) {
  Trial trial(process, slots, pml, job, devices);
  trial.open();
  trial.read_and_write();
  trial.meet();
  trial.check_marks();
  trial.meet();  // peers unmap before the block is freed
  bool all = true;
  for (int i = 0; i < slots.ranks(); ++i) {
    const cuda::Uuid& other = devices[static_cast<size_t>(i)];
    const State state = trial.state(i);
    all &= state == State::kGood;
    if (state == State::kUntried) continue;
    if (state == State::kBad) pml.avoid(job.device().uuid, other);
    remember(job.device().uuid, other, state == State::kGood);
  }
  return all;
}

}  // namespace tern::coll
