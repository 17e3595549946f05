// SPDX-License-Identifier: Apache-2.0
// SharedFile: a memory file or pipe for other processes of this host.
// Order: /proc/PID/fd/N, then a keeper (base/keeper.hpp), mpirun's or a thread of the owner.
// Lifetime: the owner's descriptor outlives the OfferedFile. Threads: any.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.hpp"

namespace tern {

class KeeperThread;

struct FileOffer {
  int32_t pid = 0, fd = -1;
  uint64_t inode = 0;
  uint32_t domain = 0;
  uint32_t keeper = 0;  // 0: mpirun's; else an abstract address
  [[nodiscard]] bool is_numbered_here() const noexcept;
  [[nodiscard]] bool is_own_process() const noexcept;
  [[nodiscard]] int32_t pid_here() const noexcept { return is_numbered_here() ? pid : 0; }
};

/// Whether /proc/PID/fd is closed, here or at a peer.
[[nodiscard]] bool needs_keeper() noexcept;

class OfferedFile {
 public:
  enum class Keep { kYes, kNo };
  OfferedFile() = default;
  /// `beside`: a second descriptor, from the keeper only; or -1. Throws Error.
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
  std::vector<Fd> descriptors;  // a keeper also sends `beside`
  int error = 0;
  std::string why;
  [[nodiscard]] bool valid() const noexcept { return !descriptors.empty(); }
};

[[nodiscard]] FoundFile open_offered(const FileOffer& offer, int flags);

/// Sets the socket to mpirun's keeper; -1 removes the socket. The caller keeps ownership.
void set_launchers_keeper(int socket) noexcept;
[[nodiscard]] int keeper_threads() noexcept;

}  // namespace tern
