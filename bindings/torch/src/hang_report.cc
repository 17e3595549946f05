// SPDX-License-Identifier: Apache-2.0
#include "hang_report.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <random>
#include <set>
#include <sstream>

#include "operation.hpp"
#include "peer_watch.hpp"

namespace torch_tern {

LastCall last_call;

namespace {

std::mutex mutex;
std::weak_ptr<HangReport> latest;

std::string word_of_boot() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string word;
  std::getline(file, word);
  return word;
}

ProcessRecord own_record() {
  ProcessRecord own{};
  const std::string boot = word_of_boot();
  boot.copy(own.place, 40);
  const std::size_t used = std::strlen(own.place);
  if (readlink("/proc/self/ns/pid", own.place + used, sizeof own.place - used - 1) < 0) {
    own.place[used] = '\0';
  }
  own.pid = getpid();
  own.start = state_of(own.pid).start;
  own.last = &last_call;
  own.compares = wants_comparison();
  std::random_device random;
  own.word = std::uint64_t{random()} << 32 | random();
  return own;
}

bool read_from(std::int64_t pid, const void* address, void* to, std::size_t bytes) {
  const iovec here{to, bytes};
  const iovec there{const_cast<void*>(address), bytes};
  return process_vm_readv(static_cast<pid_t>(pid), &here, 1, &there, 1, 0) ==
         static_cast<ssize_t>(bytes);
}

// Reads up to 64 bytes, each alone, because the next page may be unmapped.
std::string text_from(std::int64_t pid, const char* address) {
  std::string text;
  for (char next = 0; text.size() < 64; text += next) {
    if (!read_from(pid, address + text.size(), &next, 1) || next == '\0') {
      break;
    }
  }
  return text;
}

std::string describe_call(std::int64_t pid, const LastCall& call, bool is_stopped) {
  if (!call.words) {
    return is_stopped ? "is stopped, and has called nothing" : "has called nothing";
  }
  const bool is_in_call = call.under_way > 0;
  std::string text = is_stopped ? (is_in_call ? "is stopped in " : "is stopped; its last call was ")
                                : (is_in_call ? "waits in " : "is in no call; its last call was ");
  text += text_from(pid, call.words);
  if (call.sequence >= 0) {
    text += " number " + std::to_string(call.sequence);
  }
  const auto now = Clock::now().time_since_epoch().count();
  char ago[48];
  std::snprintf(ago, sizeof ago, ", begun %.1f s ago",
                std::chrono::duration<double>(Clock::duration(now - call.begun)).count());
  return text + " of group \"" + text_from(pid, call.group) + "\"" + ago;
}

std::string describe_process(const ProcessRecord& one, const char* place) {
  if (std::strcmp(one.place, place) != 0) {
    return "is on another host, or in another container";
  }
  const std::string process = "process " + std::to_string(one.pid);
  const ProcessState state = state_of(one.pid);
  if (state.start != one.start) {
    return "has died (" + process + ")";
  }
  alignas(LastCall) char bytes[sizeof(LastCall)];
  if (!read_from(one.pid, one.last, bytes, sizeof bytes)) {
    return (state.is_stopped ? "is stopped (" : "lives (") + process + ")";
  }
  return describe_call(one.pid, *reinterpret_cast<const LastCall*>(bytes), state.is_stopped) +
         " (" + process + ")";
}

}  // namespace

ProcessState state_of(std::int64_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  std::getline(file, line);
  const auto end = line.rfind(')');
  if (end == std::string::npos) {
    return {};
  }
  std::istringstream fields(line.substr(end + 1));
  std::string field;
  fields >> field;
  if (field == "Z" || field == "X") {
    return {};
  }
  ProcessState state;
  state.is_stopped = field == "T" || field == "t";
  for (int i = 4; i <= 22; ++i) {  // proc(5): field 22 is the start time
    fields >> field;
  }
  state.start = std::stoull(field);
  return state;
}

const char* lasting(const std::string& text) {
  static std::mutex own;
  static auto* const texts = new std::set<std::string>;
  const std::lock_guard lock(own);
  return texts->insert(text).first->c_str();
}

std::shared_ptr<HangReport> HangReport::begin(const std::shared_ptr<Group>& world,
                                              bool watches_peers) {
  auto made = std::make_shared<HangReport>();
  if (watches_peers) {
    PeerWatch::get().open();
  }
  const ProcessRecord own = own_record();
  made->processes_.resize(world->ranks().size());
  auto operation = std::make_shared<Operation>(world, "init_process_group", Milliseconds(-1), true);
  const int bytes = sizeof(ProcessRecord);
  operation->issue(MPI_Allgather, MPI_Iallgather, static_cast<const void*>(&own), bytes, MPI_BYTE,
                   static_cast<void*>(made->processes_.data()), bytes, MPI_BYTE, world->comm());
  operation->begin();
  operation->wait(Milliseconds::zero());
  set_comparison(std::any_of(made->processes_.begin(), made->processes_.end(),
                             [](const ProcessRecord& one) { return one.compares; }));
  if (watches_peers) {
    made->watch_peers(made, own);
  }
  const std::lock_guard lock(mutex);
  latest = made;
  return made;
}

void HangReport::watch_peers(const std::shared_ptr<HangReport>& self,
                             const ProcessRecord& own) const {
  std::vector<PeerWatch::Peer> peers;
  for (std::size_t rank = 0; rank < processes_.size(); ++rank) {
    const ProcessRecord& one = processes_[rank];
    if (one.word != own.word && std::strcmp(one.place, own.place) == 0) {
      peers.push_back({static_cast<int>(rank), one.pid, one.start, one.word});
    }
  }
  PeerWatch::get().begin(self, own.word, std::move(peers));
}

// The destructor calls leave(), because the world has no more calls after its last group.
HangReport::~HangReport() { PeerWatch::get().leave(); }

std::shared_ptr<HangReport> HangReport::current() {
  const std::lock_guard lock(mutex);
  return latest.lock();
}

std::string HangReport::describe(const std::vector<int>& ranks) const {
  const ProcessRecord own = own_record();
  std::string text;
  for (const int rank : ranks) {
    text += (text.empty() ? ". rank " : "; rank ") + std::to_string(rank) + " " +
            (PeerWatch::get().has_left(rank) ? "has left"
                                             : describe_process(processes_.at(rank), own.place));
  }
  return text;
}

}  // namespace torch_tern
