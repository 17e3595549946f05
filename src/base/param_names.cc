// SPDX-License-Identifier: Apache-2.0
#include "base/param_names.hpp"

#include <algorithm>
#include <cctype>

#include "base/error.hpp"
#include "mpi.h"

namespace tern {
namespace {

size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = up;
    }
  }
  return row[b.size()];
}

// Groups: variables with values PART=VALUE.
constexpr const char* kGroups[] = {"TERN_COLL", "TERN_TEST"};
// Old name, new name.
constexpr const char* kOldNames[][2] = {{"TERN_GPU_PATIENCE", "TERN_GPU_TIMEOUT"}};

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  size_t from = 0;
  for (size_t at; (at = text.find(separator, from)) != std::string::npos; from = at + 1)
    parts.push_back(text.substr(from, at - from));
  parts.push_back(text.substr(from));
  return parts;
}

std::string part_of(const std::string& name) {
  const size_t dot = name.find('.');
  return dot == std::string::npos ? std::string() : name.substr(dot + 1);
}

std::string shown_name(const std::string& name) {
  const std::string part = part_of(name);
  return part.empty() ? name : part + " in " + name.substr(0, name.find('.'));
}

bool is_row(const std::string& name) {
  const std::vector<std::string>& all = param_names().all;
  return std::find(all.begin(), all.end(), name) != all.end();
}

std::string setting(const std::string& name, const std::string& value) {
  const std::string part = part_of(name);
  return part.empty() ? name + "=" + value
                      : strf("%s=\"%s=%s\"", name.substr(0, name.find('.')).c_str(), part.c_str(),
                             value.c_str());
}

std::string line_of_file(const std::string& name, const std::string& value) {
  const std::string part = part_of(name);
  return name.substr(0, name.find('.')) + " = " + (part.empty() ? "" : part + "=") + value;
}

std::string present_name(const std::string& name) {
  for (const auto& [old, present] : kOldNames)
    if (name == old) return present;
  if (is_row(name) || name.compare(0, 5, "TERN_") != 0) return name;
  std::string part = name.substr(5);
  std::transform(part.begin(), part.end(), part.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char* group : kGroups)
    if (is_row(strf("%s.%s", group, part.c_str()))) return strf("%s.%s", group, part.c_str());
  return name;
}

namespace {

/// The listed parameters, or the parts of the same group.
std::vector<std::string> names_beside(const std::string& name) {
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return param_names().listed;
  std::vector<std::string> parts;
  for (const std::string& known : param_names().all)
    if (name.compare(0, dot + 1, known, 0, dot + 1) == 0) parts.push_back(part_of(known));
  return parts;
}

}  // namespace

std::string unknown_name(const std::string& name) {
  const std::string part = part_of(name);
  const std::vector<std::string> known = names_beside(name);
  const std::string near = nearest_name(part.empty() ? name : part, known);
  const std::string text =
      part.empty()
          ? name + " is not a parameter of Tern"
          : strf("%s has no part \"%s\"", name.substr(0, name.find('.')).c_str(), part.c_str());
  if (!near.empty()) return strf("%s; did you mean %s?", text.c_str(), near.c_str());
  std::string all;
  for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
  return strf("%s; Tern has %s", text.c_str(), all.c_str());
}

std::vector<std::pair<std::string, std::string>> parts_of(const std::string& group,
                                                          const std::string& text) {
  std::vector<std::pair<std::string, std::string>> parts;
  if (text.empty()) return parts;
  for (const std::string& piece : split(text, ',')) {
    const size_t equals = piece.find('=');
    const bool begins = equals != std::string::npos && equals != 0;
    if (begins)
      parts.emplace_back(group + "." + piece.substr(0, equals), piece.substr(equals + 1));
    else if (!parts.empty() && !piece.empty())
      parts.back().second += "," + piece;
    else
      throw Error(MPI_ERR_ARG,
                  strf("%s is \"%s\", but it must be NAME=VALUE pairs with commas, such as %s",
                       group.c_str(), text.c_str(),
                       group == "TERN_COLL" ? "allreduce=ring,bcast=chain" : "rma=copied"));
  }
  return parts;
}

bool adds_up(const std::string& name) noexcept {
  return std::any_of(std::begin(kGroups), std::end(kGroups),
                     [&](const char* group) { return name == group; });
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = name.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    const size_t longer = std::max(name.size(), candidate.size());
    if (longer - std::min(name.size(), candidate.size()) >= best_distance) continue;
    const size_t distance = edit_distance(name, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

}  // namespace tern
