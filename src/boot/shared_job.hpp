// SPDX-License-Identifier: Apache-2.0
// The memory that mpirun's ranks on one machine share: connection infos, keys, fence, abort.
// Why: a PMIx client costs a rank 10 ms; this costs two system calls.
// Layout: header, one slot per rank, a heap of key records that only grows, the questions.
// Everything read from it is checked: a rank that scribbles here may break its own job, never run
// code in another rank. Lifetime: mpirun creates it; a rank inherits the descriptor, maps it and
// closes the descriptor. Threads: every function but create() may be called by many processes at
// once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "boot/boot.hpp"
#include "boot/questions.hpp"

namespace tern::boot {

// What a rank has told of itself. mpirun judges an exit by it.
enum class RankState : std::uint32_t { kStarted, kInitialised, kFinalised, kAborted };

// Leads a rank here: the number of the inherited descriptor. The rank itself is PMIX_RANK, and
// PMIX_NAMESPACE must be the job's id, so that a launcher inside a rank is not misled.
inline constexpr const char* kBootVariable = "TERN_BOOT_FD";
// mpirun's process, which has the descriptor under the same number: for a program whose starter has
// closed it (sudo, Python's subprocess).
inline constexpr const char* kBootPidVariable = "TERN_BOOT_PID";

// Under this key mpirun puts what collectives have learnt, as rank 0's.
inline constexpr std::string_view kLearntKey = "tern.learnt";

class SharedJob {
 public:
  struct Facts {
    int size = 1;
    int universe_size = 0;
    int server_pid = 0;
    int event_fd = -1;  // inherited by the ranks: a write wakes mpirun
    std::string id;
    int keeper_fd = -1;        // inherited: a socket to mpirun's keeper (base/keeper.hpp)
    std::uint32_t domain = 0;  // mpirun's proc_domain(); 0: the same for all ranks
  };

  Questions questions;

  SharedJob() = default;
  static SharedJob create(int fd, const Facts& facts);
  // Invalid (not an error) where `fd` is not such a memory.
  static SharedJob attach(int fd);
  static std::size_t bytes_for(int size);

  [[nodiscard]] bool valid() const noexcept { return map_.valid(); }
  [[nodiscard]] Facts facts() const;

  void set_app(int rank, int app) noexcept;
  [[nodiscard]] int app(int rank) const noexcept;
  void set_state(int rank, RankState state) noexcept;
  [[nodiscard]] RankState state(int rank) const noexcept;

  // A rank belongs to the first process that enters the job as it, until that has ended: what this
  // one starts inherits the environment, but is not the rank. True where `pid` is, or may become,
  // its process; claim() makes it so. Below 0: a number of a process in another PID namespace than
  // mpirun's, which has ended for others once the rank has left MPI.
  [[nodiscard]] bool may_claim(int rank, std::int32_t pid) const noexcept;
  [[nodiscard]] bool claim(int rank, std::int32_t pid) noexcept;

  // The process that has claimed the rank last; 0: none.
  [[nodiscard]] std::int32_t owner(int rank) const noexcept;
  // How many processes have been the rank, one after the other.
  [[nodiscard]] int programs(int rank) const noexcept;

  // `entry`: which time the rank enters the job.
  void put_connection_info(int rank, const ConnectionInfo& info, int entry = 1) noexcept;
  [[nodiscard]] bool has_connection_info(int rank, int entry = 1) const noexcept;
  // Of the rank's latest connection info; 0: none yet.
  [[nodiscard]] int entry(int rank) const noexcept;
  // It changes when any rank puts a connection info.
  [[nodiscard]] FutexWord connection_info_word() const noexcept;
  // The rank whose connection info this one waits for; -1: it waits for no connection info.
  void set_awaited(int rank, int awaited) noexcept;
  [[nodiscard]] int awaited(int rank) const noexcept;
  // A rank has opened a session.
  void set_sessions() noexcept;
  [[nodiscard]] bool sessions() const noexcept;
  [[nodiscard]] ConnectionInfo connection_info(int rank) const noexcept;
  void put(int rank, std::string_view key, std::string_view value);
  // False where the rank has put no such key.
  [[nodiscard]] bool get(int rank, std::string_view key, std::string* value) const;

  // The number of the fence that the rank has entered; see Boot.
  [[nodiscard]] std::uint32_t start_fence(int rank) noexcept;
  [[nodiscard]] bool fence_over(std::uint32_t fence) const noexcept;
  [[nodiscard]] FutexWord fence_word(std::uint32_t fence) const noexcept;
  void end_fence(int rank) noexcept;
  // Some ranks have entered a fence, others have not yet.
  [[nodiscard]] bool fence_waits() const noexcept;
  // Whether the rank waits in a fence now.
  [[nodiscard]] bool in_fence(int rank) const noexcept;

  // The first abort of the job wins; others are told nothing.
  void record_abort(int rank, int code, std::string_view text) noexcept;
  struct Abort {
    int rank = -1;  // -1: none
    int code = 0;
    std::string text;
  };
  [[nodiscard]] Abort abort() const;

 private:
  struct Header;
  struct Slot;
  struct Record;
  explicit SharedJob(Mapping map) noexcept : map_(std::move(map)) {}
  [[nodiscard]] Header& header() const noexcept;
  [[nodiscard]] Slot& slot(int rank) const noexcept;
  [[nodiscard]] std::size_t heap_end() const noexcept;
  void set_size(std::uint32_t size) noexcept;
  [[nodiscard]] const Record* record_at(std::uint32_t offset) const noexcept;

  Mapping map_;
  std::uint32_t size_ = 0;  // read once and checked; the header's word is not trusted again
};

}  // namespace tern::boot
