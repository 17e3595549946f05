// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/wait_log.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace tern::coll {

uint32_t WaitLog::note(const Wait& wait, bool captured) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (captured) {
    captured_.push_back(wait);
    return kCaptured | static_cast<uint32_t>(captured_.size() - 1);
  }
  notes_.resize(kNotes);
  next_note_ = next_note_ % (kKernels - 1) + 1;
  notes_[next_note_ % kNotes] = wait;
  return next_note_;
}

const WaitLog::Wait* WaitLog::find_note(uint32_t number) const noexcept {
  const uint32_t place = (number & kCaptured) != 0 ? number & ~kCaptured : number % kNotes;
  const std::vector<Wait>& notes = (number & kCaptured) != 0 ? captured_ : notes_;
  return place < notes.size() && notes[place].placed != nullptr ? &notes[place] : nullptr;
}

uint32_t WaitLog::current() const noexcept {
  if (const uint32_t wait = reports_.wait_of_stream(); wait != 0) return wait;
  const auto kernel = reports_.waiting();
  if (!kernel) return 0;
  const auto part = static_cast<uint32_t>(kernel->part);
  return kKernels | (kernel->report.number * ScratchLayout::kReports + part) % kKernels;
}

std::string WaitLog::describe(uint32_t wait, std::vector<int>* ranks) const {
  const auto add = [&](int other) {
    if (std::find(ranks->begin(), ranks->end(), other) == ranks->end()) ranks->push_back(other);
  };
  if ((wait & (kCaptured | kKernels)) == kKernels) {
    const auto kernel = reports_.waiting();
    if (!kernel) return {};
    add(kernel->report.peer);
    return describe(*kernel);
  }
  const std::lock_guard<std::mutex> guard(mutex_);
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

std::string WaitLog::describe(const DeviceReports::Kernel& kernel) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const Wait* const note = find_note(kernel.report.call);
  std::string what = "a collective";
  if (note != nullptr)
    what =
        strf("%s %s", name_of(note->placed->schedule.collective), note->placed->schedule.algorithm);
  return strf("%s by a kernel, pass %lld, step %d, thread block %d%s", what.c_str(),
              static_cast<long long>(kernel.report.pass), kernel.report.step, kernel.part,
              (kernel.report.call & kCaptured) != 0 ? ", of a graph" : "");
}

std::string WaitLog::why_given_up() const {
  const auto kernel = reports_.given_up();
  if (!kernel) return {};
  const cuda::KernelReport& report = kernel->report;
  if (report.message == cuda::Instruction::kLength)
    return strf(
        "rank %d sends rank %d a block of a size other than the receiver's counts say, makes "
        "another "
        "call, or has sent more than the receiver took (%s)",
        named(report.peer), named(rank_), describe(*kernel).c_str());
  if (report.state == cuda::KernelReport::kLate)
    return strf(
        "rank %d's kernel timed out waiting for rank %d's %s (%s): did all ranks make the same "
        "calls, "
        "in the same order, with matching counts? Kernels give up after ten times TERN_GPU_TIMEOUT",
        named(rank_), named(report.peer),
        report.message == cuda::Instruction::kCredit ? "credit" : "message",
        describe(*kernel).c_str());
  if (report.peer < 0)
    return strf("rank %d's kernel was ended because a rank takes no further part in collectives",
                named(rank_));
  return strf("rank %d's kernel ended because rank %d's kernel timed out", named(rank_),
              named(report.peer));
}

}  // namespace tern::coll
