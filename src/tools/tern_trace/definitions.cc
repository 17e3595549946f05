// SPDX-License-Identifier: Apache-2.0
// Lines of definitions in a trace file: src/trace/README.md.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

#include "tools/tern_trace/reader.hpp"

namespace tern::trace_tool {
namespace {

constexpr int64_t kLargestOffset = int64_t{1} << 60;
constexpr size_t kLongestText = 4096;
constexpr size_t kMostMembers = size_t{1} << 22;  // of all communicators
constexpr double kSteepestClock = 0.01;

using Fields = std::vector<std::string>;

Fields fields_of(std::string_view line) {
  Fields fields(1);
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\t') {
      if (fields.size() == 16) break;
      fields.emplace_back();
      continue;
    }
    char c = line[i];
    if (c == '\\' && i + 1 < line.size()) {
      const char next = line[++i];
      c = next == 't' ? '\t' : next == 'n' ? '\n' : next;
    }
    fields.back() += c;
  }
  return fields;
}

template <class Number>
bool to_number(std::string_view text, Number* value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *value);
  return error == std::errc() && end == text.data() + text.size();
}

bool read_process(Process* process, const Fields& fields) {
  if (fields.size() < 7) return false;
  process->world = fields[1].substr(0, kLongestText);
  process->host = fields[4].substr(0, kLongestText);
  process->command = fields[6].substr(0, kLongestText);
  return to_number(fields[2], &process->rank) && to_number(fields[3], &process->world_size) &&
         to_number(fields[5], &process->pid);
}

uint32_t list_of(Trace* trace, const std::string& world, const std::string& text) {
  for (size_t i = trace->lists.size(); i-- > 0 && i + 4 > trace->lists.size();)
    if (trace->lists[i].world == world && trace->lists[i].text == text)
      return static_cast<uint32_t>(i);
  const uint32_t number = trace->names.lists.number(world + '\n' + text);
  if (number == trace->lists.size()) trace->lists.push_back({world, text, {}});
  return number;
}

/// A key within one world is "ID-HASH" or "ID-HASH-RANK", and other worlds' members are
/// "wHASH:0-3".
void note_world(Trace* trace, const Process& process, const std::string& key) {
  const size_t dash = key.find('-');
  if (dash == std::string::npos) return;
  const std::string hash = key.substr(dash + 1, key.find('-', dash + 1) - dash - 1);
  trace->world_of_hash.try_emplace(hash, process.world);
}

bool read_comm(Trace* trace, Process* process, const Fields& fields) {
  uint32_t number = 0;
  if (fields.size() < 6 || !to_number(fields[1], &number)) return false;
  note_world(trace, *process, fields[2]);
  process->comms[number] = {trace->names.keys.number(fields[2]),
                            list_of(trace, process->world, fields[4]),
                            list_of(trace, process->world, fields[5])};
  return true;
}

bool read_clock(Process* process, const Fields& fields) {
  ClockLine line;
  if (fields.size() < 4 || !to_number(fields[1], &line.local) ||
      !to_number(fields[2], &line.offset) || !to_number(fields[3], &line.residual))
    return false;
  for (const int64_t value : {line.local, line.offset, line.residual})
    if (value > kLargestOffset || value < -kLargestOffset) return false;
  process->clock_lines.push_back(line);
  return true;
}

bool read_function(Trace* trace, Process* process, const Fields& fields) {
  uint32_t number = 0;
  if (fields.size() < 3 || !to_number(fields[1], &number)) return false;
  const uint32_t name = trace->names.functions.number(fields[2].substr(0, kLongestText));
  if (name == trace->functions.size())
    trace->functions.push_back(function_named(trace->names.functions.text(name)));
  process->functions[number] = name;
  return true;
}

bool read_name(Names* names, std::unordered_map<uint32_t, uint32_t>* numbers,
               const Fields& fields) {
  uint32_t number = 0;
  if (fields.size() < 3 || !to_number(fields[1], &number)) return false;
  (*numbers)[number] = names->number(fields[2].substr(0, kLongestText));
  return true;
}

using Worlds = std::unordered_map<std::string, std::string>;
using ProcessOfRank = std::map<std::pair<std::string, int32_t>, uint32_t>;

/// "0-3,8,7" or "w2:0-3"; stops at a fault or at `*room` members.
void fill_members(Members* members, const ProcessOfRank& processes, const Worlds& worlds,
                  size_t* room) {
  std::string_view text = members->text;
  while (!text.empty() && text != "-") {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    std::string world = members->world;
    if (const size_t colon = std::min(part.find(':'), part.size());
        part.substr(0, 1) == "w" && colon < part.size()) {
      world = part.substr(1, colon - 1);
      if (const auto named = worlds.find(world); named != worlds.end()) world = named->second;
      part.remove_prefix(colon + 1);
    }
    const size_t dash = std::min(part.find('-'), part.size());
    int32_t first = 0, last = 0;
    if (!to_number(part.substr(0, dash), &first) || first < 0) return;
    last = first;
    if (dash < part.size() && !to_number(part.substr(dash + 1), &last)) return;
    for (int64_t rank = first; rank <= last; ++rank) {
      if (*room == 0) return;
      --*room;
      const auto found = processes.find({world, static_cast<int32_t>(rank)});
      members->processes.push_back(found == processes.end() ? Trace::kUnknown : found->second);
    }
  }
}

