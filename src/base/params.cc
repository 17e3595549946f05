// SPDX-License-Identifier: Apache-2.0
// Parsing of parameters: units, ranges, nearest names.
#include "base/params.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <concepts>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/param_names.hpp"
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
constexpr Unit kSecondUnits[] = {{"", 1000000}, {"s", 1000000}, {"ms", 1000}, {"min", 60000000}};
constexpr Unit kPlain[] = {{"", 1}};

/// Multiplies the number before the unit by `factor`. Returns false on overflow, and for decimals
/// without a unit.
bool scaled(const char* text, char** end, int64_t factor, int64_t* value) {
  errno = 0;
  const long long whole = std::strtoll(text, end, 10);
  if (*end == text || errno != 0) return false;
  if (**end != '.') return !__builtin_mul_overflow(whole, factor, value);
  const double number = std::strtod(text, end) * static_cast<double>(factor);
  if (factor == 1 || !(std::fabs(number) < 9e18)) return false;
  *value = static_cast<int64_t>(std::llround(number));
  return true;
}

std::string unit_behind(const char* text) {
  std::string suffix(text + std::strspn(text, "+-0123456789."));
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return suffix;
}

template <size_t N>
int64_t parse_number(const std::string& text, const std::string& what, const Unit (&units)[N]) {
  const std::string suffix = unit_behind(text.c_str());
  for (const Unit& unit : units) {
    char* end = nullptr;
    int64_t value = 0;
    if (suffix == unit.suffix && scaled(text.c_str(), &end, unit.factor, &value) &&
        std::strlen(end) == suffix.size())
      return value;
  }
  std::string known;
  for (const Unit& unit : units)
    if (*unit.suffix != '\0') known += strf("%s%s", known.empty() ? "" : ", ", unit.suffix);
  throw Error(MPI_ERR_ARG,
              strf("%s is \"%s\", which is not a number%s%s", what.c_str(), text.c_str(),
                   known.empty() ? "" : " with one of the units ", known.c_str()));
}

constexpr ParamRange between(int64_t least, int64_t most) { return {least, most, nullptr}; }
constexpr ParamRange one_of(const char* words) { return {0, 0, words}; }
constexpr ParamRange number_or(int64_t least, int64_t most, const char* words) {
  return {least, most, words};
}
ParamRange algorithm_of(const char* collective) { return one_of(algorithm_words(collective)); }
constexpr ParamSharing own() { return {}; }
constexpr ParamSharing shared() { return {true, nullptr}; }
constexpr ParamSharing shared_words(const char* words) { return {true, words}; }

bool matches(const std::string& word, const std::string& pattern) {
  if (pattern.back() != '*') return word == pattern;
  const size_t head = pattern.size() - 1;
  return word.size() > head && word.compare(0, head, pattern, 0, head) == 0;
}

bool is_among(const std::string& word, const char* words) {
  const std::vector<std::string> known = split(words, '|');
  return std::any_of(known.begin(), known.end(),
                     [&](const std::string& pattern) { return matches(word, pattern); });
}

/// Whether a list of words, separated by commas, has `word` or "all".
bool has_word(const std::string& list, const std::string& word) {
  const std::vector<std::string> words = split(list, ',');
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& known) { return known == word || known == "all"; });
}

[[noreturn]] void out_of_range(const ParamRow& row, const std::string& text) {
  std::string near;
  if (row.range.words != nullptr) near = nearest_name(text, split(row.range.words, '|'));
  if (!near.empty()) near = "; did you mean " + near + "?";
  throw Error(MPI_ERR_ARG, strf("%s is \"%s\", but it must be %s%s", shown_name(row.name).c_str(),
                                text.c_str(), row.range_in_words().c_str(), near.c_str()));
}

