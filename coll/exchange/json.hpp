// SPDX-License-Identifier: Apache-2.0
// Json: a JSON file as a tree.
// Why: plans come from strangers. The reader bounds file, values, depth and strings first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tern::coll {

struct Json {
  static constexpr size_t kMostBytes = 64UL << 20, kMostString = 4096;
  static constexpr size_t kMostValues = 1UL << 20, kMostDepth = 64;

  enum class Kind : uint8_t { kNull, kTrue, kFalse, kNumber, kString, kList, kObject };
  Kind kind = Kind::kNull;
  int line = 0;
  std::string text;                // of a string, or the digits of a number
  std::vector<std::string> names;  // of an object's items
  std::vector<Json> items;         // in the file's order

  /// Returns null if this is no object with that name.
  [[nodiscard]] const Json* find(std::string_view name) const noexcept;
};

/// Whether the first character begins an object.
[[nodiscard]] bool is_json(std::string_view text) noexcept;
/// Errors (tern::Error, MPI_ERR_ARG) contain the file's name, the line and the cause. A name that
/// comes twice in an object is an error.
[[nodiscard]] Json parse_json(std::string_view text, const std::string& file);

/// Values that a file must have. Errors as above.
class JsonValues {
 public:
  explicit JsonValues(std::string file) : file_(std::move(file)) {}

  [[nodiscard]] const Json& need(const Json& object, std::string_view name) const;
  [[nodiscard]] const std::vector<Json>& list(const Json& object, std::string_view name) const;
  /// The empty list without the name.
  [[nodiscard]] const std::vector<Json>& any_list(const Json& object, std::string_view name) const;
  [[nodiscard]] const std::string& text(const Json& object, std::string_view name) const;
  [[nodiscard]] int64_t number(const Json& value, const char* what, int64_t least,
                               int64_t most) const;
  [[nodiscard]] int64_t number_in(const Json& object, const char* name, int64_t least,
                                  int64_t most) const {
    return number(need(object, name), name, least, most);
  }
  [[noreturn]] void fail(const Json& at, const std::string& cause) const;

 private:
  std::string file_;
};

}  // namespace tern::coll
