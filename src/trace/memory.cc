// SPDX-License-Identifier: Apache-2.0
#include "trace/memory.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/process_file.hpp"
#include "trace/drain.hpp"

namespace tern::trace {
namespace {

std::string own_command() {
  std::string words;
  std::FILE* const file = std::fopen("/proc/self/cmdline", "re");
  if (file == nullptr) return words;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file))
    words += c == '\0' ? ' ' : static_cast<char>(c);
  std::fclose(file);
  while (!words.empty() && words.back() == ' ') words.pop_back();
  return words;
}

/// The descriptor may be closed, or name another file by now.
Mapping map_area(int fd, const AreaSizes& sizes, int rank) noexcept {
  const size_t offset = sizes.bytes() * static_cast<size_t>(rank);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || static_cast<size_t>(info.st_size) < offset + sizes.bytes())
    return {};
  void* const at = ::mmap(nullptr, sizes.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                          static_cast<off_t>(offset));
  if (at == MAP_FAILED) return {};
  Mapping map(at, sizes.bytes());
  return Area(map.data(), sizes).head().magic == kAreaMagic ? std::move(map) : Mapping();
}

/// All signals stay with the program's threads.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

/// OwnDrain is the thread that writes this process's file, and writes the rest at exit.
class OwnDrain {
 public:
  OwnDrain(const std::string& path, const Area& area, ProcessFacts facts)
      : area_(area), file_(path), drain_(file_, area, std::move(facts)) {
    const BlockedSignals blocked;
    thread_ = std::thread([this] { run(); });
  }
  OwnDrain(const OwnDrain&) = delete;
  OwnDrain& operator=(const OwnDrain&) = delete;
  ~OwnDrain() { end(); }

  void run_once() noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    drain();
  }
  /// `how`: as in the line "end"; empty: by the state of MPI. An aborted process draws open calls.
  void end(const char* how = "") noexcept {
    if (::getpid() != owner_) return;  // a child of fork() has no thread
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (stopping_) return;
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
    const bool finalised = area_.head().ended.load() != 0;
    const bool aborted = *how != '\0';
    drain_.finish(aborted ? how : finalised ? "finalised" : "exit", aborted);
    complain();
  }

 private:
  static constexpr std::chrono::milliseconds kRound{5};
  void run() noexcept {
    std::unique_lock<std::mutex> lock(mutex_);
    while (!stopping_) {
      drain();
      wake_.wait_for(lock, area_.head().ended.load() != 0 ? kRound * 100 : kRound);
    }
  }
  void drain() noexcept {
    try {
      drain_.run();
    } catch (const std::bad_alloc&) {  // the ring keeps the records
    }
    complain();
  }
  void complain() noexcept {
    const std::string words = file_.take_complaint();
    if (!words.empty()) log_line("%s", words.c_str());
  }

  const Area area_;
  TraceFile file_;
  Drain drain_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  const pid_t owner_ = ::getpid();
  std::thread thread_;
};

namespace {
OwnDrain* at_exit = nullptr;  // ended by exit(), before static objects of other libraries
}

Memory::Memory() = default;
Memory::~Memory() = default;

bool Memory::claim(std::string* remark) noexcept {
  int32_t none = 0;
  if (area_.head().pid.compare_exchange_strong(none, static_cast<int32_t>(::getpid()))) return true;
  *remark = strf("the trace has the rank's first MPI program, process %d, alone", none);
  area_ = {};
  map_.reset();
  return false;
}

// Programs started without the descriptor (by sudo, Python's subprocess) take mpirun's.
bool Memory::open_inherited(int rank, std::string* remark) {
  const char* const words = std::getenv(kAreaVariable);
  const char* const mpirun = std::getenv("TERN_BOOT_PID");
  int fd = -1;
  unsigned long long records = 0;
  if (words == nullptr || std::sscanf(words, "%d %llu", &fd, &records) != 2) return false;
  const AreaSizes sizes{records};
  map_ = map_area(fd, sizes, rank);
  if (map_.valid()) {
    shared_ = Fd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  } else if (mpirun != nullptr) {
    shared_ = open_of_process(std::atoi(mpirun), fd, O_RDWR);
    if (shared_.valid()) map_ = map_area(shared_.get(), sizes, rank);
  }
  if (!map_.valid()) {
    *remark = "this rank is not recorded: mpirun's memory for records cannot be mapped";
    return true;
  }
  area_ = Area(map_.data(), sizes);
  is_mpiruns_ = true;
  (void)claim(remark);
  return true;
}

void Memory::make_own(const Start& what) {
  const AreaSizes sizes =
      what.trace.empty() ? AreaSizes{} : ring_sizes(static_cast<uint64_t>(what.buffer));
  void* const at = ::mmap(nullptr, sizes.bytes(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  map_ = Mapping(at, sizes.bytes());
  area_ = Area(map_.data(), sizes);
  area_.head().pid.store(static_cast<int32_t>(::getpid()));
  if (what.trace.empty()) return;
  const std::string path = strf("%s.%d", what.trace.c_str(), what.rank);
  drain_ = std::make_unique<OwnDrain>(
      path, area_, ProcessFacts{0, what.rank, what.size, what.host, own_command()});
  at_exit = drain_.get();
  std::atexit([] { at_exit->end(); });
}

std::string Memory::open(const Start& what) {
  std::string remark;
  try {
    if (!open_inherited(what.rank, &remark)) make_own(what);
  } catch (const std::exception& error) {
    area_ = {};
    return strf("this rank is not recorded: %s", error.what());
  }
  if (area_.valid()) area_.head().begin_ns = what.begin_ns;
  return remark;
}

std::string Memory::first_definitions() const {
  const Mapping map = shared_.valid() ? map_area(shared_.get(), area_.sizes(), 0) : Mapping();
  if (!map.valid()) return {};
  const Area first(map.data(), area_.sizes());
  if (first.head().pid.load(std::memory_order_acquire) == 0) return {};
  return {first.definitions(),
          std::min<uint64_t>(first.head().definitions.load(std::memory_order_acquire),
                             kDefinitionBytes)};
}

void Memory::leave() noexcept {
  area_.head().end_ns.store(now_ns());
  area_.head().ended.store(1);
  if (drain_ != nullptr) drain_->run_once();
}

void Memory::abandon() noexcept {
  if (drain_ != nullptr) drain_->end("aborted");
}

}  // namespace tern::trace
