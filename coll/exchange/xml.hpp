// SPDX-License-Identifier: Apache-2.0
// XmlReader: elements and attributes of an XML file of another project, from start to end.
// Text between elements, comments and processing instructions are skipped. Document types are
// refused, so a file defines no entities.
// Why: a plan or a topology comes from a stranger. The reader bounds file, elements, depth and
// strings before it stores anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tern::coll {

struct XmlElement {
  std::string name;
  int line = 0;
  std::vector<std::pair<std::string, std::string>> attributes;  // in the file's order

  /// Returns null without the attribute.
  [[nodiscard]] const std::string* find(std::string_view attribute) const noexcept;
};

/// Errors (tern::Error, MPI_ERR_ARG) contain the file's name, the line, the value and the cause.
class XmlReader {
 public:
  static constexpr size_t kMostBytes = 64UL << 20, kMostString = 4096, kMostAttributes = 64;
  static constexpr size_t kMostElements = 1UL << 20, kMostDepth = 64;

  /// `text` outlives the reader.
  XmlReader(std::string_view text, std::string name);

  enum class Event : uint8_t { kOpen, kClose, kEnd };
  /// kOpen: element() has name and attributes. kClose: the element opened last ends. kEnd: all
  /// elements are closed.
  [[nodiscard]] Event next();
  [[nodiscard]] const XmlElement& element() const noexcept { return element_; }
  [[nodiscard]] size_t depth() const noexcept { return open_.size(); }

  /// Skips the rest of the element opened last.
  void skip();
  /// required() and number() throw without the attribute, or for a number outside [least, most].
  [[nodiscard]] const std::string& required(std::string_view attribute) const;
  [[nodiscard]] int64_t number(std::string_view attribute, int64_t least, int64_t most) const;
  [[noreturn]] void fail(const std::string& cause) const;

 private:
  [[nodiscard]] bool ahead(std::string_view word) const noexcept {
    return text_.substr(at_, word.size()) == word;
  }
  void step() noexcept;
  void pass(std::string_view end, const char* kind);
  void spaces() noexcept;
  [[nodiscard]] std::string word();
  [[nodiscard]] std::string value();
  [[nodiscard]] char entity();
  void attributes();
  void open();
  void close();

  std::string_view text_;
  std::string name_;
  size_t at_ = 0, elements_ = 0;
  int line_ = 1;
  bool closes_ = false;  // the element opened last was empty: <a/>
  XmlElement element_;
  std::vector<std::string> open_;
};

}  // namespace tern::coll
