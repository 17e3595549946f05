// SPDX-License-Identifier: Apache-2.0
// GpuTeam: scratch, mapped and tried.
#include "coll/gpu/team.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "coll/algorithms/algorithms.hpp"
#include "coll/lower/lower.hpp"

namespace tern::coll {
namespace {

constexpr size_t kTrialBytes = 4096;  // bytes of a trial
static_assert(kTrialBytes <= ScratchLayout::kLeastRegion);

/// What a rank puts at another: no two pairs have the same.
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

/// The scratch of a twin is a part of so many of the other's.
constexpr size_t kShareOfTwin = 4;

std::string failure_of(const char* what, const cuda::Job& job) {
  return strf("%s failed: %s", what, job.failure().c_str());
}

}  // namespace

GpuTeam::GpuTeam(uint64_t number, std::vector<int> members, int rank, cuda::Device& device)
    : number_(number),
      members_(std::move(members)),
      rank_(rank),
      device_(device),
      mapped_(members_.size()),
      bases_(members_.size()) {
  layout_.ranks = static_cast<int>(members_.size());
}

GpuTeam::~GpuTeam() { end(); }

void GpuTeam::lease(bool on) noexcept {
  if (on || pinned_) {
    leased_.store(true);
    return;
  }
  const auto is_over = [this] { return device_.gone() || device_.stale() || passed() == calls(); };
  if (places_ != nullptr) places_->retire(is_over);
  if (twin_ != nullptr && !twin_->leased()) twin_->lease(false);
  leased_.store(false);
}

// Freeing would wait for all work of the device: where there is some, the memory stays.
void GpuTeam::end() noexcept {
  mapped_.clear();
  if (scratch_.address == 0 || device_.gone() || !device_.is_quiet()) return;
  const cuda::Current current(device_);
  if (current.result() != CUDA_SUCCESS) return;
  const cuda::Exportable scratch = std::exchange(scratch_, {});
  if (multicast_ != nullptr) multicast_->end();
  if (twin_ != nullptr) twin_->give_back();
  give_back();
  (void)cuda::free_exportable(device_.driver, scratch);
}

void GpuTeam::give_back() noexcept {
  places_.reset();
  programs_.give_back();
  if (end_ != nullptr) (void)device_.driver.cuEventDestroy_v2(std::exchange(end_, nullptr));
  if (rescue_ != nullptr) device_.streams.end(std::exchange(rescue_, nullptr));
  lanes_.end();
  if (voice_.here != nullptr)
    device_.release(cuda::Device::Store::kPinned, reinterpret_cast<std::byte*>(voice_.here),
                    voice_.bytes);
  voice_.here = nullptr;
}

std::string GpuTeam::take_scratch(Scratch wanted) {
  const size_t bytes = wanted.bytes;
  layout_.bytes = bytes;
  layout_.lines = no_lines().empty();
  if (layout_.lines && !layout_.serves()) {
    layout_.lines = false;
    lines_.why_not = "the scratch has no room for them; a larger TERN_GPU_SCRATCH helps";
  }
  if (!layout_.serves())
    return strf(
        "its scratch of %zu bytes is too small for %d ranks; a larger TERN_GPU_SCRATCH helps",
        bytes, layout_.ranks);
  ScratchLayout small = layout_;
  small.bytes = bytes / kShareOfTwin;
  small.lines = layout_.lines && small.serves();
  const size_t more = wanted.twin && small.serves() ? small.bytes : 0;
  {
    const cuda::Current current(device_);
    const char* function = "cuCtxPushCurrent";
    CUresult result = current.result();
    if (result == CUDA_SUCCESS)
      result =
          wanted.plain
              ? cuda::allocate_plain(device_.driver, bytes + more, &scratch_, &function)
              : cuda::allocate_exportable(device_.driver, bytes + more, 0, &scratch_, &function);
    if (result != CUDA_SUCCESS)
      return strf("no %zu bytes of device memory for its scratch: %s", bytes + more,
                  cuda::words_of(function, result).c_str());
  }
  if (std::string why = prepare_in(reinterpret_cast<std::byte*>(scratch_.address)); !why.empty())
    return why;
  return more == 0 ? std::string() : make_twin(small);
}

std::string GpuTeam::prepare_in(std::byte* scratch) {
  bases_[static_cast<size_t>(rank_)] = scratch;
  if (std::string why = prepare_words(); !why.empty()) return why;
  if (std::string why = make_voice(); !why.empty()) return why;
  return programs_.prepare();
}

// Behind the own scratch.
std::string GpuTeam::make_twin(const ScratchLayout& layout) {
  twin_ = std::make_shared<GpuTeam>(number_, members_, rank_, device_);
  twin_->layout_ = layout;
  twin_->lines_ = lines_;
  if (!layout.lines && lines_.why_not.empty())
    twin_->lines_.why_not = "the scratch of a duplicate has no room for them";
  twin_->no_multicast_ = "it is a duplicate's";
  return twin_->prepare_in(at(rank_, layout_.bytes));
}

std::string GpuTeam::offer(pml::Pml& pml, pml::MemoryHandle* handle) const {
  const size_t more = twin_ == nullptr ? 0 : twin_->layout_.bytes;
  return pml.offer(device_, at(rank_, 0), layout_.bytes + more, handle)
             ? std::string()
             : "its device memory cannot be shared with other ranks";
}

// Data words are 0, credits 1, and a word is always 1.
std::string GpuTeam::prepare_words() {
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
  return job.finish() ? std::string() : failure_of("preparing its scratch", job);
}

std::string GpuTeam::map(const Mapper& map_of) {
  std::string why;
  for (size_t i = 0; i < mapped_.size(); ++i) {
    if (static_cast<int>(i) == rank_) continue;
    mapped_[i] = map_of(static_cast<int>(i));
    if (mapped_[i] != nullptr)
      bases_[i] = mapped_[i]->address;
    else if (why.empty())
      why = strf("its device does not map the memory of rank %zu's", i);
    if (twin_ != nullptr && mapped_[i] != nullptr) twin_->bases_[i] = bases_[i] + layout_.bytes;
  }
  return why;
}

uint64_t GpuTeam::mapped() const noexcept {
  uint64_t ranks = 0;
  for (size_t i = 0; i < mapped_.size(); ++i)
    if (mapped_[i] != nullptr || static_cast<int>(i) == rank_) ranks |= uint64_t{1} << i;
  return ranks;
}

std::string GpuTeam::write_trial() {
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

std::string GpuTeam::read_trial() {
  cuda::Job job(device_);
  const cuda::Current current(device_);
  for (int from = 0; from < ranks(); ++from) {
    if (from == rank_) continue;
    std::array<uint32_t, kTrialBytes / sizeof(uint32_t)> found{};
    uint32_t word = 0;
    job.copy(found.data(), at(rank_, layout_.inbox(from, 0)), kTrialBytes);
    job.copy(&word, at(rank_, layout_.data(from, 0, 0)), sizeof word);
    job.set(at(rank_, layout_.data(from, 0, 0)), 0);
    if (!job.finish()) return failure_of("reading its scratch", job);
    if (found != trial_pattern(from, rank_) || word != 1)
      return strf("what rank %d's device writes to its scratch does not arrive", from);
  }
  return {};
}

bool GpuTeam::is_captured(CUstream stream) const noexcept {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  if (device_.driver.cuStreamIsCapturing != nullptr)
    (void)device_.driver.cuStreamIsCapturing(stream, &status);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult GpuTeam::order(CUstream stream) noexcept {
  const cuda::Driver& driver = device_.driver;
  if (end_ == nullptr) return driver.cuEventCreate(&end_, CU_EVENT_DISABLE_TIMING);
  return last_ == stream ? CUDA_SUCCESS : driver.cuStreamWaitEvent(stream, end_, 0);
}

CUresult GpuTeam::end_call(CUstream stream) noexcept {
  last_ = stream;
  const uint32_t number = calls() + 1;
  const CUresult result = device_.driver.cuStreamWriteValue32_v2(
      stream, voice_.at + offsetof(Voice, passed), number, 0);
  if (result != CUDA_SUCCESS) return result;
  calls_.store(number, std::memory_order_release);
  return device_.driver.cuEventRecord(end_, stream);
}

void GpuTeam::keep(std::vector<std::shared_ptr<const void>> what, bool captured) {
  const uint32_t done = passed();
  std::erase_if(kept_,
                [&](const auto& one) { return static_cast<int32_t>(done - one.first) >= 0; });
  for (auto& one : what)
    if (captured)
      kept_for_graphs_.push_back(std::move(one));
    else
      kept_.emplace_back(calls(), std::move(one));
}

std::string GpuTeam::make_voice() {
  const cuda::Current current(device_);
  CUresult result = CUDA_SUCCESS;
  voice_.bytes = sizeof(Voice);
  std::byte* const memory = device_.acquire(cuda::Device::Store::kPinned, &voice_.bytes, &result);
  if (memory == nullptr) return "no pinned memory: " + cuda::words_of("cuMemHostAlloc", result);
  voice_.here = new (memory) Voice;
  lanes_.prepare();
  result = device_.driver.cuMemHostGetDevicePointer_v2(&voice_.at, memory, 0);
  return result == CUDA_SUCCESS ? std::string()
                                : cuda::words_of("cuMemHostGetDevicePointer", result);
}

void GpuTeam::forsake(const std::string& why) noexcept {
  const std::lock_guard<std::mutex> guard(notes_mutex_);
  if (forsaken()) return;
  try {
    why_forsaken_ = why;
  } catch (const std::bad_alloc&) {  // said without a reason
  }
  forsaken_.store(true, std::memory_order_release);
}

std::string GpuTeam::clear_reports() {
  for (cuda::KernelReport& one : voice_.here->reports) one = {};
  cuda::Job job(device_);
  job.set(at(rank_, ScratchLayout::abort()), 0);
  return job.finish() ? std::string() : failure_of("clearing its scratch", job);
}

void GpuTeam::end_kernels() noexcept {
  if (voice_.here == nullptr) return;
  for (cuda::KernelReport& one : voice_.here->reports)
    std::atomic_ref<uint64_t>(one.let_go).store(1, std::memory_order_release);
}

void GpuTeam::let_go() noexcept {
  end_kernels();
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

uint32_t GpuTeam::note(const Wait& wait, bool captured) {
  const std::lock_guard<std::mutex> guard(notes_mutex_);
  if (captured) {
    captured_.push_back(wait);
    return kCaptured | static_cast<uint32_t>(captured_.size() - 1);
  }
  notes_.resize(kNotes);
  next_note_ = next_note_ % (kKernels - 1) + 1;
  notes_[next_note_ % kNotes] = wait;
  return next_note_;
}

const GpuTeam::Wait* GpuTeam::find_note(uint32_t number) const noexcept {
  const uint32_t place = (number & kCaptured) != 0 ? number & ~kCaptured : number % kNotes;
  const std::vector<Wait>& notes = (number & kCaptured) != 0 ? captured_ : notes_;
  return place < notes.size() && notes[place].placed != nullptr ? &notes[place] : nullptr;
}

std::string GpuTeam::describe(uint32_t wait, std::vector<int>* ranks) const {
  const auto add = [&](int other) {
    if (std::find(ranks->begin(), ranks->end(), other) == ranks->end()) ranks->push_back(other);
  };
  if ((wait & (kCaptured | kKernels)) == kKernels) {
    const auto said = said_by_kernels().waiting();
    if (!said) return {};
    add(said->report.peer);
    return describe(*said);
  }
  const std::lock_guard<std::mutex> guard(notes_mutex_);
  const Wait* const note = find_note(wait);
  if (note == nullptr) return {};
  const Schedule& schedule = note->placed->schedule;
  for (size_t i = note->step; i < schedule.steps.size() && schedule.steps[i].verb == Verb::kWait;
       ++i)
    add(note->placed->words[i].other);
  return strf("%s %s, pass %lld, step %zu%s", name_of(schedule.collective), schedule.algorithm,
              static_cast<long long>(note->pass), note->step,
              (wait & kCaptured) != 0 ? " of a graph" : "");
}

std::string GpuTeam::describe(const KernelReports::Said& said) const {
  const std::lock_guard<std::mutex> guard(notes_mutex_);
  const Wait* const note = find_note(said.report.call);
  std::string what = "a collective";
  if (note != nullptr)
    what =
        strf("%s %s", name_of(note->placed->schedule.collective), note->placed->schedule.algorithm);
  return strf("%s by a kernel, pass %lld, step %d, block %d of its threads%s", what.c_str(),
              static_cast<long long>(said.report.pass), said.report.step, said.part,
              (said.report.call & kCaptured) != 0 ? ", of a graph" : "");
}

KernelReports GpuTeam::said_by_kernels() const noexcept {
  return {reports(), multicast_ != nullptr ? ScratchLayout::kReports : ScratchLayout::kParts};
}

uint32_t GpuTeam::waiting() const noexcept {
  if (voice_.here == nullptr) return 0;
  for (const std::atomic<uint32_t>& one : voice_.here->waits)
    if (const uint32_t wait = one.load(std::memory_order_acquire); wait != 0) return wait;
  const auto said = said_by_kernels().waiting();
  if (!said) return 0;
  const auto part = static_cast<uint32_t>(said->part);
  return kKernels | (said->report.number * ScratchLayout::kReports + part) % kKernels;
}

std::string GpuTeam::why_given_up() const {
  if (voice_.here == nullptr) return {};
  const auto said = said_by_kernels().given_up();
  if (!said) return {};
  const cuda::KernelReport& report = said->report;
  if (report.message == cuda::Instruction::kLength)
    return strf(
        "rank %d sends rank %d a block of another size than that one's counts say, makes another "
        "call, or sent more before than was received (%s)",
        named(report.peer), named(rank_), describe(*said).c_str());
  if (report.state == cuda::KernelReport::kLate)
    return strf(
        "rank %d's kernel waited in vain for rank %d's %s (%s): did all ranks make the same calls, "
        "in the same order, with counts that agree? It waits for ten times TERN_GPU_PATIENCE",
        named(rank_), named(report.peer),
        report.message == cuda::Instruction::kCredit ? "leave to write again" : "message",
        describe(*said).c_str());
  if (report.peer < 0)
    return strf("rank %d's kernel was ended, for a rank takes no part any more", named(rank_));
  return strf("rank %d's kernel ended, for rank %d's waited in vain", named(rank_),
              named(report.peer));
}

const Placed& GpuTeam::exchange(Collective what) {
  const auto [found, made] = exchange_.try_emplace(what);
  if (made) {  // who describes a wait reads it
    found->second.schedule.collective = what;
    found->second.schedule.algorithm = "pairwise";
  }
  return found->second;
}

const Placed* GpuTeam::placed(const Algorithm& algorithm, int root, std::string* why) {
  auto& kept = placed_[{&algorithm, root}];
  if (kept != nullptr) return kept.get();
  std::vector<Schedule> all;
  for (int32_t rank = 0; rank < ranks(); ++rank)
    all.push_back(build(algorithm, ranks(), rank, root, nullptr));
  auto made = std::make_unique<Placed>();
  if (!place(lower(all, [](int32_t, int32_t) { return true; }), rank_, made.get(), why))
    return nullptr;
  kept = std::move(made);
  return kept.get();
}

}  // namespace tern::coll
