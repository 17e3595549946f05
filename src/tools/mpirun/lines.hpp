// SPDX-License-Identifier: Apache-2.0
// Cuts a stream of bytes into pieces that end with a line, and marks each line with a tag
// and the time.
// Why: the output of many ranks is shown by whole lines, never mixed inside one.
// Bytes pass through unchanged, zeros and escape sequences too. Threads: one.
// See: tests/unit/tools/lines_test.cc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tern::mpirun {

class LineSplitter {
 public:
  static constexpr std::size_t kLongest = 1 << 20;

  // A line that grows beyond `longest` is passed on in pieces, so that memory stays bounded.
  explicit LineSplitter(std::string tag = {}, std::size_t longest = kLongest,
                        bool with_time = false)
      : tag_(std::move(tag)), with_time_(with_time), longest_(longest) {}

  // Appends to `out` all that can be shown now.
  void feed(std::string_view bytes, std::string* out);
  // The end of the stream: appends the line that was not ended, as it is.
  void finish(std::string* out);

 private:
  void emit(std::string_view bytes, std::string* out);

  [[nodiscard]] std::string prefix() const;

  std::string tag_;
  bool with_time_;
  std::size_t longest_;
  std::string held_;      // the beginning of a line
  bool in_line_ = false;  // a piece of an over-long line was shown
};

}  // namespace tern::mpirun
