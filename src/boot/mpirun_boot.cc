// SPDX-License-Identifier: Apache-2.0
// MpirunBoot: a rank of Tern's mpirun.
#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "base/error.hpp"
#include "base/process_id.hpp"
#include "base/shared_file.hpp"
#include "boot/boot.hpp"
#include "boot/rank_tree.hpp"
#include "boot/shared_job.hpp"
#include "boot/spawn_request.hpp"
#include "boot/ways.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

[[noreturn]] void end_job(SharedJob& shared, int event_fd, int rank, int code,
                          std::string_view text) noexcept {
  shared.record_abort(rank, code, text);
  const std::uint64_t one = 1;
  // If mpirun is gone, the guard ends this process.
  [[maybe_unused]] const auto written = ::write(event_fd, &one, sizeof one);
  ::_exit((code & 0xff) != 0 ? code & 0xff : 1);
}

class MpirunBoot final : public Boot {
 public:
  MpirunBoot(SharedJob shared, int event_fd, int rank)
      : shared_(std::move(shared)), event_fd_(event_fd) {
    const SharedJob::Facts facts = shared_.facts();
    job_.rank = rank;
    job_.size = facts.size;
    job_.id = facts.id;
    job_.launcher = "mpirun";
    job_.local_ranks.resize(static_cast<std::size_t>(facts.size));
    std::iota(job_.local_ranks.begin(), job_.local_ranks.end(), 0);
    job_.local_index = rank;
    job_.app = shared_.app(rank);
    job_.universe_size = facts.universe_size;
    job_.server_pid = facts.server_pid;
    job_.learnt = Learnt::kFromLauncher;
    job_.watched = true;
    (void)shared_.get(0, kDoorKey, &job_.door);
    program_ = std::max(1, shared_.programs(rank));
    set_launchers_keeper(facts.keeper_fd);
    shared_.set_state(rank, RankState::kInitialised);
  }

  ~MpirunBoot() override { set_launchers_keeper(-1); }
  MpirunBoot(const MpirunBoot&) = delete;
  MpirunBoot& operator=(const MpirunBoot&) = delete;

  const char* name() const noexcept override { return "mpirun"; }
  int node(int rank) override {
    check_rank(*this, rank, "the node");
    return 0;
  }
  std::string host(int rank) override {
    check_rank(*this, rank, "the host");
    return this_host();
  }
  std::vector<ProcessSet> process_sets() override {
    std::string text;
    return shared_.get(0, kSetsKey, &text) ? read_sets(text, size()) : std::vector<ProcessSet>();
  }
  std::string learnt() override {
    std::string text;
    return shared_.get(0, kLearntKey, &text) ? text : std::string();
  }
  void put_connection_info(const ConnectionInfo& info) override {
    shared_.put_connection_info(rank(), info, entry());
  }
  bool has_connection_info(int rank) override {
    check_rank(*this, rank, "the connection info");
    return shared_.has_connection_info(rank, entry());
  }
  void expect(int rank) override {
    const int later = (shared_.entry(rank) - 1) / kEntriesOfAProgram + 1;
    if (later > program_)
      throw Error(MPI_ERR_OTHER, strf("rank %d has already ended this MPI program: rank %d is at "
                                      "MPI program number %d, but this is number %d of rank %d. "
                                      "All ranks must run the same MPI programs in the same order",
                                      rank, rank, later, program_, this->rank()));
  }
  FutexWord connection_info_word() noexcept override { return shared_.connection_info_word(); }
  void tell_awaited(int rank) noexcept override { shared_.set_awaited(job_.rank, rank); }
  int tell_known_worlds(const std::vector<std::uint64_t>& worlds) override {
    shared_.worlds.set(rank(), worlds);
    return std::max(size(), shared_.worlds.crowd());
  }
  void tell_session() override { shared_.set_sessions(); }
  bool had_sessions() override { return shared_.sessions(); }
  ConnectionInfo connection_info(int rank) override {
    check_rank(*this, rank, "the connection info");
    return shared_.connection_info(rank);
  }
  void put(std::string_view key, std::string_view value) override {
    shared_.put(rank(), key, value);
  }
  std::string get(int rank, std::string_view key) override {
    check_rank(*this, rank, "a key");
    std::string value;
    if (!shared_.get(rank, key, &value))
      throw Error(MPI_ERR_OTHER, strf("rank %d has put no key \"%.*s\"", rank,
                                      static_cast<int>(key.size()), key.data()));
    return value;
  }
  void start_fence() override { fence_ = shared_.start_fence(rank()); }
  bool fence_over() noexcept override { return shared_.fence_over(fence_); }
  void end_fence() override { shared_.end_fence(rank()); }
  FutexWord fence_word() noexcept override { return shared_.fence_word(fence_); }

  void abort(int code, const char* text) noexcept override {
    end_job(shared_, event_fd_.get(), rank(), code, text);
  }

  FutexWord question() const noexcept override { return shared_.questions.question(); }
  void answer(std::uint32_t question, std::string_view reports) noexcept override {
    shared_.questions.answer(rank(), question, reports);
  }
  std::size_t answer_room() const noexcept override { return Questions::kAnswerRoom; }
  void tell_waiting(std::int64_t since_ns, std::int64_t until_ns) noexcept override {
    shared_.questions.set_waiting(rank(), since_ns, until_ns);
  }
  void tell_call_address(const void* name) noexcept override {
    shared_.questions.set_call_address(rank(), reinterpret_cast<std::uint64_t>(name));
  }

