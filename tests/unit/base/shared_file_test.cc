// SPDX-License-Identifier: Apache-2.0
// Shared files and doorbell pipes, through /proc and through keepers in other user namespaces.
#include "base/shared_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/doorbell.hpp"
#include "base/keeper.hpp"

namespace tern {
namespace {

constexpr int kSkipped = 77, kWrong = 1;

bool enter_user_namespace() {
  const std::string map = "0 " + std::to_string(::geteuid()) + " 1";
  if (::unshare(CLONE_NEWUSER) != 0) return false;
  const Fd file(::open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC));
  return ::write(file.get(), map.data(), map.size()) == static_cast<ssize_t>(map.size());
}

int elsewhere(const std::function<bool()>& finds) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(!enter_user_namespace() ? kSkipped : finds() ? 0 : kWrong);
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#if defined(__SANITIZE_THREAD__)
constexpr const char* kWhySkipped = "TSan's thread keeps a child from a new user namespace";
#else
constexpr const char* kWhySkipped = "no user namespaces here";
#endif

#define EXPECT_FOUND(result)                              \
  do {                                                    \
    const int result_ = (result);                         \
    if (result_ == kSkipped) GTEST_SKIP() << kWhySkipped; \
    EXPECT_EQ(result_, 0);                                \
  } while (0)

int64_t voluntary_switches(pid_t thread) {
  std::ifstream status("/proc/self/task/" + std::to_string(thread) + "/status");
  for (std::string word; status >> word;)
    if (word == "voluntary_ctxt_switches:") {
      int64_t switches = 0;
      status >> switches;
      return switches;
    }
  return -1;
}

// Many ranks fill mpirun's socket at their start. With poll(), each free place woke all waiting
// ranks: 4,000 ranks took 30 to 50 s, of which 60 s of CPU in the kernel.
TEST(Keeper, AFreePlaceWakesOneSender) {
  constexpr int kSenders = 200, kRoom = 16 << 10;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
  ASSERT_EQ(::setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &kRoom, sizeof kRoom), 0);
  const MailSocket senders{Fd(ends[0])};
  Keeper keeper{MailSocket{Fd(ends[1])}};
  std::atomic<int> sent = 0, failed = 0;
  std::vector<std::atomic<pid_t>> ids(kSenders);
  std::vector<std::atomic<bool>> ended(kSenders);
  std::vector<std::jthread> ranks;
  for (int i = 0; i < kSenders; ++i)
    ranks.emplace_back([&, i] {
      ids[i] = ::gettid();
      const Fd kept(::eventfd(0, EFD_CLOEXEC));
      (keep_at(senders, {}, static_cast<uint64_t>(i), {kept.get()}) ? sent : failed)++;
      ended[i] = true;
    });
  const auto switches = [&] {
    std::vector<int64_t> all(kSenders, -1);
    for (int i = 0; i < kSenders; ++i)
      if (!ended[i] && ids[i] != 0) all[i] = voluntary_switches(ids[i]);
    return all;
  };
  int letters = 0;
  const auto receive = [&] {
    KeeperLetter letter{};
    std::vector<Fd> descriptors;
    Address from;
    pollfd room{keeper.descriptor(), POLLIN, 0};
    ASSERT_EQ(::poll(&room, 1, 10000), 1);
    const MailSocket one(Fd(::fcntl(keeper.descriptor(), F_DUPFD_CLOEXEC, 0)));
    ASSERT_EQ(one.receive(&letter, sizeof letter, &descriptors, &from), sizeof letter);
    ++letters;
  };
  while (std::count(ids.begin(), ids.end(), 0) != 0) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  ASSERT_GT(kSenders - sent, 50) << "the socket takes all letters at once";
  ASSERT_NO_FATAL_FAILURE(receive());
  // Other causes wake a few: each waits for a second at most.
  int woken = 0, waiting = 0;
  for (int i = 0; i < 10; ++i) {
    const std::vector<int64_t> before = switches();
    ASSERT_NO_FATAL_FAILURE(receive());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::vector<int64_t> after = switches();
    for (int j = 0; j < kSenders; ++j) woken += after[j] != before[j];
    waiting += kSenders - sent;
  }
  EXPECT_LT(woken, waiting / 4);
  while (letters < kSenders && !HasFatalFailure()) receive();
  ranks.clear();
  EXPECT_EQ(sent, kSenders);
  EXPECT_EQ(failed, 0);
}

/// Launcher plays mpirun: a keeper and an inherited socket.
class Launcher {
 public:
  Launcher() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends), 0);
    keeper_ = std::make_unique<Keeper>(MailSocket(Fd(ends[0])));
    inherited_ = Fd(ends[1]);
    set_launchers_keeper(inherited_.get());
    thread_ = std::jthread([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        pollfd letter{keeper_->descriptor(), POLLIN, 0};
        if (::poll(&letter, 1, 5) > 0) keeper_->serve();
      }
    });
  }
  ~Launcher() { set_launchers_keeper(-1); }
  [[nodiscard]] int socket() const { return inherited_.get(); }

 private:
  std::unique_ptr<Keeper> keeper_;
  Fd inherited_;
  std::jthread thread_;
};

bool has_text(const FoundFile& found, const char* text) {
  char got[16] = {};
  return found.valid() && ::pread(found.descriptors.front().get(), got, sizeof got - 1, 0) > 0 &&
         std::string(got) == text;
}

Fd file_with(const char* text) {
  Fd made = make_memfd("test", 4096);
  EXPECT_GT(::pwrite(made.get(), text, std::string(text).size() + 1, 0), 0);
  return made;
}

