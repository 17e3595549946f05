// SPDX-License-Identifier: Apache-2.0
#include "trace/ticks.hpp"

#include <cstdio>
#include <cstring>

namespace tern::trace {
namespace {

constexpr int64_t kFirstInterval = 50'000;  // ns
constexpr int64_t kLongestInterval = 100'000'000;

bool ask_kernel() noexcept {
#if defined(__x86_64__)
  char name[16] = {};
  std::FILE* const file =
      std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
  if (file == nullptr) return false;
  const bool read = std::fgets(name, sizeof name, file) != nullptr;
  std::fclose(file);
  return read && std::strcmp(name, "tsc\n") == 0;
#else
  return false;
#endif
}

#if defined(__x86_64__)
/// Both clocks at one time: the reading with the least time between two counters.
void read_both(uint64_t* ticks, int64_t* ns) noexcept {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 4; ++i) {
    const uint64_t before = __rdtsc();
    const int64_t between = now_ns();
    const uint64_t after = __rdtsc();
    if (after - before >= best) continue;
    best = after - before;
    *ticks = before + best / 2;
    *ns = between;
  }
}
#endif

}  // namespace

bool counter_is_clock() noexcept {
  static const bool is = ask_kernel();
  return is;
}

void Ticks::start() noexcept {
#if defined(__x86_64__)
  if (!counter_is_clock()) return;
  read_both(&from_ticks_, &from_ns_);
  while (now_ns() - from_ns_ < kFirstInterval) _mm_pause();
  next_ = 1;
  (void)measure();
#endif
}

int64_t Ticks::measure() noexcept {
#if defined(__x86_64__)
  if (next_ == 0) return now_ns();
  uint64_t ticks = 0;
  int64_t ns = 0;
  read_both(&ticks, &ns);
  // After a long time without calls the factor is still exact: the counter is constant.
  const int64_t passed = std::max<int64_t>(ns - from_ns_, 1);
  const bool long_enough = passed >= kFirstInterval;
  const int64_t before = factor_ == 0 ? ns : at(ticks);
  if (long_enough)
    factor_ = static_cast<uint64_t>((static_cast<unsigned __int128>(passed) << 32) /
                                    std::max<uint64_t>(ticks - from_ticks_, 1));
  interval_ = static_cast<uint64_t>(std::min(passed * 2, kLongestInterval));
  from_ticks_ = ticks;
  from_ns_ = std::max(ns, before);  // no step back
  next_ = ticks + (factor_ == 0 ? 1
                                : static_cast<uint64_t>(
                                      (static_cast<unsigned __int128>(interval_) << 32) / factor_));
  return from_ns_;
#else
  return now_ns();
#endif
}

}  // namespace tern::trace