  void finalize() override { shared_.set_state(rank(), RankState::kFinalised); }
  void resume() override { shared_.set_state(rank(), RankState::kInitialised); }

 private:
  // The n-th programs of all ranks meet.
  static constexpr int kEntriesOfAProgram = 2;
  [[nodiscard]] int entry() const noexcept { return (program_ - 1) * kEntriesOfAProgram + entry_; }

  SharedJob shared_;
  Fd event_fd_;
  std::uint32_t fence_ = 0;
  int program_ = 1;
};

// Inheritance is this process's rank by the environment; invalid outside mpirun.
struct Inheritance {
  SharedJob shared;
  int rank = -1;
  int memory_fd = -1;  // -1: closed, or reused for another file
};

// own_number() is the pid in mpirun's PID namespace, else a negative number.
std::int32_t own_number(const SharedJob& shared) {
  const std::uint32_t domain = shared.facts().domain;
  if (domain == 0 || domain == proc_domain()) return ::getpid();
  return -1 - static_cast<std::int32_t>(process_id() & 0x3fffffff);
}

SharedJob attach_of_job(int fd, const char* job) {
  SharedJob shared = SharedJob::attach(fd);
  if (shared.valid() && shared.facts().id != job) return {};
  return shared;
}

// mpirun holds the memory under the same descriptor number.
SharedJob attach_of_mpirun(int number, const char* job) {
  const char* mpirun = std::getenv(kBootPidVariable);
  if (mpirun == nullptr) return {};
  const std::string path = strf("/proc/%d/fd/%d", std::atoi(mpirun), number);
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  return attach_of_job(fd.get(), job);
}

Inheritance inheritance() {
  const char* fd_text = std::getenv(kBootVariable);
  const char* rank_text = std::getenv("PMIX_RANK");
  const char* job_text = std::getenv("PMIX_NAMESPACE");
  if (fd_text == nullptr || rank_text == nullptr || job_text == nullptr) return {};
  Inheritance mine;
  mine.rank = std::atoi(rank_text);
  const int number = std::atoi(fd_text);
  mine.shared = attach_of_job(number, job_text);
  if (mine.shared.valid())
    mine.memory_fd = number;
  else
    mine.shared = attach_of_mpirun(number, job_text);
  if (!mine.shared.valid() || mine.rank < 0 || mine.rank >= mine.shared.facts().size) return {};
  return mine;
}

// A second program of the rank ends the job, unless the other program is an ancestor.
void refuse_second_program(Inheritance& mine) {
  const SharedJob::Facts facts = mine.shared.facts();
  const Starters starters = starters_below(facts.server_pid);
  if (!starters.below_launcher) return;
  const pid_t owner = mine.shared.owner(mine.rank);
  if (owner > 0 && owner != ::getpid() && !starters.have(owner)) wait_if_ending(owner);
  const bool is_taken = !mine.shared.may_claim(mine.rank, own_number(mine.shared));
  if (is_taken && starters.have(owner)) return;
  const pid_t other = is_taken ? owner : other_program(starters);
  if (other == 0) return;
  end_job(mine.shared, facts.event_fd, mine.rank, 1,
          strf("two MPI programs run in one rank at the same time, %s (pid %d) and %s (pid %d). "
               "Run one after the other, or each under a separate mpirun; TERN_BOOT=singleton "
               "makes a program a separate world",
               program_of(other).c_str(), other, program_of(::getpid()).c_str(), ::getpid()));
}

}  // namespace

Standing standing_in_mpirun() {
  const Inheritance mine = inheritance();
  if (!mine.shared.valid()) return Standing::kOutside;
  if (!mine.shared.may_claim(mine.rank, own_number(mine.shared))) return Standing::kDescendant;
  return mine.memory_fd >= 0 ? Standing::kRank : Standing::kRankWithoutMemory;
}

bool claim_rank_of_mpirun() {
  Inheritance mine = inheritance();
  if (!mine.shared.valid()) return true;
  refuse_second_program(mine);
  if (mine.shared.claim(mine.rank, own_number(mine.shared))) return true;
  refuse_second_program(mine);
  return false;
}

std::unique_ptr<Boot> make_mpirun_boot() {
  Inheritance mine = inheritance();
  if (mine.memory_fd < 0) return nullptr;
  const int event_fd = mine.shared.facts().event_fd;
  ::fcntl(mine.memory_fd, F_SETFD, FD_CLOEXEC);
  ::fcntl(event_fd, F_SETFD, FD_CLOEXEC);
  if (const int keeper = mine.shared.facts().keeper_fd; keeper >= 0)
    ::fcntl(keeper, F_SETFD, FD_CLOEXEC);
  const int own_event = ::fcntl(event_fd, F_DUPFD_CLOEXEC, 3);
  return std::make_unique<MpirunBoot>(std::move(mine.shared), own_event, mine.rank);
}

}  // namespace tern::boot
