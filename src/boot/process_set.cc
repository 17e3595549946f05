// SPDX-License-Identifier: Apache-2.0
// Process sets as text, for example "0-3,6 ocean".
#include "boot/process_set.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"

namespace tern::boot {
namespace {

std::string_view take(std::string_view* text, char end) {
  const std::string_view piece = text->substr(0, text->find(end));
  text->remove_prefix(std::min(text->size(), piece.size() + 1));
  return piece;
}

bool read_number(std::string_view text, int* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

std::vector<int> read_runs(std::string_view runs, int size) {
  std::vector<int> ranks;
  while (!runs.empty()) {
    std::string_view run = take(&runs, ',');
    int first = 0, last = 0;
    if (!read_number(take(&run, '-'), &first)) continue;
    if (!read_number(run, &last)) last = first;
    for (int rank = std::max(first, 0); rank <= std::min(last, size - 1); ++rank)
      ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

std::string write_sets(const std::vector<ProcessSet>& sets) {
  std::string text;
  for (const ProcessSet& set : sets) {
    for (size_t i = 0; i < set.ranks.size();) {
      size_t last = i;
      while (last + 1 < set.ranks.size() && set.ranks[last + 1] == set.ranks[last] + 1) ++last;
      if (i > 0) text += ',';
      text += strf("%d-%d", set.ranks[i], set.ranks[last]);
      i = last + 1;
    }
    text += ' ' + set.name + '\n';
  }
  return text;
}

std::vector<ProcessSet> read_sets(std::string_view text, int size) {
  std::vector<ProcessSet> sets;
  while (!text.empty()) {
    std::string_view line = take(&text, '\n');
    std::vector<int> ranks = read_runs(take(&line, ' '), size);
    if (!ranks.empty() && !line.empty()) sets.push_back({std::string(line), std::move(ranks)});
  }
  return sets;
}

}  // namespace tern::boot
