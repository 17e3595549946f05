// SPDX-License-Identifier: Apache-2.0
#include "trace/drain.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "trace/lines.hpp"

namespace tern::trace {

uint32_t Drain::rings() const noexcept {
  if (area_.sizes().ring_records == 0) return 0;
  return std::min(area_.head().threads.load(std::memory_order_acquire), kMostThreads);
}

void Drain::announce() {
  if (announced_) return;
  announced_ = true;
  process_ = file_.next_process();
  file_.definitions(process_,
                    line({"process", std::to_string(facts_.world), std::to_string(facts_.rank),
                          std::to_string(facts_.size), facts_.host,
                          std::to_string(area_.head().pid.load()), facts_.command}));
}

void Drain::run_definitions() {
  const uint64_t end = std::min<uint64_t>(area_.head().definitions.load(std::memory_order_acquire),
                                          kDefinitionBytes);
  if (end <= definitions_) return;
  file_.definitions(process_, {area_.definitions() + definitions_, end - definitions_});
  definitions_ = end;
}

void Drain::run_passing() {
  if (area_.sizes().ring_records == 0) return;
  AreaHead& head = area_.head();
  const uint64_t taken = head.passed.load(std::memory_order_relaxed);
  const uint64_t bytes = head.passing.load(std::memory_order_acquire) - taken;
  if (bytes == 0 || bytes > kPassingBytes) return;
  const size_t at = taken % kPassingBytes;
  const size_t first = std::min<size_t>(bytes, kPassingBytes - at);
  lines_.assign(area_.passing() + at, first);
  lines_.append(area_.passing(), bytes - first);
  head.passed.store(taken + bytes, std::memory_order_release);
  file_.definitions(process_, lines_);
}

// The writer never waits. A record is whole if the writer has not come around to its place during
// the copy; the place after the last written record may be in work.
size_t Drain::run_ring(uint32_t index) {
  const ThreadHead& head = area_.thread(index);
  const Record* const ring = area_.ring(index);
  const uint64_t room = area_.sizes().ring_records;
  uint64_t& taken = rings_[index].taken;
  uint64_t lost = 0;
  const uint64_t written = head.written.load(std::memory_order_acquire);
  if (written <= taken) return 0;
  if (written - taken > room) {
    lost = written - taken - room;
    taken = written - room;
  }
  copy_.clear();
  for (uint64_t i = taken; i < written; ++i) copy_.push_back(ring[i & (room - 1)]);
  std::atomic_thread_fence(std::memory_order_acquire);
  const uint64_t now = head.written.load(std::memory_order_acquire);
  const uint64_t oldest = now + 1 > room ? now + 1 - room : 0;  // whole
  const uint64_t overrun = std::min(oldest > taken ? oldest - taken : 0, written - taken);
  lost += overrun;
  const size_t count = copy_.size() - overrun;
  if (count > 0 || lost > 0) file_.records(process_, index, lost, copy_.data() + overrun, count);
  taken = written;
  records_ += count;
  lost_ += lost;
  return count;
}

size_t Drain::run() {
  if (!has_process() || finished_) return 0;
  announce();
  // Records refer to earlier lines. Lines are cheap to look at, so both are read once more.
  run_definitions();
  run_passing();
  const uint32_t count = rings();
  rings_.resize(std::max<size_t>(rings_.size(), count));
  size_t found = 0;
  for (uint32_t i = 0; i < count; ++i) found += run_ring(i);
  run_definitions();
  run_passing();
  return found;
}

void Drain::draw_open(uint32_t index, int64_t now) {
  const Record& shown = area_.thread(index).open;
  if (shown.begin == 0) return;
  Record open = shown;
  open.end = std::max(now, open.begin);
  open.flags = kOpenAtEnd;
  open.peer = kNoPeer;
  open.tag = -1;
  open.bytes = -1;
  open.comm = open.request = open.detail = open.group = 0;
  open.number = 0;
  file_.records(process_, index, 0, &open, 1);
  ++records_;
}

void Drain::finish(const std::string& words, bool killed) {
  if (finished_ || !has_process()) return;
  run();
  finished_ = true;
  const int64_t now = now_ns();
  for (uint32_t i = 0; killed && i < rings(); ++i) draw_open(i, now);
  const uint64_t lost = lost_ + area_.head().lost.load(std::memory_order_relaxed);
  const uint64_t lines = area_.head().lost_lines.load(std::memory_order_relaxed);
  file_.definitions(process_, line({"end", std::to_string(records_), std::to_string(lost), words,
                                    std::to_string(lines)}));
}

}  // namespace tern::trace
