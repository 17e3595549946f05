// SPDX-License-Identifier: Apache-2.0
// Cuts a stream of bytes into lines, and prefixes each line with a tag and the time.
// Why: lines of many ranks never mix. Bytes pass unchanged, including zeros and escape sequences.
// Threads: one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tern::mpirun {

class LineSplitter {
 public:
  static constexpr std::size_t kLongest = 1 << 20;

  // Passes a line longer than `longest` on in parts, to bound memory.
  explicit LineSplitter(std::string tag = {}, std::size_t longest = kLongest,
                        bool with_time = false)
      : tag_(std::move(tag)), with_time_(with_time), longest_(longest) {}

  void feed(std::string_view bytes, std::string* out);
  void finish(std::string* out);

 private:
  void emit(std::string_view bytes, std::string* out);

  [[nodiscard]] std::string prefix() const;

  std::string tag_;
  bool with_time_;
  std::size_t longest_;
  std::string held_;
  bool in_line_ = false;
};

}  // namespace tern::mpirun