/// The hash in "wHASH:0-3"; empty for members of the own world.
std::string hash_in(const std::string& members) {
  const size_t at = members.find('w');
  if (at == std::string::npos) return "";
  const size_t colon = members.find(':', at);
  return colon == std::string::npos ? "" : members.substr(at + 1, colon - at - 1);
}

/// Two worlds that share a communicator name each other by hash.
void note_strangers(Trace* trace) {
  std::vector<std::string> hashes;
  for (const Members& members : trace->lists) hashes.push_back(hash_in(members.text));
  std::map<uint32_t, std::map<std::string, std::string>> seen;  // key: world, the other's hash
  for (const Process& process : trace->processes)
    for (const auto& [number, comm] : process.comms) {
      const std::string& hash = hashes[hashes[comm.remote].empty() ? comm.members : comm.remote];
      if (!hash.empty()) seen[comm.key][process.world] = hash;
    }
  for (const auto& [key, worlds] : seen) {
    if (worlds.size() != 2) continue;
    const auto& [one, other_hash] = *worlds.begin();
    const auto& [other, one_hash] = *worlds.rbegin();
    trace->world_of_hash.try_emplace(other_hash, other);
    trace->world_of_hash.try_emplace(one_hash, one);
  }
}

}  // namespace

bool read_definition(Trace* trace, Process* process, std::string_view line) {
  const Fields fields = fields_of(line);
  const std::string& word = fields[0];
  if (word == "process") return read_process(process, fields);
  if (word == "function") return read_function(trace, process, fields);
  if (word == "comm") return read_comm(trace, process, fields);
  if (word == "site") return read_name(&trace->names.sites, &process->sites, fields);
  if (word == "label") return read_name(&trace->names.labels, &process->labels, fields);
  if (word == "detail") return read_name(&trace->names.details, &process->details, fields);
  if (word == "clock") return read_clock(process, fields);
  if (word != "end") return true;
  if (fields.size() < 4 || !to_number(fields[2], &process->lost)) return false;
  process->end = fields[3].substr(0, kLongestText);
  return fields.size() < 5 || to_number(fields[4], &process->lost_lines);
}

void resolve_members(Trace* trace) {
  ProcessOfRank processes;
  for (uint32_t p = 0; p < trace->processes.size(); ++p) {
    const Process& process = trace->processes[p];
    if (process.rank < 0) continue;
    const bool fresh = processes.try_emplace({process.world, process.rank}, p).second;
    if (!fresh)
      trace->remarks.push_back("rank " + std::to_string(process.rank) + " of world " +
                               process.world + " is there twice: name each file once");
    trace->several_worlds |= process.world != trace->processes[0].world;
  }
  note_strangers(trace);
  size_t room = kMostMembers;
  for (Members& members : trace->lists)
    fill_members(&members, processes, trace->world_of_hash, &room);
  if (room == 0)
    trace->remarks.push_back("communicators have too many members; messages of some are unmatched");
}

void settle_rows(Trace* trace) {
  trace->by_row.resize(trace->processes.size());
  std::iota(trace->by_row.begin(), trace->by_row.end(), 0u);
  std::stable_sort(trace->by_row.begin(), trace->by_row.end(), [&](uint32_t a, uint32_t b) {
    const Process &one = trace->processes[a], &other = trace->processes[b];
    return std::tie(one.world, one.rank) < std::tie(other.world, other.rank);
  });
  for (uint32_t row = 0; row < trace->by_row.size(); ++row)
    trace->processes[trace->by_row[row]].row = row;
}

void settle_clock(Process* process) {
  if (process->clock_lines.empty()) return;
  const auto [first, last] =
      std::minmax_element(process->clock_lines.begin(), process->clock_lines.end(),
                          [](const ClockLine& a, const ClockLine& b) { return a.local < b.local; });
  Clock& clock = process->clock;
  clock = {first->local, first->offset, std::max(first->residual, last->residual), 0};
  if (last->local == first->local) return;
  const double slope = static_cast<double>(last->offset - first->offset) /
                       static_cast<double>(last->local - first->local);
  if (std::abs(slope) <= kSteepestClock) clock.slope = slope;
}

void settle_times(Trace* trace) {
  bool any = false;
  for (Lane& lane : trace->lanes) {
    if (lane.records == 0) continue;
    lane.first = trace->begin_of(lane, lane.at(0));
    for (const Span& span : lane.spans)
      lane.first = std::min(lane.first, trace->begin_of(lane, span.first[0]));
    lane.last = trace->end_of(lane, lane.at(lane.records - 1));
    trace->start = any ? std::min(trace->start, lane.first) : lane.first;
    trace->end = any ? std::max(trace->end, lane.last) : lane.last;
    any = true;
  }
}

}  // namespace tern::trace_tool
