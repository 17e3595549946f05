// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/team_memory.hpp"

#include <array>
#include <utility>

#include "base/error.hpp"

namespace tern::coll {
namespace {

constexpr size_t kTrialBytes = 4096;
static_assert(kTrialBytes <= ScratchLayout::kLeastRegion);

std::array<uint32_t, kTrialBytes / sizeof(uint32_t)> trial_pattern(int from, int to) noexcept {
  std::array<uint32_t, kTrialBytes / sizeof(uint32_t)> words{};
  uint32_t word = static_cast<uint32_t>(from) * 2654435761U + static_cast<uint32_t>(to) + 1;
  for (uint32_t& one : words) {
    word ^= word << 13;
    word ^= word >> 17;
    word ^= word << 5;
    one = word;
  }
  return words;
}

std::string failure_of(const char* what, const cuda::Job& job) {
  return strf("%s failed: %s", what, job.failure().c_str());
}

}  // namespace

TeamMemory::TeamMemory(int ranks, int rank, cuda::Device& device)
    : rank_(rank),
      device_(device),
      mapped_(static_cast<size_t>(ranks)),
      bases_(static_cast<size_t>(ranks)) {
  layout_.ranks = ranks;
}

std::string TeamMemory::take(const ScratchLayout& layout, size_t more, bool plain) {
  layout_ = layout;
  bytes_ = layout.bytes + more;
  const cuda::Current current(device_);
  const char* function = "cuCtxPushCurrent";
  CUresult result = current.result();
  if (result == CUDA_SUCCESS)
    result = plain ? cuda::allocate_plain(device_.driver, bytes_, &scratch_, &function)
                   : cuda::allocate_exportable(device_.driver, bytes_, 0, &scratch_, &function);
  if (result != CUDA_SUCCESS)
    return strf("no %zu bytes of device memory for the scratch: %s", bytes_,
                cuda::words_of(function, result).c_str());
  bases_[static_cast<size_t>(rank_)] = reinterpret_cast<std::byte*>(scratch_.address);
  return {};
}

void TeamMemory::lie_behind(const TeamMemory& other, const ScratchLayout& layout) noexcept {
  layout_ = layout;
  for (size_t i = 0; i < bases_.size(); ++i)
    if (other.bases_[i] != nullptr) bases_[i] = other.bases_[i] + other.layout_.bytes;
}

// Data semaphores start at 0, credits at 1.
std::string TeamMemory::prepare_words() {
  cuda::Job job(device_);
  const cuda::Current current(device_);
  const auto& driver = device_.driver;
  const auto set = [&](size_t offset, uint32_t value, size_t words) {
    job.mark();
    job.note("cuMemsetD32Async", driver.cuMemsetD32Async(device_pointer(at(rank_, offset)), value,
                                                         words, job.stream()));
  };
  set(0, 0, layout_.local() / ScratchLayout::kWord);
  set(ScratchLayout::one(), 1, 1);
  set(layout_.credit(0, 0), 1, (layout_.words_end() - layout_.credit(0, 0)) / ScratchLayout::kWord);
  return job.finish() ? std::string() : failure_of("preparing the scratch", job);
}

std::string TeamMemory::offer(pml::Pml& pml, pml::MemoryHandle* handle) const {
  return pml.offer(device_, at(rank_, 0), bytes_, handle)
             ? std::string()
             : "the device memory cannot be shared with other ranks";
}

std::string TeamMemory::map(const Mapper& map_of) {
  std::string why;
  for (size_t i = 0; i < mapped_.size(); ++i) {
    if (static_cast<int>(i) == rank_) continue;
    mapped_[i] = map_of(static_cast<int>(i));
    if (mapped_[i] != nullptr)
      bases_[i] = mapped_[i]->address;
    else if (why.empty())
      why = strf("the device cannot map the memory of rank %zu's device", i);
  }
  return why;
}

uint64_t TeamMemory::mapped() const noexcept {
  uint64_t ranks = 0;
  for (size_t i = 0; i < mapped_.size(); ++i)
    if (mapped_[i] != nullptr || static_cast<int>(i) == rank_) ranks |= uint64_t{1} << i;
  return ranks;
}

std::string TeamMemory::write_trial() {
  cuda::Job job(device_);
  std::vector<std::array<uint32_t, kTrialBytes / sizeof(uint32_t)>> patterns;
  patterns.reserve(bases_.size());
  for (int to = 0; to < ranks(); ++to) {
    if (to == rank_) continue;
    patterns.push_back(trial_pattern(rank_, to));
    std::byte* const local = at(rank_, layout_.local());
    job.copy(local, patterns.back().data(), kTrialBytes);
    job.copy(at(to, layout_.inbox(rank_, 0)), local, kTrialBytes);
    job.copy(at(to, layout_.data(rank_, 0, 0)), at(rank_, ScratchLayout::one()),
             ScratchLayout::kWord);
  }
  return job.finish() ? std::string() : failure_of("writing to other ranks' scratch", job);
}

std::string TeamMemory::read_trial() {
  cuda::Job job(device_);
  const cuda::Current current(device_);
  for (int from = 0; from < ranks(); ++from) {
    if (from == rank_) continue;
    std::array<uint32_t, kTrialBytes / sizeof(uint32_t)> found{};
    uint32_t word = 0;
    job.copy(found.data(), at(rank_, layout_.inbox(from, 0)), kTrialBytes);
    job.copy(&word, at(rank_, layout_.data(from, 0, 0)), sizeof word);
    job.set(at(rank_, layout_.data(from, 0, 0)), 0);
    if (!job.finish()) return failure_of("reading the scratch", job);
    if (found != trial_pattern(from, rank_) || word != 1)
      return strf("data of rank %d's device does not arrive in the scratch", from);
  }
  return {};
}

std::string TeamMemory::clear_abort() {
  cuda::Job job(device_);
  job.set(at(rank_, ScratchLayout::abort()), 0);
  return job.finish() ? std::string() : failure_of("clearing the scratch", job);
}

void TeamMemory::end_waits() noexcept {
  if (device_.gone()) return;
  const cuda::Current current(device_);
  if (current.result() != CUDA_SUCCESS) return;
  CUresult error = CUDA_SUCCESS;
  if (rescue_ == nullptr) rescue_ = device_.streams.idle();
  if (rescue_ == nullptr) rescue_ = device_.streams.make(&error);
  if (rescue_ == nullptr) return;
  const auto set = [&](size_t first, uint32_t value, size_t end) {
    (void)device_.driver.cuMemsetD32Async(device_pointer(at(rank_, first)), value,
                                          (end - first) / ScratchLayout::kWord, rescue_->handle);
  };
  set(ScratchLayout::abort(), cuda::kLetGo, ScratchLayout::abort() + ScratchLayout::kWord);
  set(layout_.data(0, 0, 0), 1, layout_.words_end());
}

void TeamMemory::give_back() noexcept {
  if (rescue_ != nullptr) device_.streams.end(std::exchange(rescue_, nullptr));
  if (taken()) (void)cuda::free_exportable(device_.driver, std::exchange(scratch_, {}));
}

}  // namespace tern::coll
