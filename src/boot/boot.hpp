// SPDX-License-Identifier: Apache-2.0
// Boot: how a rank learns its identity and meets the other ranks before messages can flow: put,
// fence, get.
// Why: the same start under Tern's mpirun, any PMIx server, alone, and as threads of a unit test.
//
// Life cycle: make_boot() -> put_connection_info()/put() -> fence(), or publish() and
// has_connection_info() of selected ranks -> connection_info()/get() of any rank, at any time ->
// further fences -> finalize(). make_boot() may follow finalize() (sessions). A fence makes all
// earlier puts visible to all ranks.
//
// Lifetime: owned by the Process. Threads: one caller at a time per object.
//
// Errors: all functions but abort() throw tern::Error.
//
// See: tests/unit/boot/boot_test.cc, tests/mpi/launch.sh, tests/mpi/launch_pmix.sh.
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

// The record that each rank publishes: addresses and build facts.
inline constexpr std::size_t kConnectionInfoSize = 128;
using ConnectionInfo = std::array<std::byte, kConnectionInfoSize>;

template <class T>
[[nodiscard]] ConnectionInfo connection_info_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kConnectionInfoSize);
  ConnectionInfo bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// The distributor of earlier jobs' measurements, and the time from which Boot::learnt() has the
// text.
enum class Learnt : std::uint8_t {
  kFromLauncher,  // at once
  kPublished,     // rank 0; learnt() waits for rank 0
  kFenced         // rank 0, after the first fence
};

// Facts known without contacting another process.
struct Job {
  int rank = 0;
  int size = 1;
  std::string id;                // equal on all ranks, unique among jobs of these hosts
  std::string launcher;          // for messages: "mpirun", "Slurm", "none", ...
  std::vector<int> local_ranks;  // world ranks on this host, ascending, including this rank
  int local_index = 0;           // this rank's index in local_ranks
  int app = 0;                   // MPI_APPNUM: index of mpirun's ':' section; -1: unknown
  int universe_size = 0;         // MPI_UNIVERSE_SIZE; 0: unknown
  bool threads = false;          // ranks are threads of one process (unit tests)
  int server_pid = 0;            // mpirun's pid if an ancestor of all local ranks, else 0
  Learnt learnt = Learnt::kFenced;
  std::string remark;  // explains a confusing message of this launcher
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

  // "provided", "mpirun", "pmix", "singleton" or "fake".
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  // Ranks share memory only if their nodes are equal. Nodes are numbered from 0 by lowest rank. The
  // first call may query the server about all nodes.
  [[nodiscard]] virtual int node(int rank) = 0;
  [[nodiscard]] virtual std::string host(int rank) = 0;

  // The launcher's named sets of processes, in equal order on all ranks. The first call may query
  // the server.
  [[nodiscard]] virtual std::vector<ProcessSet> process_sets() { return {}; }

  // Distributes measurements of earlier jobs (LearntFile::pack()) if the launcher does not. Rank 0
  // calls this once, before publish(), even with an empty text.
  virtual void hand_out(std::string_view learnt) { put("learnt", learnt); }
  // Valid from the time in Job::learnt. All ranks read the same text.
  [[nodiscard]] virtual std::string learnt() { return get(0, "learnt"); }

  virtual void put_connection_info(const ConnectionInfo& info) = 0;
  [[nodiscard]] virtual ConnectionInfo connection_info(int rank) = 0;
  // Makes all earlier puts visible without a fence.
  virtual void publish() {}
  // Whether the rank has put and published its connection info, possibly before any fence. All
  // ranks must use the same entry (see enter_again()).
  [[nodiscard]] virtual bool has_connection_info(int /*rank*/) { return true; }
  // Call after has_connection_info(). Throws Error if the rank has gone on to a later program; such
  // a rank may have made the same communicator before.
  virtual void expect(int /*rank*/) {}
  // Changes at each new connection info, with the current value; without a word, the caller polls.
  [[nodiscard]] virtual FutexWord connection_info_word() noexcept { return {}; }
  // Reports that this rank waits for a connection info (-1: no longer), so the launcher can
  // diagnose a hang.
  virtual void tell_awaited(int /*rank*/) noexcept {}
  // Enters the job a second time, after all ranks have left together. Earlier connection infos
  // become invalid. Call before put_connection_info().
  void enter_again() noexcept { entry_ = 2; }

  // Sessions: after the next fence, had_sessions() says whether any rank had called tell_session()
  // before.
  virtual void tell_session() {}
  [[nodiscard]] virtual bool had_sessions() { return false; }

  // `key` is a short name; `value` has at most a few KiB, of any content.
  virtual void put(std::string_view key, std::string_view value) = 0;
  [[nodiscard]] virtual std::string get(int rank, std::string_view key) = 0;

  // A fence publishes all puts and waits for all ranks. start_fence(), fence_over() until true,
  // end_fence() allow progress meanwhile.
  virtual void start_fence() = 0;
  [[nodiscard]] virtual bool fence_over() noexcept = 0;
  // Throws if the fence failed.
  virtual void end_fence() {}
  // Wakes a sleeper at the end of the fence; without a word, the caller polls.
  [[nodiscard]] virtual FutexWord fence_word() noexcept { return {}; }
  // A whole fence, asleep.
  void fence();

  // Ends the job with exit code `code`. Returns only in the fake.
  virtual void abort(int code, const char* text) noexcept = 0;

  // The word with the number of the launcher's last question about waiting ranks (0: none), and the
  // number; without a word, the launcher does not ask. Cheap: read before every sleep.
  [[nodiscard]] virtual FutexWord question() const noexcept { return {}; }
  // Answers with encoded WaitReports of at most answer_room() bytes.
  virtual void answer(std::uint32_t /*question*/, std::string_view /*reports*/) noexcept {}
  [[nodiscard]] virtual std::size_t answer_room() const noexcept { return 0; }
  // Reports that this rank has waited without progress since `since_ns` (now_ns(); 0: not waiting).
  // The report expires at `until_ns`.
  virtual void tell_waiting(std::int64_t /*since_ns*/, std::int64_t /*until_ns*/) noexcept {}
  // The address of the name of the last MPI call, for the launcher.
  virtual void tell_call_address(const void* /*name*/) noexcept {}
  // Whether the launcher detects hangs by itself.
  [[nodiscard]] virtual bool is_watched() const noexcept { return false; }

  // Reports to the launcher that this rank is done. Not collective.
  virtual void finalize() = 0;
  // Undoes finalize(); all puts stay.
  virtual void resume() {}

 protected:
  Boot() = default;
  void check_rank(int rank, const char* what) const;

  Job job_;
  int entry_ = 1;
};

// The inverse of connection_info_of().
template <class T>
[[nodiscard]] T connection_info_as(Boot& boot, int rank) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kConnectionInfoSize);
  const ConnectionInfo bytes = boot.connection_info(rank);
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Chooses by the way this process was started: the program's functions, mpirun's shared memory, a
// PMIx server, or alone. Throws Error with the cure if the launcher is unusable (srun without
// --mpi=pmix). `way` (TERN_BOOT) forces "auto", "mpirun", "pmix", "provided" or "singleton"; the
// program's functions take precedence.
[[nodiscard]] std::unique_ptr<Boot> make_boot(std::string_view way = "auto");

// The choice of make_boot(), without joining the job: "provided", "mpirun", "pmix" or "singleton".
// Throws like make_boot().
[[nodiscard]] const char* way_here(std::string_view way = "auto");

// Whether the program has provided functions for the next make_boot() (boot/provided.hpp).
[[nodiscard]] bool is_provided() noexcept;

}  // namespace tern::boot
