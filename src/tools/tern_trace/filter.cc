// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_trace/filter.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "mpi.h"
#include "tools/tern_trace/reader.hpp"

namespace tern::trace_tool {
namespace {

bool listed(const Options& options, int32_t rank) {
  return options.ranks.empty() ||
         std::any_of(options.ranks.begin(), options.ranks.end(), [&](const auto& range) {
           return rank >= range.first && rank <= range.second;
         });
}

/// Keeps the records for which `keep` holds.
template <class Keep>
void reduce(Lane* lane, Keep keep) {
  std::vector<Span> kept;
  lane->records = 0;
  for (const Span& span : lane->spans) {
    size_t from = 0;
    for (size_t i = 0; i <= span.count; ++i) {
      if (i < span.count && keep(span.first[i])) continue;
      if (i > from) {
        kept.push_back({span.first + from, i - from, lane->records});
        lane->records += i - from;
      }
      from = i + 1;
    }
  }
  lane->spans.swap(kept);
  lane->device.erase(std::remove_if(lane->device.begin(), lane->device.end(),
                                    [&](const Record* one) { return !keep(*one); }),
                     lane->device.end());
}

void to_region(Trace* trace, Lane* lane, const std::string& region) {
  const auto& labels = trace->processes[lane->process].labels;
  const auto names = [&](const Record& record) {
    const auto found = labels.find(record.site);
    return found != labels.end() && trace->names.labels.text(found->second) == region;
  };
  int64_t depth = 0;
  lane->device.clear();
  reduce(lane, [&](const Record& record) {
    if (record.kind == RecordKind::kRegionBegin && names(record)) ++depth;
    if (record.kind == RecordKind::kRegionEnd && names(record) && depth > 0) --depth;
    return depth > 0;
  });
}

int64_t bound(double seconds, int64_t start, int64_t otherwise) {
  return seconds < 0 || seconds > 1e9 ? otherwise : start + static_cast<int64_t>(seconds * 1e9);
}

}  // namespace

void filter(Trace* trace, const Options& options) {
  const bool times = options.from >= 0 || options.to >= 0;
  if (options.ranks.empty() && !times && options.region.empty()) return;
  const int64_t from = bound(options.from, trace->start, INT64_MIN);
  const int64_t to = bound(options.to, trace->start, INT64_MAX);
  size_t left = 0;
  for (Lane& lane : trace->lanes) {
    if (!listed(options, trace->processes[lane.process].rank)) {
      lane.spans.clear();
      lane.device.clear();
      lane.records = 0;
    }
    if (!options.region.empty()) to_region(trace, &lane, options.region);
    if (times)
      reduce(&lane, [&](const Record& record) {
        return trace->begin_of(lane, record) >= from && trace->end_of(lane, record) <= to;
      });
    left += lane.records;
  }
  if (left == 0)
    throw Error(MPI_ERR_ARG,
                strf("no call of the trace fits --ranks, --from, --to and --region; the run has "
                     "%zu ranks and %.3f s%s",
                     trace->processes.size(), trace->run_seconds(),
                     options.region.empty() ? "" : "; regions come from MPIX_Trace_begin"));
  settle_times(trace);
}

}  // namespace tern::trace_tool
