// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_trace/model.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace tern::trace_tool {
namespace {

struct ShapeRow {
  const char* word;
  Shape shape;
};
// The first word contained in the function's name decides.
constexpr ShapeRow kShapes[] = {
    {"neighbor_", Shape::kNone}, {"reduce_scatter", Shape::kAll}, {"allreduce", Shape::kAll},
    {"allgather", Shape::kAll},  {"bcast", Shape::kFromRoot},     {"scatter", Shape::kFromRoot},
    {"reduce", Shape::kToRoot},  {"gather", Shape::kToRoot},      {"scan", Shape::kPrefix},
    {"comm_free", Shape::kNone}, {"comm_disconnect", Shape::kAll}};

}  // namespace

uint32_t Names::number(const std::string& text) {
  const auto [place, fresh] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
  if (fresh) texts_.push_back(text);
  return place->second;
}

Function function_named(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  Function function{name, Shape::kAll, true};
  for (const ShapeRow& row : kShapes)
    if (lower.find(row.word) != std::string::npos) {
      function.shape = row.shape;
      break;
    }
  for (const char* const word : {"sendrecv", "all", "some", "any"})
    function.single &= lower.find(word) == std::string::npos;
  return function;
}

const Record& Lane::at(size_t index) const noexcept {
  if (spans.size() == 1) return spans[0].first[index];
  const auto after = std::upper_bound(spans.begin(), spans.end(), index,
                                      [](size_t i, const Span& span) { return i < span.before; });
  const Span& span = *(after - 1);
  return span.first[index - span.before];
}

std::string Trace::rank_name(uint32_t process) const {
  if (process >= processes.size()) return "?";
  const Process& one = processes[process];
  return several_worlds ? strf("%d of w%s", one.rank, one.world.c_str()) : strf("%d", one.rank);
}

std::string Trace::site_name(uint32_t site) const {
  const std::string& frames = names.sites.text(site);
  if (frames.empty()) return "unknown place";
  const std::string first = frames.substr(0, frames.find(';'));
  const size_t slash = first.substr(0, first.find('(')).rfind('/');
  return slash == std::string::npos ? first : first.substr(slash + 1);
}

}  // namespace tern::trace_tool
