// SPDX-License-Identifier: Apache-2.0
// SharedJob: memory shared by mpirun's ranks of one machine: connection infos, keys, fence, abort.
// Why: a PMIx client costs a rank 10 ms; this costs two system calls.
// Layout: header, one slot per rank, an append-only heap of key records, the questions. All data
// read is checked: a faulty rank may break its own job, but never run code in another rank.
// Lifetime: mpirun creates the memory; a rank inherits the descriptor and maps it. Threads: many
// processes may call any function but create() at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "boot/boot.hpp"
#include "boot/questions.hpp"

namespace tern::boot {

// Reported by the rank; mpirun judges an exit by this state.
enum class RankState : std::uint32_t { kStarted, kInitialised, kFinalised, kAborted };

// Number of the inherited descriptor. PMIX_RANK is the rank, and PMIX_NAMESPACE must be the job's
// id, so a launcher inside a rank is not misled.
inline constexpr const char* kBootVariable = "TERN_BOOT_FD";
// mpirun's pid. mpirun has the descriptor under the same number, for programs whose parent closed
// it (sudo, Python's subprocess).
inline constexpr const char* kBootPidVariable = "TERN_BOOT_PID";

// Key of mpirun's measurements for collectives, stored for rank 0.
inline constexpr std::string_view kLearntKey = "tern.learnt";

class SharedJob {
 public:
  struct Facts {
    int size = 1;
    int universe_size = 0;
    int server_pid = 0;
    int event_fd = -1;  // inherited; a write wakes mpirun
    std::string id;
    int keeper_fd = -1;        // inherited; a socket to mpirun's keeper (base/keeper.hpp)
    std::uint32_t domain = 0;  // mpirun's proc_domain(); 0: the same for all ranks
  };

  Questions questions;

  SharedJob() = default;
  static SharedJob create(int fd, const Facts& facts);
  // Returns an invalid object if `fd` is not a job's memory.
  static SharedJob attach(int fd);
  static std::size_t bytes_for(int size);

  [[nodiscard]] bool valid() const noexcept { return map_.valid(); }
  [[nodiscard]] Facts facts() const;

  void set_app(int rank, int app) noexcept;
  [[nodiscard]] int app(int rank) const noexcept;
  void set_state(int rank, RankState state) noexcept;
  [[nodiscard]] RankState state(int rank) const noexcept;

  // A rank belongs to the first process that claims it, until that process ends; children are not
  // the rank. may_claim() returns true if `pid` is, or could become, the owner. Negative numbers
  // stand for processes in another PID namespace; those count as ended after leaving MPI.
  [[nodiscard]] bool may_claim(int rank, std::int32_t pid) const noexcept;
  [[nodiscard]] bool claim(int rank, std::int32_t pid) noexcept;

  // The last process that claimed the rank; 0: none.
  [[nodiscard]] std::int32_t owner(int rank) const noexcept;
  // Number of processes that have been the rank, in sequence.
  [[nodiscard]] int programs(int rank) const noexcept;

  // `entry`: how many times the rank has entered the job.
  void put_connection_info(int rank, const ConnectionInfo& info, int entry = 1) noexcept;
  [[nodiscard]] bool has_connection_info(int rank, int entry = 1) const noexcept;
  // Entry of the latest connection info; 0: none.
  [[nodiscard]] int entry(int rank) const noexcept;
  // Changes at each new connection info.
  [[nodiscard]] FutexWord connection_info_word() const noexcept;
  // The rank whose connection info this rank waits for, or -1.
  void set_awaited(int rank, int awaited) noexcept;
  [[nodiscard]] int awaited(int rank) const noexcept;
  // A rank has opened a session.
  void set_sessions() noexcept;
  [[nodiscard]] bool sessions() const noexcept;
  [[nodiscard]] ConnectionInfo connection_info(int rank) const noexcept;
  void put(int rank, std::string_view key, std::string_view value);
  // Returns false if the rank has put no such key.
  [[nodiscard]] bool get(int rank, std::string_view key, std::string* value) const;

  // Returns the number of the entered fence; see Boot.
  [[nodiscard]] std::uint32_t start_fence(int rank) noexcept;
  [[nodiscard]] bool fence_over(std::uint32_t fence) const noexcept;
  [[nodiscard]] FutexWord fence_word(std::uint32_t fence) const noexcept;
  void end_fence(int rank) noexcept;
  // Whether some ranks, but not all, have entered a fence.
  [[nodiscard]] bool fence_waits() const noexcept;
  // Whether the rank waits in a fence.
  [[nodiscard]] bool in_fence(int rank) const noexcept;

  // The first abort wins; later ones are dropped.
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
  std::uint32_t size_ = 0;  // read and checked once; the header is not trusted afterwards
};

}  // namespace tern::boot