void assign(std::string& field, const ParamRow& row, const std::string& text) {
  if (row.range.words != nullptr) {
    const bool many = std::strcmp(row.kind, "Words") == 0;
    for (const std::string& word : many ? split(text, ',') : std::vector<std::string>{text})
      if (!is_among(word, row.range.words)) out_of_range(row, text);
  }
  field = text;
}
template <class Value>
requires std::is_enum_v<Value>
void assign(Value& field, const ParamRow& row, const std::string& text) {
  const std::vector<std::string> words = split(row.range.words, '|');
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) out_of_range(row, text);
  field = static_cast<Value>(found - words.begin());
}
/// A decimal or hexadecimal number, or the place of a word: -1, -2, ...
int64_t number_or_word(const ParamRow& row, const std::string& text) {
  const std::vector<std::string> words = split(row.range.words, '|');
  const auto found = std::find(words.begin(), words.end(), text);
  if (found != words.end()) return -1 - (found - words.begin());
  char* end = nullptr;
  errno = 0;
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  const long long value = std::strtoll(text.c_str(), &end, hexadecimal ? 16 : 10);
  if (text.empty() || *end != '\0' || errno != 0 || value < row.range.least ||
      value > row.range.most)
    out_of_range(row, text);
  return value;
}
void assign(int64_t& field, const ParamRow& row, const std::string& text) {
  const std::string kind = row.kind;
  if (kind == "NumberOr") {
    field = number_or_word(row, text);
    return;
  }
  const int64_t value = kind == "Size"      ? parse_size(text, shown_name(row.name))
                        : kind == "Time"    ? parse_time_us(text, shown_name(row.name))
                        : kind == "Seconds" ? parse_number(text, shown_name(row.name), kSecondUnits)
                                            : parse_number(text, shown_name(row.name), kPlain);
  if (value < row.range.least || value > row.range.most) out_of_range(row, text);
  field = value;
}

std::string to_text(const std::string& field, const ParamRange& /*range*/) { return field; }
template <std::integral Number>
std::string to_text(Number field, const ParamRange& range) {
  constexpr int64_t kLargestByte = 255;
  if (range.words != nullptr && field >= 0 && range.most > kLargestByte)  // a key of bits
    return strf("0x%llx", static_cast<unsigned long long>(field));
  if (range.words == nullptr || field >= 0) return std::to_string(field);
  return split(range.words, '|')[static_cast<size_t>(-1 - field)];
}
template <class Value>
requires std::is_enum_v<Value> std::string to_text(Value field, const ParamRange& range) {
  return split(range.words, '|')[static_cast<size_t>(field)];
}

/// The value as text for set().
template <class Value>
std::string shown(const Value& field, const char* /*kind*/, const ParamRange& range) {
  return to_text(field, range);
}
std::string shown(int64_t field, const char* kind, const ParamRange& range) {
  if (std::strcmp(kind, "Seconds") != 0) return to_text(field, range);
  return field % 1000000 == 0 ? to_text(field / 1000000, range)
                              : to_text(field / 1000, range) + "ms";
}

bool is_foreign(const std::string& name) {
  return std::any_of(std::begin(kForeignNames), std::end(kForeignNames),
                     [&](const char* foreign) { return name == foreign; });
}

/// "eager_limit" -> "TERN_EAGER_LIMIT". For files, where every name is a parameter.
std::string full_name(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return name.compare(0, 5, "TERN_") == 0 ? name : "TERN_" + name;
}

std::string trimmed(const std::string& text) {
  const size_t from = text.find_first_not_of(" \t\r");
  if (from == std::string::npos) return {};
  return text.substr(from, text.find_last_not_of(" \t\r") - from + 1);
}

}  // namespace

int64_t parse_size(const std::string& text, const std::string& what) {
  return parse_number(text, what, kSizeUnits);
}

int64_t parse_time_us(const std::string& text, const std::string& what) {
  return parse_number(text, what, kTimeUnits);
}

const ParamNames& param_names() {
#define TERN_NAME(field, name, kind, standard, range, sharing, meaning) name,
  static const ParamNames names{{TERN_ALL_PARAMS(TERN_NAME)}, {TERN_PARAMS(TERN_NAME)}};
#undef TERN_NAME
  return names;
}

std::vector<ParamRow> Params::rows() {
#define TERN_ROW(field, name, kind, standard, range, sharing, meaning)             \
  ParamRow{name,  #kind,   shown(decltype(Params::field)(standard), #kind, range), \
           range, sharing, meaning},
  return {TERN_PARAMS(TERN_ROW)};
#undef TERN_ROW
}

