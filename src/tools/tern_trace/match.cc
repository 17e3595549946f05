// SPDX-License-Identifier: Apache-2.0
// The n-th receive of a channel belongs to the n-th send.
// Cost: linear if ends come by number, as in files of the library.
#include <algorithm>

#include "tools/tern_trace/analysis.hpp"

namespace tern::trace_tool {
namespace {

/// Indices of `ends` by channel; `bounds` has the first index of each channel.
struct ByChannel {
  std::vector<uint32_t> order, bounds;
};

ByChannel by_channel(const std::vector<End>& ends, size_t channels) {
  ByChannel sorted;
  sorted.bounds.resize(channels + 1);
  for (const End& end : ends) ++sorted.bounds[end.channel + 1];
  for (size_t i = 1; i <= channels; ++i) sorted.bounds[i] += sorted.bounds[i - 1];
  sorted.order.resize(ends.size());
  std::vector<uint32_t> next(sorted.bounds.begin(), sorted.bounds.end() - 1);
  for (uint32_t i = 0; i < ends.size(); ++i) sorted.order[next[ends[i].channel]++] = i;
  const auto less = [&](uint32_t a, uint32_t b) { return ends[a].number < ends[b].number; };
  for (size_t c = 0; c < channels; ++c) {
    const auto first = sorted.order.begin() + sorted.bounds[c];
    const auto last = sorted.order.begin() + sorted.bounds[c + 1];
    if (!std::is_sorted(first, last, less)) std::stable_sort(first, last, less);
  }
  return sorted;
}

}  // namespace

void match(Analysis* analysis) {
  Matching& all = analysis->matching;
  const size_t channels = all.channels.size();
  const ByChannel sends = by_channel(all.sends, channels);
  const ByChannel receives = by_channel(all.receives, channels);
  for (size_t c = 0; c < channels; ++c) {
    uint32_t s = sends.bounds[c], r = receives.bounds[c];
    while (s < sends.bounds[c + 1] && r < receives.bounds[c + 1]) {
      const uint32_t send = sends.order[s], receive = receives.order[r];
      const uint64_t sent = all.sends[send].number, received = all.receives[receive].number;
      if (sent == received) all.messages.push_back({send, receive});
      s += sent <= received;
      r += received <= sent;
    }
  }
  all.lonely_sends = all.sends.size() - all.messages.size();
  all.lonely_receives = all.receives.size() - all.messages.size();
}

}  // namespace tern::trace_tool
