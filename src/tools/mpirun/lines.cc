// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/lines.hpp"

#include <ctime>
#include <utility>

#include "base/error.hpp"

namespace tern::mpirun {

void LineSplitter::feed(std::string_view bytes, std::string* out) {
  const std::size_t end = bytes.rfind('\n');
  if (end != std::string_view::npos) {
    emit(std::exchange(held_, {}), out);
    emit(bytes.substr(0, end + 1), out);
    bytes.remove_prefix(end + 1);
  }
  held_ += bytes;
  if (held_.size() > longest_) emit(std::exchange(held_, {}), out);
}

void LineSplitter::finish(std::string* out) { emit(std::exchange(held_, {}), out); }

// "2026-11-21 17:33:59.123456 [3] "
std::string LineSplitter::prefix() const {
  if (!with_time_) return tag_;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  tm local{};
  ::localtime_r(&now.tv_sec, &local);
  char text[32];
  std::strftime(text, sizeof text, "%F %T", &local);
  return strf("%s.%06ld ", text, now.tv_nsec / 1000) + tag_;
}

void LineSplitter::emit(std::string_view bytes, std::string* out) {
  if (bytes.empty()) return;
  const std::string before = prefix();
  if (before.empty()) {
    out->append(bytes);
  } else {
    while (!bytes.empty()) {
      if (!in_line_) out->append(before);
      const std::size_t end = bytes.find('\n');
      const std::size_t piece = end == std::string_view::npos ? bytes.size() : end + 1;
      out->append(bytes.substr(0, piece));
      in_line_ = end == std::string_view::npos;
      bytes.remove_prefix(piece);
    }
  }
  in_line_ = out->back() != '\n';
}

}  // namespace tern::mpirun
