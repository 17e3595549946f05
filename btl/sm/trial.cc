// SPDX-License-Identifier: Apache-2.0
// Trial of shared memory: two child processes exchange frames, then read and write each other's
// private memory.
// Why: the ranks of mpirun are siblings, too, so the kernel applies the same rules.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "boot/boot.hpp"
#include "btl/sm/cma.hpp"
#include "btl/sm/sm.hpp"
#include "btl/trial.hpp"
#include "core/process.hpp"
#include "mpi.h"

namespace tern::btl::sm {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kTimeout = std::chrono::seconds(2);
constexpr uint32_t kFrames = 96;
constexpr size_t kSizes[] = {8, 1000, kBlockBytes};  // in one line, several, the pool
constexpr size_t kCopied = 65536;

struct Meeting {
  std::atomic<int> arrivals;
  boot::ConnectionInfo infos[2];
  std::atomic<std::byte*> memory[2];
  pid_t pids[2];
  std::atomic<uint32_t> frames;
  int copy_errors[2];
  char failures[2][400];
};

[[noreturn]] void gave_up(const char* what) {
  throw Error(MPI_ERR_OTHER, strf("%s did not happen within 2 s", what));
}

template <class Condition>
void wait_for(const char* what, Condition&& condition) {
  for (const auto end = Clock::now() + kTimeout; !condition();) {
    if (Clock::now() > end) gave_up(what);
    std::this_thread::yield();
  }
}

class TrialBoot final : public boot::Boot {
 public:
  TrialBoot(Meeting& meeting, int rank, pid_t launcher) : meeting_(meeting) {
    job_.rank = job_.local_index = rank;
    job_.size = 2;
    job_.local_ranks = {0, 1};
    job_.server_pid = launcher;
  }
  const char* name() const noexcept override { return "trial"; }
  int node(int) override { return 0; }
  std::string host(int) override { return "localhost"; }
  void put_connection_info(const boot::ConnectionInfo& info) override {
    meeting_.infos[job_.rank] = info;
  }
  boot::ConnectionInfo connection_info(int rank) override { return meeting_.infos[rank]; }
  void put(std::string_view, std::string_view) override {}
  std::string get(int, std::string_view) override { return {}; }
  void start_fence() override {
    awaited_ = (meeting_.arrivals.fetch_add(1) / 2 + 1) * 2;
    wait_for("a meeting with the other process", [this] { return fence_over(); });
  }
  bool fence_over() noexcept override { return meeting_.arrivals.load() >= awaited_; }
  void abort(int, const char* text) noexcept override {
    std::snprintf(meeting_.failures[job_.rank], sizeof meeting_.failures[0], "%s", text);
    ::_exit(1);
  }
  void finalize() override {}

