// SPDX-License-Identifier: Apache-2.0
// SharedFile: a memory file, or a pipe, for other processes of this host.
// Order: first /proc/PID/fd/N, without any cost for the owner; then a keeper (base/keeper.hpp),
// either mpirun's or a thread of the owner.
// Lifetime: the owner's descriptor outlives the OfferedFile. Threads: any.
// See: tests/unit/base/shared_file_test.cc, tests/mpi/containers.sh.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace tern {

class KeeperThread;

/// The address of a shared file. Travels as bytes.
struct FileOffer {
  int32_t pid = 0, fd = -1;  // in the owner's PID namespace
  uint64_t inode = 0;
  uint32_t domain = 0;  // proc_domain() of the owner
  uint32_t keeper = 0;  // 0: mpirun's; else an abstract address
  /// Whether `pid` is valid in this process.
  [[nodiscard]] bool is_numbered_here() const noexcept;
  [[nodiscard]] bool is_own_process() const noexcept;
  /// `pid` if valid in this process, else 0.
  [[nodiscard]] int32_t pid_here() const noexcept { return is_numbered_here() ? pid : 0; }
};

/// Whether a keeper must have each file: this process's /proc/PID/fd is closed to others of the
/// user, or a peer's was closed to this process.
[[nodiscard]] bool needs_keeper() noexcept;

class OfferedFile {
 public:
  enum class Keep { kYes, kNo };
  OfferedFile() = default;
  /// `beside`: a second descriptor, from the keeper only; -1: none. Throws Error.
  OfferedFile(const Fd& file, Keep keep, int beside = -1);
  OfferedFile(OfferedFile&& other) noexcept;
  OfferedFile& operator=(OfferedFile&& other) noexcept;
  ~OfferedFile();
  [[nodiscard]] const FileOffer& offer() const noexcept { return offer_; }

 private:
  void reset() noexcept;

  FileOffer offer_;
  bool kept_ = false;
  std::shared_ptr<KeeperThread> thread_;  // null: mpirun's keeper
};

struct FoundFile {
  std::vector<Fd> descriptors;  // the file; from a keeper also the descriptor `beside`
  int error = 0;                // errno of /proc
  std::string why;              // the failure of each attempt
  [[nodiscard]] bool valid() const noexcept { return !descriptors.empty(); }
};

[[nodiscard]] FoundFile open_offered(const FileOffer& offer, int flags);

/// The socket to mpirun's keeper; -1: none. The caller keeps ownership.
void set_launchers_keeper(int socket) noexcept;
/// Running keeper threads of this process.
[[nodiscard]] int keeper_threads() noexcept;

}  // namespace tern