void Params::set_row(const std::string& name, const std::string& value) {
#define TERN_SET(field, name_, kind, standard, range, sharing, meaning)                      \
  if (name == name_) {                                                                       \
    assign(field, ParamRow{name_, #kind, to_text(standard, range), range, sharing, meaning}, \
           value);                                                                           \
    return;                                                                                  \
  }
  TERN_ALL_PARAMS(TERN_SET)
#undef TERN_SET
  throw Error(MPI_ERR_ARG, unknown_name(name));
}

void Params::set(const std::string& name, const std::string& value) {
  if (adds_up(name)) {
    for (const auto& [part, part_value] : parts_of(name, value)) set(part, part_value);
    return;
  }
  const std::string present = present_name(name);
  set_row(present, value);
  if (present.compare(0, 10, "TERN_COLL.") != 0) return;
  coll.clear();
#define TERN_PART(field, name_, kind, standard, range, sharing, meaning) \
  if (field != (standard))                                               \
    coll += (coll.empty() ? "" : ",") + part_of(name_) + "=" + to_text(field, range);
  TERN_COLL_PARAMS(TERN_PART)
#undef TERN_PART
}

std::string Params::get(const std::string& name) const {
#define TERN_GET(field, name_, kind, standard, range, sharing, meaning) \
  if (name == name_) return shown(field, #kind, range);
  TERN_ALL_PARAMS(TERN_GET)
#undef TERN_GET
  throw Error(MPI_ERR_ARG, unknown_name(name));
}

bool ParamRow::is_number() const noexcept {
  return std::strcmp(kind, "Text") != 0 && range.words == nullptr;
}

std::string ParamRow::range_in_words() const {
  if (is_number())
    return strf("between %s and %s", shown(range.least, kind, range).c_str(),
                shown(range.most, kind, range).c_str());
  if (range.words == nullptr) return {};
  const bool is_single = std::strchr(range.words, '|') == nullptr;
  std::string text = std::strcmp(kind, "Words") == 0 ? "some (with commas) of "
                     : is_single                     ? ""
                                                     : "one of ";
  if (std::strcmp(kind, "NumberOr") == 0)
    text = strf("between %lld and %lld, or %s", static_cast<long long>(range.least),
                static_cast<long long>(range.most), text.c_str());
  for (const std::string& word : split(range.words, '|'))
    text += (text.empty() || text.back() == ' ' ? "" : ", ") +
            (word.back() == '*' ? word.substr(0, word.size() - 1) + "..." : word);
  return text;
}

std::string ParamRow::sharing_in_words() const {
  if (!sharing.shared) return {};
  std::string words;
  if (sharing.words != nullptr) {
    const std::vector<std::string> all = split(sharing.words, '|');
    for (size_t i = 0; i < all.size(); ++i)
      words += (i == 0 ? "" : i + 1 < all.size() ? ", " : " and ") + all[i];
  }
  return words + (words.empty() ? "" : " ") + "must be equal on all ranks";
}

namespace {

uint32_t mixed(uint32_t hash, const std::string& text) {  // FNV-1a
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x01000193U;
  return (hash ^ '\n') * 0x01000193U;
}

/// The part of a value that must be equal on all ranks; empty for the default.
std::string counted(const ParamSharing& sharing, const std::string& value,
                    const std::string& standard) {
  if (sharing.words == nullptr) return value == standard ? "" : value;
  std::string words;
  for (const std::string& word : split(sharing.words, '|'))
    if (has_word(value, word)) words += (words.empty() ? "" : ",") + word;
  return words;
}

}  // namespace

// shared_hash() skips rows with own() at compile time.
// NOLINTNEXTLINE(readability-function-size): statements of rows
uint32_t Params::shared_hash() const {
  uint32_t hash = 0;
#define TERN_HASH(field, name, kind, standard, range, sharing, meaning)        \
  if constexpr ((sharing).shared)                                              \
    if (const std::string text =                                               \
            counted(sharing, to_text(field, range), to_text(standard, range)); \
        !text.empty())                                                         \
      hash = mixed(mixed(hash, name), text);
  TERN_ALL_PARAMS(TERN_HASH)
#undef TERN_HASH
  return hash;
}

std::string Params::shared_in_words() const {
  std::string all, here, last;
  const auto say = [&](const char* name, const std::string& text) {
    const std::string variable = std::string(name, std::strcspn(name, "."));
    if (variable != "TERN_TEST" && variable != last) all += (all.empty() ? "" : ", ") + variable;
    last = variable;
    if (!text.empty()) here += (here.empty() ? "" : ", ") + setting(name, text);
  };
#define TERN_SAY(field, name, kind, standard, range, sharing, meaning) \
  if constexpr ((sharing).shared)                                      \
    say(name, counted(sharing, to_text(field, range), to_text(standard, range)));
  TERN_ALL_PARAMS(TERN_SAY)
#undef TERN_SAY
  return all + (here.empty() ? "; none is set on this rank" : "; on this rank " + here);
}

std::string Params::source(const std::string& name) const {
  for (const auto& [known, source] : sources_)
    if (known == name) return source;
  return "default";
}

bool Params::checks(const char* word) const { return has_word(check, word); }
bool Params::names_transport(const char* name) const { return has_word(transport, name); }
bool Params::permits_transport(const char* name) const {
  return names_transport("auto") || names_transport(name);
}

void Params::note_source(const std::string& name, const std::string& source) {
  const auto known = std::find_if(sources_.begin(), sources_.end(),
                                  [&](const auto& pair) { return pair.first == name; });
  if (known != sources_.end())
    known->second = source;
  else
    sources_.emplace_back(name, source);
}

void Params::take(const std::string& name, const std::string& value, const std::string& source,
                  std::vector<std::string>* complaints) {
  const bool environment = source == "environment";
  const std::string present = present_name(name);
  const auto complain = [&](const std::string& text) {
    if (complaints == nullptr) return;
    complaints->push_back(environment ? text : strf("%s: %s", source.c_str(), text.c_str()));
  };
  try {
    if (environment && is_foreign(name)) return;
    if (adds_up(name)) {
      for (const auto& [part, part_value] : parts_of(name, value))
        take(part, part_value, source, complaints);
      return;
    }
    set(present, value);
    note_source(present, source);
    if (!part_of(present).empty()) note_source(present.substr(0, present.find('.')), source);
    if (present != name)
      complain(
          strf("%s is an old name, which the next release refuses; set %s%s", name.c_str(),
               environment ? setting(present, value).c_str() : line_of_file(present, value).c_str(),
               present.compare(0, 10, "TERN_TEST.") == 0 ? " (for tests only)" : ""));
  } catch (const Error& error) {
    std::string text = error.what();
    if (is_row(present) && !adds_up(present))
      text += strf("; %s, %s, is used",
                   Params::source(present) == "default" ? "its default" : "the value before it",
                   get(present).c_str());
    complain(text);
  }
}

// Old names come first, so a present name overrides an old one in any order.
void Params::take_environment(const char* const* environment,
                              std::vector<std::string>* complaints) {
  if (environment == nullptr) return;
  for (const bool old : {true, false})
    for (const char* const* at = environment; *at != nullptr; ++at) {
      if (std::strncmp(*at, "TERN_", 5) != 0) continue;
      const char* equals = std::strchr(*at, '=');
      if (equals == nullptr) continue;
      const std::string name(*at, equals);
      if ((present_name(name) != name) == old) take(name, equals + 1, "environment", complaints);
    }
}

void Params::take_file(const std::string& text, const std::string& file,
                       std::vector<std::string>* complaints) {
  int number = 0;
  for (const std::string& whole : split(text, '\n')) {
    const std::string source = strf("%s:%d", file.c_str(), ++number);
    const std::string line = trimmed(whole.substr(0, whole.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals != std::string::npos)
      take(full_name(trimmed(line.substr(0, equals))), trimmed(line.substr(equals + 1)), source,
           complaints);
    else if (complaints != nullptr)
      complaints->push_back(
          strf("%s: \"%s\" is not a line NAME = VALUE", source.c_str(), line.c_str()));
  }
}

Params Params::from(const char* const* environment, std::vector<std::string>* complaints) {
  Params params;
  params.take_environment(environment, complaints);
  return params;
}

}  // namespace tern