 private:
  Meeting& meeting_;
  int awaited_ = 0;
};

std::byte byte_of(uint32_t frame, size_t at) { return static_cast<std::byte>(frame * 7 + at); }

class Taker final : public Sink {
 public:
  void arrived(Endpoint&, const Frame& frame) noexcept override {
    bool whole = frame.header.context == taken;
    for (size_t i = 0; i < frame.header.bytes; ++i)
      whole = whole && frame.payload[i] == byte_of(taken, i);
    ++taken;
    if (whole) ++good;
  }
  uint32_t taken = 0, good = 0;
};

void exchange_frames(Sm& sm, Endpoint& peer, const Taker& taker) {
  std::vector<std::byte> payload(kBlockBytes);
  for (uint32_t frame = 0; frame < kFrames; ++frame) {
    const size_t bytes = kSizes[frame % std::size(kSizes)];
    for (size_t i = 0; i < bytes; ++i) payload[i] = byte_of(frame, i);
    const Header header{0, 1, static_cast<uint16_t>(bytes), frame, 0, 0};
    wait_for("room for a frame", [&] {
      sm.progress();
      return peer.send(header, payload.data());
    });
  }
  wait_for("the arrival of all frames", [&] {
    sm.progress();
    return taker.taken == kFrames;
  });
}

void copy_memory(Meeting& meeting, TrialBoot& boot, int rank) {
  std::vector<std::byte> memory(kCopied, static_cast<std::byte>(rank + 1)), copy(kCopied);
  meeting.memory[rank] = memory.data();
  meeting.pids[rank] = ::getpid();
  boot.fence();
  const iovec near{rank == 0 ? copy.data() : memory.data(), kCopied};
  const iovec far{meeting.memory[1 - rank].load(), kCopied};
  const pid_t peer = meeting.pids[1 - rank];
  if (rank == 0) {
    meeting.copy_errors[0] = cma_get(peer, &near, 1, &far, 1);
    if (meeting.copy_errors[0] == 0 &&
        (copy.front() != std::byte{2} || copy.back() != std::byte{2}))
      meeting.copy_errors[0] = EBADMSG;
  }
  boot.fence();
  if (rank == 1) meeting.copy_errors[1] = cma_put(peer, &near, 1, &far, 1);
  boot.fence();
  if (rank == 0 && meeting.copy_errors[1] == 0 &&
      (memory.front() != std::byte{2} || memory.back() != std::byte{2}))
    meeting.copy_errors[1] = EBADMSG;
}

void be_rank(Meeting& meeting, int rank, pid_t launcher) {
  TrialBoot boot(meeting, rank, launcher);
  core::Process process;
  process.boot = &boot;
  process.world_rank = rank;
  process.world_size = process.node.ranks = 2;
  process.node.oversubscribed = true;
  Taker taker;
  AddressBook book(process);
  Sm sm(process, taker, book);
  ConnectionInfo info = book.own();
  book.list(info, sm.name(), 0, sm.address());
  boot.put_connection_info(boot::connection_info_of(info));
  boot.fence();
  Endpoint* peer = sm.connect(process.peer(static_cast<uint32_t>(1 - rank)), 0);
  if (peer == nullptr) throw Error(MPI_ERR_OTHER, "sm does not reach the other process");
  exchange_frames(sm, *peer, taker);
  meeting.frames += taker.good;
  copy_memory(meeting, boot, rank);
}

pid_t start_rank(Meeting& meeting, int rank) {
  const pid_t launcher = ::getpid();
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  try {
    be_rank(meeting, rank, launcher);
  } catch (const std::exception& error) {
    std::snprintf(meeting.failures[rank], sizeof meeting.failures[0], "%s", error.what());
    ::_exit(1);
  }
  ::_exit(0);
}

std::string end_of_rank(pid_t pid, const char* failure) {
  if (pid < 0) return strf("no process could be started: %s", std::strerror(errno));
  int status = 0;
  for (const auto end = Clock::now() + 3 * kTimeout; ::waitpid(pid, &status, WNOHANG) == 0;) {
    if (Clock::now() > end) ::kill(pid, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (WIFSIGNALED(status)) return strf("a process was killed by signal %d", WTERMSIG(status));
  if (*failure == '\0' && status != 0)
    return strf("a process ended with exit code %d", WEXITSTATUS(status));
  return failure;
}

Trial judge_frames(const Meeting& meeting, const std::string& failure) {
  Trial trial{"sm", "ranks of the same host", false, failure, ""};
  if (failure.empty() && meeting.frames != 2 * kFrames)
    trial.finding = strf("%u of %u frames arrived whole", meeting.frames.load(), 2 * kFrames);
  trial.works = trial.finding.empty();
  if (trial.works)
    trial.finding = strf("two processes exchanged %u frames of 8 to %zu bytes", 2 * kFrames,
                         kSizes[std::size(kSizes) - 1]);
  else
    trial.cure =
        "ranks need memory files (memfd_create, or room in /dev/shm or TMPDIR) and one user";
  return trial;
}

const char* cure_of(int error) {
  if (error == EPERM || error == EACCES)
    return "allow ptrace among processes of one user: sysctl kernel.yama.ptrace_scope=0 or 1; in a "
           "container: docker --cap-add=SYS_PTRACE. Until then large messages are copied twice";
  if (error == ENOSYS)
    return "a kernel with CONFIG_CROSS_MEMORY_ATTACH, or a container whose filter allows "
           "process_vm_readv. Until then large messages are copied twice";
  return "large messages are copied twice";
}

Trial judge_copies(const Meeting& meeting, bool frames_work) {
  Trial trial{"sm single copy", "ranks of the same host, large messages", false, "", ""};
  if (!frames_work) {
    trial.finding = "not tried, as shared memory failed";
    trial.cure = "as for shared memory";
    return trial;
  }
  const int reading = meeting.copy_errors[0], writing = meeting.copy_errors[1];
  const int error = reading != 0 ? reading : writing;
  trial.works = error == 0;
  if (trial.works)
    trial.finding = strf("each of two processes copied %zu bytes of the other", kCopied);
  else
    trial.finding =
        strf("%s of another process: %s (errno %d)",
             reading != 0 ? "process_vm_readv" : "process_vm_writev", std::strerror(error), error);
  if (!trial.works) trial.cure = cure_of(error);
  return trial;
}

}  // namespace

std::vector<Trial> try_here() {
  void* room =
      ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    return {{"sm", "ranks of the same host", false,
             strf("no shared memory: %s", std::strerror(errno)),
             "free memory, or raise ulimit -v"}};
  const Mapping owner(room, sizeof(Meeting));
  Meeting& meeting = *new (room) Meeting{};
  const pid_t ranks[] = {start_rank(meeting, 0), start_rank(meeting, 1)};
  std::string failure = end_of_rank(ranks[0], meeting.failures[0]);
  const std::string other = end_of_rank(ranks[1], meeting.failures[1]);
  // A missing peer is a symptom, so the other rank's failure is reported instead.
  if (failure.empty() || failure.find("did not happen") != std::string::npos)
    failure = other.empty() ? failure : other;
  const Trial frames = judge_frames(meeting, failure);
  return {frames, judge_copies(meeting, frames.works)};
}

}  // namespace tern::btl::sm