TEST(SharedFile, IsFoundInProc) {
  const Fd file = file_with("here");
  const OfferedFile offered(file, OfferedFile::Keep::kNo);
  EXPECT_TRUE(offered.offer().is_own_process());
  EXPECT_TRUE(has_text(open_offered(offered.offer(), O_RDWR), "here"));
}

TEST(SharedFile, MpirunsKeeperHandsItToAnotherUserNamespace) {
  const Launcher launcher;
  const Fd file = file_with("kept");
  const OfferedFile offered(file, OfferedFile::Keep::kYes);
  for (int i = 0; i < 3; ++i)
    EXPECT_FOUND(
        elsewhere([&] { return has_text(open_offered(offered.offer(), O_RDWR), "kept"); }));
}

TEST(SharedFile, ItIsNotKeptWhereThatWasNotAskedForNorAfterItsEnd) {
  const Launcher launcher;
  const Fd file = file_with("text");
  OfferedFile offered(file, OfferedFile::Keep::kNo);
  const auto is_refused = [&] {
    const FoundFile found = open_offered(offered.offer(), O_RDWR);
    return !found.valid() && found.error == EACCES &&
           found.why.find("by mpirun: no descriptor received") != std::string::npos;
  };
  EXPECT_FOUND(elsewhere(is_refused));
  const FileOffer before = offered.offer();
  offered = OfferedFile(file, OfferedFile::Keep::kYes);
  offered = OfferedFile();
  EXPECT_FOUND(elsewhere([&] { return !open_offered(before, O_RDWR).valid(); }));
}

TEST(SharedFile, WithoutAnyKeeperTheReasonIsSaid) {
  const Fd file = file_with("text");
  const OfferedFile offered(file, OfferedFile::Keep::kYes);
  EXPECT_FOUND(elsewhere([&] {
    const FoundFile found = open_offered(offered.offer(), O_RDWR);
    return !found.valid() && found.why.find("Permission denied; no mpirun") != std::string::npos;
  }));
}

// PR_SET_DUMPABLE 0 closes /proc/PID/fd to other processes.
TEST(SharedFile, AThreadKeepsThoseOfAProcessThatMayNotBeDumped) {
  const Fd file = file_with("thread");
  ASSERT_EQ(::prctl(PR_SET_DUMPABLE, 0), 0);
  {
    const OfferedFile offered(file, OfferedFile::Keep::kNo);
    EXPECT_NE(offered.offer().keeper, 0U);
    EXPECT_EQ(keeper_threads(), 1);
    ::prctl(PR_SET_DUMPABLE, 1);  // for the child's own /proc
    EXPECT_FOUND(
        elsewhere([&] { return has_text(open_offered(offered.offer(), O_RDWR), "thread"); }));
    FileOffer unknown = offered.offer();
    unknown.keeper = 0xfffff;
    EXPECT_FOUND(elsewhere([&] {
      return open_offered(unknown, O_RDWR).why.find("Connection refused") != std::string::npos;
    }));
  }
  EXPECT_EQ(keeper_threads(), 0);
}

TEST(SharedFile, AnotherPidNamespaceIsNotLookedForInProc) {
  const Launcher launcher;
  const Fd file = file_with("mine");
  const OfferedFile offered(file, OfferedFile::Keep::kYes);
  FileOffer there = offered.offer();
  ++there.domain;
  EXPECT_EQ(there.pid_here(), 0);
  EXPECT_FALSE(there.is_own_process());
  const FoundFile found = open_offered(there, O_RDWR);
  EXPECT_FALSE(found.valid());
  EXPECT_NE(found.why.find("another PID namespace; by mpirun"), std::string::npos) << found.why;
}

TEST(Keeper, LettersWithoutSenseChangeNothing) {
  const Launcher launcher;
  const Fd file = file_with("sense");
  const OfferedFile offered(file, OfferedFile::Keep::kYes);
  const MailSocket socket(Fd(::fcntl(launcher.socket(), F_DUPFD_CLOEXEC, 0)));
  const char text[] = "hello";
  EXPECT_EQ(socket.send({}, text, sizeof text, nullptr, 0), 0);
  for (uint32_t kind = 0; kind < 5; ++kind)
    for (const uint32_t magic : {KeeperLetter::kMagic, 0U}) {
      const KeeperLetter letter{magic, static_cast<KeeperLetter::Kind>(kind), 5};
      EXPECT_EQ(socket.send({}, &letter, sizeof letter, nullptr, 0), 0);
    }
  std::string why;
  EXPECT_TRUE(ask(socket, {}, 5, &why).empty());
  EXPECT_NE(why, "");
  EXPECT_FOUND(elsewhere([&] { return has_text(open_offered(offered.offer(), O_RDWR), "sense"); }));
}

TEST(SharedFile, APipeIsRungFromAnotherUserNamespace) {
  const Launcher launcher;
  const Fd file = make_memfd("bell", 4096);
  const Mapping map = Mapping::shared(file.get(), 4096);
  auto& bell = *new (map.data()) Doorbell;
  const BellPipe pipe(bell);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  Descriptors descriptors;
  descriptors.add(ends[0]);
  constexpr int64_t kLongUs = 5'000'000;
  const auto before = std::chrono::steady_clock::now();
  const uint32_t armed = bell.arm();
  std::jthread sleeper([&] { bell.sleep(armed, kLongUs, {}, descriptors); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FOUND(elsewhere([&] {
    bell.ring(true);
    return true;
  }));
  sleeper.join();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::microseconds(kLongUs / 2));
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace tern
