// SPDX-License-Identifier: Apache-2.0
// LearntFile: measurements of collectives on this machine, for later jobs.
// Format: a head with Tern's version, the machine and the number of lines, then lines of
// coll/select/rules.hpp. mpirun or rank 0 reads the file once and distributes the text, because all
// ranks need equal lines. Threads: any; a lock excludes other processes, and readers see complete
// files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"

namespace tern {

class LearntFile {
 public:
  static constexpr size_t kMostBytes = 65536;

  /// `asked` (TERN_COLL_LEARNT): a path, "none", or "auto" for the machine's file in
  /// $XDG_CACHE_HOME/tern (~/.cache/tern).
  LearntFile(const std::string& asked, std::string machine);
  /// Bound and unbound ranks have different timings.
  [[nodiscard]] static std::string machine_of(const std::string& words, bool bound) {
    return words + (bound ? ", bound" : ", not bound");
  }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Returns nothing, with *remark, for a missing or untrusted file.
  [[nodiscard]] std::string read(std::string* remark) const;
  /// Replaces lines with the same key, such as "allreduce 2 4097..8192 ring one_host  # 6.6 us, 3
  /// rounds, any order". A full file drops old lines with few rounds. merge() leaves files of other
  /// programs, and files without write permission.
  void merge(const std::vector<std::string>& lines) const noexcept;
  /// Returns false without a file of this machine. Throws Error.
  bool forget() const;

  /// Packs path and lines for the job's ranks. *remark as in read().
  [[nodiscard]] std::string pack(std::string* remark) const;
  struct Packed;
  [[nodiscard]] static Packed unpack(const std::string& text);

 private:
  LearntFile() = default;
  [[nodiscard]] static bool take(const Fd& lock);
  [[nodiscard]] bool is_own() const;
  void replace(const std::string& text) const;
  std::string path_, machine_;
};

struct LearntFile::Packed {
  LearntFile file;
  std::string lines;
};

}  // namespace tern
