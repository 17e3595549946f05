// SPDX-License-Identifier: Apache-2.0
// Boot: how a rank learns its identity and meets the others: put, fence, get.
//
// Life cycle: make_boot() -> put_connection_info()/put() -> fence(), or publish() and
// has_connection_info() of selected ranks -> connection_info()/get() of any rank -> further fences
// -> finalize(). make_boot() may follow finalize() (sessions). A fence makes all earlier puts
// visible.
//
// Threads: one caller at a time. Errors: all functions but abort() throw tern::Error.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/futex.hpp"
#include "boot/process_set.hpp"

namespace tern::boot {

inline constexpr std::size_t kConnectionInfoSize = 128;
using ConnectionInfo = std::array<std::byte, kConnectionInfoSize>;

template <class T>
[[nodiscard]] ConnectionInfo connection_info_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kConnectionInfoSize);
  ConnectionInfo bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// The key of a rank with a failure detector: the job may survive a death once all ranks have one.
inline constexpr std::string_view kDetectorKey = "fault.detector";

// Boot::learnt() has the measurements of earlier jobs from this time on.
enum class Learnt : std::uint8_t {
  kFromLauncher,
  kPublished,  // rank 0; learnt() waits for rank 0
  kFenced
};

struct Job {
  int rank = 0;
  int size = 1;
  std::string id;  // equal on all ranks, unique on these hosts
  std::string launcher;
  std::vector<int> local_ranks;  // world ranks, ascending, including this rank
  int local_index = 0;
  int app = 0;  // MPI_APPNUM; -1: unknown
  int universe_size = 0;
  bool threads = false;
  bool watched = false;  // the launcher detects hangs
  std::string door;      // for requests of other worlds (boot/spawn_request.hpp); or empty
  int server_pid = 0;    // mpirun, if an ancestor of all local ranks, else 0
  Learnt learnt = Learnt::kFenced;
  std::string remark;  // about a confusing message of the launcher
};

class DeathNews {
 public:
  virtual ~DeathNews() = default;
  // Returns a rank that the launcher has found dead, once, or -1. Threads: any.
  [[nodiscard]] virtual int take() noexcept = 0;
};

class Boot {
 public:
  virtual ~Boot() = default;
  Boot(const Boot&) = delete;
  Boot& operator=(const Boot&) = delete;

  [[nodiscard]] const Job& job() const noexcept { return job_; }
  [[nodiscard]] int rank() const noexcept { return job_.rank; }
  [[nodiscard]] int size() const noexcept { return job_.size; }
  [[nodiscard]] const std::vector<int>& local_ranks() const noexcept { return job_.local_ranks; }
  [[nodiscard]] bool is_local(int rank) const noexcept;

  [[nodiscard]] virtual const char* name() const noexcept = 0;

  // Ranks share memory only on the same node. Nodes are numbered from 0 by lowest rank.
  [[nodiscard]] virtual int node(int rank) = 0;
  [[nodiscard]] virtual std::string host(int rank) = 0;

  // process_sets() has equal order on all ranks.
  [[nodiscard]] virtual std::vector<ProcessSet> process_sets() { return {}; }

  // hand_out() distributes measurements (LearntFile::pack()) if the launcher does not. Rank 0 calls
  // hand_out() once, before publish(), even with an empty text.
  virtual void hand_out(std::string_view learnt) { put("learnt", learnt); }
  // learnt() is valid from the time in Job::learnt.
  [[nodiscard]] virtual std::string learnt() { return get(0, "learnt"); }

  virtual void put_connection_info(const ConnectionInfo& info) = 0;
  [[nodiscard]] virtual ConnectionInfo connection_info(int rank) = 0;
  virtual void publish() {}
  // A rank may have published its connection info before any fence.
  [[nodiscard]] virtual bool has_connection_info(int /*rank*/) { return true; }
  // expect() follows has_connection_info(). Throws Error if the rank has gone on to a later
  // program.
  virtual void expect(int /*rank*/) {}
  // connection_info_word() changes at each new connection info; without a word, the caller polls.
  [[nodiscard]] virtual FutexWord connection_info_word() noexcept { return {}; }
  // Hang reports read the awaited rank; -1 ends the wait.
  virtual void tell_awaited(int /*rank*/) noexcept {}
  // A second entry needs enter_again() before put_connection_info(), after all ranks have left
  // together. Earlier connection infos become invalid.
  void enter_again() noexcept { entry_ = 2; }

  // Tells the launcher the other worlds known to this rank, by hashes of their job ids. Returns the
  // number of the launcher's ranks on this host, in all worlds.
  virtual int tell_known_worlds(const std::vector<std::uint64_t>& /*worlds*/) {
    return static_cast<int>(local_ranks().size());
  }

  // After the next fence, had_sessions() is true on all ranks.
  virtual void tell_session() {}
  [[nodiscard]] virtual bool had_sessions() { return false; }

  virtual void put(std::string_view key, std::string_view value) = 0;
  [[nodiscard]] virtual std::string get(int rank, std::string_view key) = 0;

  // start_fence(), fence_over() until true, end_fence(): a fence with progress meanwhile.
  virtual void start_fence() = 0;
  [[nodiscard]] virtual bool fence_over() noexcept = 0;
  virtual void end_fence() {}
  // fence_word() changes at the end of the fence.
  [[nodiscard]] virtual FutexWord fence_word() noexcept { return {}; }
  void fence();

  // abort() returns only in the fake.
  virtual void abort(int code, const char* text) noexcept = 0;

  // question() is the number of the launcher's last question about waiting ranks (0: none). A
  // waiting rank reads the launcher's question number before every sleep.
  [[nodiscard]] virtual FutexWord question() const noexcept { return {}; }
  // `reports` are encoded WaitReports of at most answer_room() bytes.
  virtual void answer(std::uint32_t /*question*/, std::string_view /*reports*/) noexcept {}
  [[nodiscard]] virtual std::size_t answer_room() const noexcept { return 0; }
  // This rank has waited without progress since `since_ns` (0: not waiting). The statement expires
  // at `until_ns`.
  virtual void tell_waiting(std::int64_t /*since_ns*/, std::int64_t /*until_ns*/) noexcept {}
  // `name` points to the name of the last MPI call.
  virtual void tell_call_address(const void* /*name*/) noexcept {}

  // Asks the launcher for news of dead ranks; null without. Throws std::bad_alloc.
  [[nodiscard]] virtual std::shared_ptr<DeathNews> hear_deaths() { return nullptr; }

  // finalize() is not collective.
  virtual void finalize() = 0;
  virtual void resume() {}

 protected:
  Boot() = default;

  Job job_;
  int entry_ = 1;
};

// Throws Error with the words `what` if the job has no such rank.
void check_rank(const Boot& boot, int rank, const char* what);

template <class T>
[[nodiscard]] T connection_info_as(Boot& boot, int rank) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kConnectionInfoSize);
  const ConnectionInfo bytes = boot.connection_info(rank);
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// `way` (TERN_BOOT) forces "auto", "mpirun", "pmix", "provided" or "singleton"; functions of the
// program take precedence. Throws Error if the launcher is unusable (srun without --mpi=pmix).
[[nodiscard]] std::unique_ptr<Boot> make_boot(std::string_view way = "auto");

// way_here() chooses like make_boot(), without joining.
[[nodiscard]] const char* way_here(std::string_view way = "auto");

[[nodiscard]] bool is_provided() noexcept;

}  // namespace tern::boot
