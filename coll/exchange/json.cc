// SPDX-License-Identifier: Apache-2.0
// Json: parsing, and values that must be there.
#include "coll/exchange/json.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

class JsonParser {
 public:
  JsonParser(std::string_view text, const std::string& file) : text_(text), file_(file) {
    if (text.size() > Json::kMostBytes)
      fail(strf("the file has %zu bytes; at most %zu are read", text.size(), Json::kMostBytes));
    if (ahead(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  Json whole() {
    Json json = value(1);
    spaces();
    if (at_ < text_.size()) fail("something follows the end of the outer value");
    return json;
  }

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG, strf("%s:%d: %s", file_.c_str(), line_, cause.c_str()));
  }

  [[nodiscard]] bool ahead(std::string_view word) const noexcept {
    return text_.substr(at_, word.size()) == word;
  }
  [[nodiscard]] char here() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }

  void spaces() noexcept {
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n')
        ++line_;
      else if (text_[at_] != ' ' && text_[at_] != '\t' && text_[at_] != '\r')
        return;
    }
  }

  bool take(char character) {
    spaces();
    if (here() != character) return false;
    ++at_;
    return true;
  }

  void demand(char character, const char* place) {
    if (!take(character)) fail(strf("a %c is missing %s", character, place));
  }

  Json value(size_t depth) {
    spaces();
    if (depth > Json::kMostDepth) fail(strf("lists nest deeper than %zu", Json::kMostDepth));
    if (++values_ > Json::kMostValues) fail(strf("more than %zu values", Json::kMostValues));
    Json made;
    made.line = line_;
    switch (here()) {
      case '{':
        object(made, depth);
        break;
      case '[':
        list(made, depth);
        break;
      case '"':
        made.kind = Json::Kind::kString, made.text = string();
        break;
      default:
        word(made);
    }
    return made;
  }

  void object(Json& made, size_t depth) {
    made.kind = Json::Kind::kObject;
    ++at_;
    if (take('}')) return;
    do {
      spaces();
      if (here() != '"') fail("a name in quotes is missing in an object");
      std::string name = string();
      if (made.names.size() == kMostNames)
        fail(strf("an object has more than %zu names", kMostNames));
      if (made.find(name) != nullptr) fail("the name \"" + name + "\" comes twice in an object");
      demand(':', "behind a name");
      made.items.push_back(value(depth + 1));
      made.names.push_back(std::move(name));
    } while (take(','));
    demand('}', "at the end of an object");
  }

  void list(Json& made, size_t depth) {
    made.kind = Json::Kind::kList;
    ++at_;
    if (take(']')) return;
    do made.items.push_back(value(depth + 1));
    while (take(','));
    demand(']', "at the end of a list");
  }

  // Characters above U+00FF become '?': plans compare ASCII words only.
  std::string string() {
    std::string made;
    for (++at_; here() != '"'; ++at_) {
      if (at_ >= text_.size() || static_cast<unsigned char>(here()) < ' ')
        fail("a string does not end on its line");
      if (made.size() == Json::kMostString)
        fail(strf("a string has more than %zu characters", Json::kMostString));
      made += here() == '\\' ? escaped() : here();
    }
    ++at_;
    return made;
  }

  char escaped() {
    ++at_;
    constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
    const size_t letter = kLetters.find(here());
    if (at_ < text_.size() && letter != std::string_view::npos) return kMeanings[letter];
    unsigned code = 0;
    const std::string_view digits = here() == 'u' ? text_.substr(at_ + 1, 4) : "";
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() != 4 || error != std::errc() || end != digits.data() + 4)
      fail("a string has an unknown escape");
    at_ += 4;
    return code < 0x100 ? static_cast<char>(code) : '?';
  }

  void word(Json& made) {
    const size_t end = std::min(text_.find_first_of(" \t\r\n,]}", at_), text_.size());
    const std::string_view word = text_.substr(at_, end - at_);
    if (word.size() > kMostDigits) fail(strf("a word of %zu characters", word.size()));
    if (word == "null")
      made.kind = Json::Kind::kNull;
    else if (word == "true")
      made.kind = Json::Kind::kTrue;
    else if (word == "false")
      made.kind = Json::Kind::kFalse;
    else
      number(made, word);
    at_ = end;
  }

  void number(Json& made, std::string_view word) {
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool digits = !word.empty() && (word[0] == '-' || (word[0] >= '0' && word[0] <= '9'));
    if (!digits || error != std::errc() || end != word.data() + word.size())
      fail("\"" + std::string(word) + "\" is no value of JSON");
    made.kind = Json::Kind::kNumber;
    made.text = word;
  }

  static constexpr size_t kMostNames = 64, kMostDigits = 64;

  std::string_view text_;
  const std::string& file_;
  size_t at_ = 0, values_ = 0;
  int line_ = 1;
};

}  // namespace

const Json* Json::find(std::string_view name) const noexcept {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? nullptr : &items[static_cast<size_t>(found - names.begin())];
}

bool is_json(std::string_view text) noexcept {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && text[first] == '{';
}

Json parse_json(std::string_view text, const std::string& file) {
  return JsonParser(text, file).whole();
}

void JsonValues::fail(const Json& at, const std::string& cause) const {
  throw Error(MPI_ERR_ARG, strf("%s:%d: %s", file_.c_str(), at.line, cause.c_str()));
}

const Json& JsonValues::need(const Json& object, std::string_view name) const {
  if (object.kind != Json::Kind::kObject) fail(object, "an object with names is missing here");
  const Json* found = object.find(name);
  if (found == nullptr) fail(object, "\"" + std::string(name) + "\" is missing");
  return *found;
}

const std::vector<Json>& JsonValues::list(const Json& object, std::string_view name) const {
  const Json& found = need(object, name);
  if (found.kind != Json::Kind::kList) fail(found, "\"" + std::string(name) + "\" is no list");
  return found.items;
}

const std::vector<Json>& JsonValues::any_list(const Json& object, std::string_view name) const {
  static const std::vector<Json> kNone;
  return object.find(name) == nullptr ? kNone : list(object, name);
}

const std::string& JsonValues::text(const Json& object, std::string_view name) const {
  const Json& found = need(object, name);
  if (found.kind != Json::Kind::kString) fail(found, "\"" + std::string(name) + "\" is no string");
  return found.text;
}

int64_t JsonValues::number(const Json& value, const char* what, int64_t least, int64_t most) const {
  int64_t made = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, made);
  if (value.kind != Json::Kind::kNumber || error != std::errc() || stop != end || made < least ||
      made > most)
    fail(value, strf("%s is %s, but must be a number from %lld to %lld", what,
                     value.text.empty() ? "something else" : ("\"" + value.text + "\"").c_str(),
                     static_cast<long long>(least), static_cast<long long>(most)));
  return made;
}

}  // namespace tern::coll
