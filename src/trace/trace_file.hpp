// SPDX-License-Identifier: Apache-2.0
// TraceFile: appends whole blocks to a file. After a failed write the file keeps its
// whole blocks.
// Lifetime: mpirun, or a rank without mpirun. Threads: a single caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "trace/format.hpp"

namespace tern::trace {

class TraceFile {
 public:
  TraceFile() = default;
  /// Replaces the file, or writes PATH.PID (claim.hpp), and writes the head. Throws Error.
  explicit TraceFile(const std::string& path);
  [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }
  [[nodiscard]] uint32_t next_process() noexcept { return processes_++; }

  void records(uint32_t process, uint32_t thread, uint64_t lost, const Record* records,
               size_t count) noexcept;
  /// `lines` end with newlines.
  void definitions(uint32_t process, std::string_view lines) noexcept;
  /// The first write that failed, or another name of the file, once, as a sentence; else empty.
  [[nodiscard]] std::string take_complaint() noexcept;

 private:
  void block(const BlockHead& head, const void* data, size_t bytes, size_t padding) noexcept;

  std::string path_, complaint_;
  Fd fd_;
  int64_t end_ = 0;  // of the last whole block
  uint32_t processes_ = 0;
};

}  // namespace tern::trace
