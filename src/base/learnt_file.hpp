// SPDX-License-Identifier: Apache-2.0
// LearntFile: the lines that collectives have learnt on this machine, for later jobs.
// Why: a trial costs calls, and short jobs make few. Format: a head with Tern's version, the
// machine and the number of lines, then lines of coll/select/rules.hpp. mpirun, or else rank 0,
// reads the file once for a job and hands out the text: all ranks need equal lines.
// Threads: any; processes exclude each other by a lock, and readers see whole files alone.
// See: tests/unit/base/learnt_file_test.cc, tern_coll(1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"

namespace tern {

class LearntFile {
 public:
  static constexpr size_t kMostBytes = 65536;

  /// `asked`: TERN_COLL_LEARNT: a path; "none"; "auto", a file of the machine's in
  /// $XDG_CACHE_HOME/tern (~/.cache/tern). `machine` in words.
  LearntFile(const std::string& asked, std::string machine);
  /// Times of bound ranks differ from times of other ranks: a machine of each kind.
  [[nodiscard]] static std::string machine_of(const std::string& words, bool bound) {
    return words + (bound ? ", bound" : ", not bound");
  }

  /// Empty: no file.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The lines. None where the file is missing, or not to be trusted: then *remark says why.
  [[nodiscard]] std::string read(std::string* remark) const;
  /// Puts lines in the place of those about the same calls. A line is "allreduce 2 4097..8192 ring
  /// one_host  # 6.6 us, 3 rounds, any order". A full file drops old lines with few rounds. A file
  /// of another program or machine stays, and so does a file without a right to write.
  void merge(const std::vector<std::string>& lines) const noexcept;
  /// Removes the file; false: there was none of this machine's jobs. Throws Error.
  bool forget() const;

  /// For the ranks of a job, as text: the file, and its lines; empty without a file. *remark: of
  /// read().
  [[nodiscard]] std::string pack(std::string* remark) const;
  struct Packed;
  /// Of pack()'s text; another text gives an empty path and no lines.
  [[nodiscard]] static Packed unpack(const std::string& text);

 private:
  LearntFile() = default;
  [[nodiscard]] static bool take(const Fd& lock);
  /// Whether the path is free, or the file is this user's, and of this machine's jobs.
  [[nodiscard]] bool is_own() const;
  void replace(const std::string& text) const;
  std::string path_, machine_;
};

struct LearntFile::Packed {
  LearntFile file;
  std::string lines;
};

}  // namespace tern
