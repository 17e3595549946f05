// SPDX-License-Identifier: Apache-2.0
// How a rank learns who it is and meets the others before any message can flow: put, fence, get.
// Why: the library starts the same way under its own mpirun, under every PMIx server, alone, and as
// threads of a unit test.
//
// Life cycle: make_boot() -> put_connection_info()/put() -> fence(), or publish() and
// has_connection_info() of those that are needed -> connection_info()/get() of any rank, as late as
// wanted -> fence() again where a barrier is needed -> finalize(). A second make_boot() after
// finalize() is legal (sessions). What was put before a fence is visible to everybody after it.
//
// Lifetime: owned by the Process. Threads: one caller at a time per object.
//
// Errors: everything but abort() throws tern::Error.
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

// A connection info is what a rank tells everybody about itself: how to reach it and what it was
// built with.
inline constexpr std::size_t kConnectionInfoSize = 128;
using ConnectionInfo = std::array<std::byte, kConnectionInfoSize>;

template <class T>
[[nodiscard]] ConnectionInfo connection_info_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kConnectionInfoSize);
  ConnectionInfo bytes{};
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// Who hands out measurements of earlier jobs, and from when on Boot::learnt() has the text.
enum class Learnt : std::uint8_t {
  kFromLauncher,  // at once
  kPublished,     // rank 0; learnt() waits for rank 0
  kFenced         // rank 0; after the first fence
};

// What a rank knows of its job without asking another process.
struct Job {
  int rank = 0;
  int size = 1;
  std::string id;                // equal on all ranks, unique among the jobs of these hosts
  std::string launcher;          // in words, for messages: "mpirun", "Slurm", "none", ...
  std::vector<int> local_ranks;  // world ranks on this rank's host, ascending, this one included
  int local_index = 0;           // where this rank stands in local_ranks
  int app = 0;                   // MPI_APPNUM: which of mpirun's ':' sections; -1 unknown
  int universe_size = 0;         // MPI_UNIVERSE_SIZE; 0 unknown
  bool threads = false;          // ranks are threads of one process (unit tests)
  int server_pid = 0;            // mpirun's pid where it is an ancestor of all local ranks, else 0
  Learnt learnt = Learnt::kFenced;
  std::string remark;  // what users may see of this launcher, and wonder at
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

  // Which way was taken: "provided", "mpirun", "pmix", "singleton" or "fake".
  [[nodiscard]] virtual const char* name() const noexcept = 0;

  // Hosts: two ranks share memory only if their node is the same. Nodes count from 0 in the order
  // of their lowest rank. The first call may ask the server about every node of the job.
  [[nodiscard]] virtual int node(int rank) = 0;
  [[nodiscard]] virtual std::string host(int rank) = 0;

  // The sets of processes that the launcher has named, in an order that is equal on all ranks. The
  // first call may ask the server.
  [[nodiscard]] virtual std::vector<ProcessSet> process_sets() { return {}; }

  // Measurements of earlier jobs (LearntFile::pack()), where the launcher does not hand them out:
  // rank 0 does, once, before publish(). An empty text, too.
  virtual void hand_out(std::string_view learnt) { put("learnt", learnt); }
  // From the moment on that the job names. One text by one writer: ranks need no comparison, as for
  // parameters.
  [[nodiscard]] virtual std::string learnt() { return get(0, "learnt"); }

  virtual void put_connection_info(const ConnectionInfo& info) = 0;
  [[nodiscard]] virtual ConnectionInfo connection_info(int rank) = 0;
  // What was put so far is visible to all from now on, without a fence.
  virtual void publish() {}
  // Whether the rank has put its connection info, and published it: before a fence that may come
  // later. Of all ranks the entry (see enter_again()) must be the same.
  [[nodiscard]] virtual bool has_connection_info(int /*rank*/) { return true; }
  // After has_connection_info(): throws Error if the rank has gone on to a later program. A rank
  // that has ended may have made the same communicator before.
  virtual void expect(int /*rank*/) {}
  // A word that changes when a connection info is put, with its value now; without a word, ask
  // again.
  [[nodiscard]] virtual FutexWord connection_info_word() noexcept { return {}; }
  // This rank waits for the connection info of another one (-1: no more): where that never comes,
  // the launcher can say so.
  virtual void tell_awaited(int /*rank*/) noexcept {}
  // A job may be entered twice: all ranks have left it together, and some come back. The connection
  // infos of before do not count. To be called before put_connection_info().
  void enter_again() noexcept { entry_ = 2; }

