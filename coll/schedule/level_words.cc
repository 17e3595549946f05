// SPDX-License-Identifier: Apache-2.0
// Parses descriptions of levels.
#include "coll/schedule/level_words.hpp"

#include <algorithm>
#include <cctype>
#include <climits>
#include <string_view>

#include "base/error.hpp"
#include "base/params.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

using Kind = topo::MachinePart::Kind;

/// These kinds have bindings; a description may contain others.
constexpr struct {
  const char* word;
  Kind kind;
} kParts[] = {{"package", Kind::kPackage}, {"pack", Kind::kPackage}, {"socket", Kind::kPackage},
              {"numanode", Kind::kNuma},   {"numa", Kind::kNuma},    {"l3cache", Kind::kL3},
              {"l3", Kind::kL3},           {"core", Kind::kCore}};
constexpr const char* kOthers[] = {"machine", "group", "die",     "l4",      "l2",
                                   "l1",      "pu",    "l2cache", "l1cache", "l1d"};

class Reader {
 public:
  Reader(const std::string& text, const char* name) : text_(text), name_(name) {}

  [[nodiscard]] LevelWords read() const {
    LevelWords words;
    if (text_.find(':') != std::string::npos)
      words.sizes = described();
    else if (!text_.empty() && std::isdigit(static_cast<unsigned char>(text_[0])) != 0)
      for (const std::string& word : split(",")) words.sizes.push_back(size_of(word));
    else
      for (const std::string& word : split(", ")) words.parts.push_back(part_of(word));
    std::sort(words.parts.begin(), words.parts.end());
    return words;
  }

 private:
  [[noreturn]] void wrong(const std::string& why) const {
    throw Error(
        MPI_ERR_ARG,
        strf("%s is \"%s\": %s; expected sizes (8,2), a description (pack:2 l3:2 core:4), or "
             "parts of the machine: package, numa, l3, core",
             name_, text_.c_str(), why.c_str()));
  }

  [[nodiscard]] std::vector<std::string> split(const char* separators) const {
    std::vector<std::string> words;
    for (size_t from = 0; from < text_.size();) {
      const size_t end = std::min(text_.find_first_of(separators, from), text_.size());
      if (end > from) words.push_back(text_.substr(from, end - from));
      from = end + 1;
    }
    return words;
  }

  [[nodiscard]] int32_t size_of(const std::string& word) const {
    const int64_t size = parse_size(word, name_);
    if (size < 1 || size > INT32_MAX) wrong(strf("%s is not a positive number", word.c_str()));
    return static_cast<int32_t>(size);
  }

  [[nodiscard]] static std::string lower(std::string word) {
    for (char& letter : word)
      letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
    return word;
  }

  [[nodiscard]] Kind part_of(const std::string& word) const {
    for (const auto& known : kParts)
      if (lower(word) == known.word) return known.kind;
    wrong(strf("\"%s\" is not a part of a machine", word.c_str()));
  }

  // Brackets hold memory and cache sizes.
  [[nodiscard]] std::string without_brackets() const {
    std::string kept;
    int depth = 0;
    for (const char letter : text_) {
      if (letter == '(' || letter == '[') ++depth;
      if (depth == 0) kept += letter;
      if ((letter == ')' || letter == ']') && --depth < 0)
        wrong("a closing bracket without an opening bracket");
    }
    if (depth != 0) wrong("a bracket is not closed");
    return kept;
  }

  [[nodiscard]] int32_t count_in(const std::string& token) const {
    const size_t colon = token.find(':');
    if (colon == std::string::npos) wrong(strf("\"%s\" has no count", token.c_str()));
    const std::string kind = lower(token.substr(0, colon));
    const bool known = std::any_of(std::begin(kParts), std::end(kParts),
                                   [&](const auto& one) { return kind == one.word; }) ||
                       std::find(std::begin(kOthers), std::end(kOthers), kind) != std::end(kOthers);
    if (!known) wrong(strf("\"%s\" is not a part of a machine", kind.c_str()));
    return size_of(token.substr(colon + 1));
  }

  [[nodiscard]] std::vector<int32_t> described() const {
    std::vector<int32_t> sizes;
    int64_t leaves = 1;
    const std::vector<std::string> tokens = Reader(without_brackets(), name_).split(" ,");
    for (size_t i = tokens.size(); i-- > 0;) {
      leaves *= count_in(tokens[i]);
      if (leaves > INT32_MAX) wrong("too many parts");
      sizes.insert(sizes.begin(), static_cast<int32_t>(leaves));
    }
    return sizes;
  }

  const std::string text_;
  const char* name_;
};

}  // namespace

LevelWords level_words(const std::string& text, const char* name) {
  return Reader(text, name).read();
}

}  // namespace tern::coll
