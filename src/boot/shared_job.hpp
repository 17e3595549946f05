// SPDX-License-Identifier: Apache-2.0
// SharedJob: memory shared by mpirun's ranks: connection infos, keys, fence, abort.
// Why: a PMIx client costs a rank 10 ms; this costs two system calls.
// Layout: header, a slot per rank, an append-only heap of key records, questions, known worlds. All
// data read is checked: a faulty rank may break its own job only. Lifetime: mpirun creates the
// memory; a rank inherits the descriptor. Threads: many processes may call any function but
// create() at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.hpp"
#include "boot/boot.hpp"
#include "boot/known_worlds.hpp"
#include "boot/questions.hpp"

namespace tern::boot {

// mpirun judges an exit by this state.
enum class RankState : std::uint32_t { kStarted, kInitialised, kFinalised, kAborted };

// The variable names the inherited descriptor. PMIX_NAMESPACE must be the job's id, to protect a
// launcher inside a rank.
/// The key of a rank's n-th started world; the value is the process id of its mpirun.
[[nodiscard]] std::string world_key(int number);
inline constexpr const char* kBootVariable = "TERN_BOOT_FD";
// Programs started without the descriptor (by sudo, Python's subprocess) take mpirun's.
inline constexpr const char* kBootPidVariable = "TERN_BOOT_PID";

inline constexpr std::string_view kLearntKey = "tern.learnt";

class SharedJob {
 public:
  struct Facts {
    int size = 1;
    int universe_size = 0;
    int server_pid = 0;
    int event_fd = -1;  // inherited; a write wakes mpirun
    std::string id;
    int keeper_fd = -1;        // inherited; mpirun's keeper (base/keeper.hpp)
    std::uint32_t domain = 0;  // mpirun's proc_domain(); 0: the same for all
  };

  Questions questions;
  KnownWorlds worlds;

  SharedJob() = default;
  static SharedJob create(int fd, const Facts& facts);
  static SharedJob attach(int fd);
  static std::size_t bytes_for(int size);

  [[nodiscard]] bool valid() const noexcept { return map_.valid(); }
  [[nodiscard]] Facts facts() const;

  void set_app(int rank, int app) noexcept;
  [[nodiscard]] int app(int rank) const noexcept;
  void set_state(int rank, RankState state) noexcept;
  [[nodiscard]] RankState state(int rank) const noexcept;

  // A rank belongs to the first claiming process, until the process ends. may_claim() is true if
  // `pid` is, or could become, the owner. Negative numbers are processes in another PID namespace,
  // ended by leaving MPI.
  [[nodiscard]] bool may_claim(int rank, std::int32_t pid) const noexcept;
  [[nodiscard]] bool claim(int rank, std::int32_t pid) noexcept;

  [[nodiscard]] std::int32_t owner(int rank) const noexcept;
  [[nodiscard]] int programs(int rank) const noexcept;

  // `entry` counts the rank's entries.
  void put_connection_info(int rank, const ConnectionInfo& info, int entry = 1) noexcept;
  [[nodiscard]] bool has_connection_info(int rank, int entry = 1) const noexcept;
  // entry() belongs to the latest connection info, or is 0.
  [[nodiscard]] int entry(int rank) const noexcept;
  [[nodiscard]] FutexWord connection_info_word() const noexcept;
  void set_awaited(int rank, int awaited) noexcept;
  [[nodiscard]] int awaited(int rank) const noexcept;
  void set_sessions() noexcept;
  [[nodiscard]] bool sessions() const noexcept;
  [[nodiscard]] ConnectionInfo connection_info(int rank) const noexcept;
  void put(int rank, std::string_view key, std::string_view value);
  [[nodiscard]] bool get(int rank, std::string_view key, std::string* value) const;

  [[nodiscard]] std::uint32_t start_fence(int rank) noexcept;
  [[nodiscard]] bool fence_over(std::uint32_t fence) const noexcept;
  [[nodiscard]] FutexWord fence_word(std::uint32_t fence) const noexcept;
  void end_fence(int rank) noexcept;
  [[nodiscard]] bool fence_waits() const noexcept;
  [[nodiscard]] bool in_fence(int rank) const noexcept;

  // The first abort of the job wins.
  void record_abort(int rank, int code, std::string_view text) noexcept;
  struct Abort {
    int rank = -1;
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
  std::uint32_t size_ = 0;  // checked once; the header is not trusted afterwards
};

}  // namespace tern::boot