  // Sessions: after the next fence all ranks know whether any had told of one before it.
  virtual void tell_session() {}
  [[nodiscard]] virtual bool had_sessions() { return false; }

  // Keys are short names; values are bytes of any length (a few KiB at most, please).
  virtual void put(std::string_view key, std::string_view value) = 0;
  [[nodiscard]] virtual std::string get(int rank, std::string_view key) = 0;

  // A fence publishes what was put and waits for all ranks of the job. In steps, so that messages
  // get on meanwhile: start_fence(), fence_over() until it is true, end_fence().
  virtual void start_fence() = 0;
  [[nodiscard]] virtual bool fence_over() noexcept = 0;
  // Throws where the fence failed.
  virtual void end_fence() {}
  // Between start and end: a sleeper is woken by this word when the fence is over. Without a word
  // it asks again after a moment.
  [[nodiscard]] virtual FutexWord fence_word() noexcept { return {}; }
  // All of it at once, asleep.
  void fence();

  // Ends the whole job with this exit code. Returns only in the fake, which remembers it.
  virtual void abort(int code, const char* text) noexcept = 0;

  // Reports on waiting. The word with the number of the launcher's last question "what do you wait
  // for?" (0: none yet), and that number; no word: the launcher does not ask. Cheap: asked before
  // every sleep.
  [[nodiscard]] virtual FutexWord question() const noexcept { return {}; }
  // Its answer: encoded WaitReports of at most room() bytes.
  virtual void answer(std::uint32_t /*question*/, std::string_view /*reports*/) noexcept {}
  [[nodiscard]] virtual std::size_t answer_room() const noexcept { return 0; }
  // Since when (now_ns()) this rank waits without progress, 0: it does not; and until when that
  // holds unless it is said again.
  virtual void tell_waiting(std::int64_t /*since_ns*/, std::int64_t /*until_ns*/) noexcept {}
  // Where this process keeps the name of its last MPI call, for a launcher that looks there.
  virtual void tell_call_address(const void* /*name*/) noexcept {}
  // Whether the launcher asks, and finds out by itself that no rank gets on.
  [[nodiscard]] virtual bool is_watched() const noexcept { return false; }

  // Tells the launcher that this rank is done. Not collective: fence first where that matters.
  virtual void finalize() = 0;
  // After finalize(): it goes on, with all that was put.
  virtual void resume() {}

 protected:
  Boot() = default;
  void check_rank(int rank, const char* what) const;

  Job job_;
  int entry_ = 1;
};

// A connection info as the struct that connection_info_of() took.
template <class T>
[[nodiscard]] T connection_info_as(Boot& boot, int rank) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kConnectionInfoSize);
  const ConnectionInfo bytes = boot.connection_info(rank);
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// The way this process was started: the program's own functions, our mpirun's shared memory, a PMIx
// server, or alone.
// Throws where a launcher is there that cannot be used (srun without --mpi=pmix) and says the cure.
// `way` (the parameter TERN_BOOT) insists on one: "auto", "mpirun", "pmix", "provided" or
// "singleton". What the program has provided comes before all of them.
[[nodiscard]] std::unique_ptr<Boot> make_boot(std::string_view way = "auto");

// The way that make_boot() would take, without joining the job: "provided", "mpirun", "pmix" or
// "singleton". Throws as make_boot() does.
[[nodiscard]] const char* way_here(std::string_view way = "auto");

// The program has given functions for the next make_boot() (boot/provided.hpp).
[[nodiscard]] bool is_provided() noexcept;

}  // namespace tern::boot
