// SPDX-License-Identifier: Apache-2.0
// Values with a grammar: places, numbers of ranks, memory kinds, words of a line.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/error.hpp"
#include "base/param_names.hpp"
#include "mpi.h"
#include "tools/mpirun/option_parser.hpp"

namespace tern::mpirun {
namespace {

constexpr struct {
  const char* name;
  Unit unit;
} kUnits[] = {
    {"hwthread", Unit::kThread}, {"core", Unit::kCore},    {"l3cache", Unit::kL3},
    {"l3", Unit::kL3},           {"numa", Unit::kNuma},    {"package", Unit::kPackage},
    {"socket", Unit::kPackage},  {"slot", Unit::kMachine}, {"node", Unit::kMachine},
};

std::vector<std::string> cut(const std::string& text, char at) {
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    pieces.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return pieces;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

[[noreturn]] void refuse_word(const OptionParser& parser, const std::string& word,
                              const std::vector<std::string>& known) {
  std::string all;
  for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
  const std::string near = nearest_name(word, known);
  parser.refuse(strf("\"%s\" is not one of %s%s", word.c_str(), all.c_str(),
                     near.empty() ? "" : strf("; did you mean %s?", near.c_str()).c_str()));
}

Unit unit_of(const OptionParser& parser, const std::string& word, std::vector<std::string> others) {
  for (const auto& [name, unit] : kUnits)
    if (word == name) return unit;
  for (const char* name : {"hwthread", "core", "l3cache", "numa", "package"})
    others.emplace_back(name);
  refuse_word(parser, word, others);
}

// Parses a modifier after the ':' of --map-by: "PE=2", "oversubscribe".
void map_modifier(OptionParser& parser, const std::string& word) {
  Placing& placing = parser.options.placing;
  if (word.compare(0, 3, "pe=") == 0)
    placing.cores_each = parser.number(word.c_str() + 3, "cores", 1, kMostRanks);
  else if (word == "oversubscribe")
    placing.may_oversubscribe = true;
  else if (word == "nooversubscribe")
    placing.may_oversubscribe = false;
  else
    refuse_word(parser, word, {"pe=N", "oversubscribe", "nooversubscribe"});
}

}  // namespace

void parse_bind_to(OptionParser& parser, const std::string& text) {
  Placing& placing = parser.options.placing;
  const auto words = cut(lower(text), ':');
  const std::string& what = words[0];
  placing.bind = what == "none" ? Bind::kNone : what == "share" ? Bind::kShare : Bind::kUnit;
  if (what == "slot" || what == "node" || what == "machine" || what == "board")
    parser.refuse(strf("\"%s\" means the whole machine: use none", what.c_str()));
  if (placing.bind == Bind::kUnit) placing.bind_unit = unit_of(parser, what, {"share", "none"});
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (words[i] == "overload-allowed")
      placing.take_held = true;
    else if (words[i] != "if-supported")
      refuse_word(parser, words[i], {"overload-allowed", "if-supported"});
  }
}

void parse_map_by(OptionParser& parser, const std::string& text) {
  Placing& placing = parser.options.placing;
  auto words = cut(lower(text), ':');
  std::size_t next = 1;
  placing.per_unit = 0;
  if (words[0] == "ppr") {
    if (words.size() < 3)
      parser.refuse(strf("\"%s\" is incomplete: ppr:N:WHAT, as in ppr:2:numa", text.c_str()));
    placing.per_unit = parser.number(words[1].c_str(), "ranks", 1, kMostRanks);
    words[0] = words[2];
    next = 3;
  }
  if (words[0].empty()) words[0] = "slot";
  for (; next < words.size(); ++next)
    for (const std::string& word : cut(words[next], ',')) map_modifier(parser, word);
  placing.map = unit_of(parser, words[0], {"slot", "node", "ppr:N:WHAT"});
}

void parse_rank_by(OptionParser& parser, const std::string& text) {
  parser.options.placing.rank = unit_of(parser, lower(text), {"slot", "node"});
  parser.options.placing.rank_given = lower(text) != "node";
}

void parse_soft(const OptionParser& parser, const std::string& text) {
  for (const std::string& triple : cut(text, ',')) {
    const auto numbers = cut(triple, ':');
    if (numbers.size() > 3)
      parser.refuse(strf("\"%s\" is not one of n, a:b, a:b:c", triple.c_str()));
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      char* end = nullptr;
      const long value = std::strtol(numbers[i].c_str(), &end, 10);
      if (numbers[i].empty() || *end != '\0' || (i < 2 && value < 0) || (i == 2 && value == 0))
        parser.refuse(strf("\"%s\" is not one of n, a:b, a:b:c (numbers of ranks, and a step)",
                           triple.c_str()));
    }
  }
}

// Unknown kinds are allowed: the library reports the supported kinds at run time.
void parse_memory_kinds(const OptionParser& parser, const std::string& text) {
  const char* allowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  for (const std::string& kind : cut(text, ','))
    for (const std::string& word : cut(kind, ':'))
      if (word.empty() || word.find_first_not_of(allowed) != std::string::npos)
        parser.refuse(
            strf("\"%s\" is not a list of kinds like system,mpi,cuda:device", text.c_str()));
  for (const std::string& kind : cut(text, ',')) {
    const auto words = cut(kind, ':');
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (words[0] == "system")
        parser.refuse(strf("\"%s\": system has no restrictions", kind.c_str()));
      if (words[0] == "mpi" && words[i] != "alloc_mem" && words[i] != "win_allocate" &&
          words[i] != "win_allocate_shared")
        refuse_word(parser, words[i], {"alloc_mem", "win_allocate", "win_allocate_shared"});
    }
  }
}

// read_lines() uses stdio: C++ streams initialise locales, at a cost of 0.1 ms of mpirun's start.
std::vector<std::string> read_lines(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  std::vector<std::string> lines;
  char* line = nullptr;
  std::size_t room = 0;
  ssize_t length = 0;
  errno = file == nullptr ? errno : 0;
  while (file != nullptr && (length = ::getline(&line, &room, file.get())) >= 0) {
    if (length > 0 && line[length - 1] == '\n') --length;
    lines.emplace_back(line, static_cast<std::size_t>(length));
  }
  const int error = errno;
  std::free(line);
  if (file == nullptr || std::ferror(file.get()) != 0)
    throw Error(MPI_ERR_ARG, strf("cannot read %s: %s", path.c_str(), std::strerror(error)));
  return lines;
}

std::vector<std::string> split_words(const std::string& line) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = '\0';
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool space = c == ' ' || c == '\t' || c == '\r';
    if (quote != '\0' ? c == quote : !in_word && c == '#') {
      if (quote == '\0') break;
      quote = '\0';
    } else if (quote == '\0' && (c == '"' || c == '\'')) {
      quote = c;
      in_word = true;
    } else if (c == '\\' && quote != '\'' && i + 1 < line.size()) {
      word += line[++i];
      in_word = true;
    } else if (quote == '\0' && space) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != '\0')
    throw Error(MPI_ERR_ARG, strf("a %c is not closed in: %s", quote, line.c_str()));
  if (in_word) words.push_back(std::move(word));
  return words;
}

}  // namespace tern::mpirun
