// SPDX-License-Identifier: Apache-2.0
// Reading parameters: units, ranges, nearest names.
#include "base/params.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <concepts>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern {
namespace {

struct Unit {
  const char* suffix;
  int64_t factor;
};

constexpr Unit kSizeUnits[] = {{"", 1},          {"b", 1},        {"k", 1 << 10},  {"kb", 1 << 10},
                               {"kib", 1 << 10}, {"m", 1 << 20},  {"mb", 1 << 20}, {"mib", 1 << 20},
                               {"g", 1 << 30},   {"gb", 1 << 30}, {"gib", 1 << 30}};
constexpr Unit kTimeUnits[] = {{"", 1}, {"us", 1}, {"ms", 1000}, {"s", 1000000}};
constexpr Unit kPlain[] = {{"", 1}};

template <size_t N>
int64_t parse_number(const std::string& text, const std::string& what, const Unit (&units)[N]) {
  errno = 0;
  char* end = nullptr;
  const long long number = std::strtoll(text.c_str(), &end, 10);
  std::string suffix(end);
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (end != text.c_str() && errno == 0)
    for (const Unit& unit : units) {
      int64_t value = 0;
      if (suffix == unit.suffix && !__builtin_mul_overflow(number, unit.factor, &value))
        return value;
    }
  std::string known;
  for (const Unit& unit : units)
    if (*unit.suffix != '\0') known += strf("%s%s", known.empty() ? "" : ", ", unit.suffix);
  throw Error(MPI_ERR_ARG,
              strf("%s is \"%s\", which is not a number%s%s", what.c_str(), text.c_str(),
                   known.empty() ? "" : " with one of the units ", known.c_str()));
}

int64_t in_range(int64_t value, const ParamRow& row, const std::string& text) {
  if (value < row.least || value > row.most)
    throw Error(MPI_ERR_ARG,
                strf("%s is \"%s\", but it must be between %lld and %lld", row.name, text.c_str(),
                     static_cast<long long>(row.least), static_cast<long long>(row.most)));
  return value;
}

void assign(std::string& field, const ParamRow&, const std::string& text) { field = text; }
void assign(int64_t& field, const ParamRow& row, const std::string& text) {
  const std::string kind = row.kind;
  const int64_t value = kind == "Size"   ? parse_size(text, row.name)
                        : kind == "Time" ? parse_time_us(text, row.name)
                                         : parse_number(text, row.name, kPlain);
  field = in_range(value, row, text);
}

std::string to_text(const std::string& field) { return field; }
std::string to_text(const char* field) { return field; }
template <std::integral Number>
std::string to_text(Number field) {
  return std::to_string(field);
}

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

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const ParamRow& row : Params::rows()) all.emplace_back(row.name);
  return all;
}

std::string unknown_name(const std::string& name) {
  const std::string near = nearest_name(name, names());
  if (!near.empty())
    return strf("%s is not a parameter of Tern; did you mean %s?", name.c_str(), near.c_str());
  std::string all;
  for (const std::string& known : names()) all += (all.empty() ? "" : ", ") + known;
  return strf("%s is not a parameter of Tern, which are %s", name.c_str(), all.c_str());
}

bool is_foreign(const std::string& name) {
  return std::any_of(std::begin(kForeignNames), std::end(kForeignNames),
                     [&](const char* foreign) { return name == foreign; });
}

void set_or_complain(Params& params, const std::string& name, const char* value,
                     std::vector<std::string>* complaints) {
  try {
    params.set(name, value);
  } catch (const Error& error) {
    if (complaints == nullptr) return;
    complaints->push_back(
        strf("%s; its default, %s, is used", error.what(), Params().get(name).c_str()));
  }
}

}  // namespace

int64_t parse_size(const std::string& text, const std::string& what) {
  return parse_number(text, what, kSizeUnits);
}

int64_t parse_time_us(const std::string& text, const std::string& what) {
  return parse_number(text, what, kTimeUnits);
}

std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t best_distance = name.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(name, candidate);
    if (distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::vector<ParamRow> Params::rows() {
#define TERN_ROW(field, name, kind, standard, least, most, meaning) \
  ParamRow{name, #kind, to_text(standard), least, most, meaning},
  return {TERN_PARAMS(TERN_ROW)};
#undef TERN_ROW
}

void Params::set(const std::string& name, const std::string& value) {
#define TERN_SET(field, name_, kind, standard, least, most, meaning)                       \
  if (name == name_) {                                                                     \
    assign(field, ParamRow{name_, #kind, to_text(standard), least, most, meaning}, value); \
    return;                                                                                \
  }
  TERN_PARAMS(TERN_SET)
#undef TERN_SET
  throw Error(MPI_ERR_ARG, unknown_name(name));
}

std::string Params::get(const std::string& name) const {
#define TERN_GET(field, name_, kind, standard, least, most, meaning) \
  if (name == name_) return to_text(field);
  TERN_PARAMS(TERN_GET)
#undef TERN_GET
  throw Error(MPI_ERR_ARG, unknown_name(name));
}

Params Params::from(const char* const* environment, std::vector<std::string>* complaints) {
  Params params;
  const std::vector<std::string> known = names();
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    if (std::strncmp(*environment, "TERN_", 5) != 0) continue;
    const char* equals = std::strchr(*environment, '=');
    if (equals == nullptr) continue;
    const std::string name(*environment, static_cast<size_t>(equals - *environment));
    if (std::find(known.begin(), known.end(), name) != known.end())
      set_or_complain(params, name, equals + 1, complaints);
    else if (!is_foreign(name) && complaints != nullptr)
      complaints->push_back(unknown_name(name));
  }
  return params;
}

}  // namespace tern
