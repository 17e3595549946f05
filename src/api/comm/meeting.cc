// SPDX-License-Identifier: Apache-2.0
#include "api/comm/meeting.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "api/attempt.hpp"
#include "api/comm/comm.hpp"
#include "api/comm/comm_exchange.hpp"
#include "api/job/membership.hpp"
#include "api/process.hpp"
#include "base/blob.hpp"
#include "base/clock.hpp"
#include "boot/boot.hpp"
#include "pml/pml.hpp"

namespace tern::api {
namespace {

using core::Communicator;
using core::Worlds;
/// Outcomes by severity; error classes are smaller. All but the first are requests to meet again.
constexpr int kApart = 1 << 20;
constexpr int kTryAgain = kApart + 1;
constexpr int kTryHosts = kTryAgain + 1;
constexpr int kTryWithoutMemory = kTryHosts + 1;
constexpr bool is_failure(int code) noexcept { return code != MPI_SUCCESS && code < kApart; }

/// Both groups have the same ways.
struct Ways {
  bool memory = true;  // of processes on one host
  bool hosts = false;  // a transport between hosts
};

constexpr double kSilence = 60;  // seconds that a leader may be silent during the exchange

/// The processes of other worlds with which this process can share memory.
uint64_t room_of(const core::Process& process) {
  const size_t shared = process.worlds.sharing_memory();
  return !membership().runtime().reaches_this_host() || shared > Worlds::kMostSharing
             ? 0
             : Worlds::kMostSharing - shared;
}

/// A member's introduction to strangers.
std::string introduce(const Communicator& comm) {
  btl::AddressBook::LongAddresses rest;
  const btl::ConnectionInfo info = membership().runtime().own_info(&rest);
  core::Process& process = comm.process();
  const core::ProcessName name = process.worlds.name_of(static_cast<uint32_t>(process.world_rank));
  BlobWriter out;
  out.word(name.world);
  out.word(name.rank);
  out.word(membership().runtime().host());
  out.word(static_cast<uint64_t>(process.boot->node(process.world_rank)));
  out.word(static_cast<uint64_t>(process.node.ranks));
  out.word(room_of(process));
  out.text({reinterpret_cast<const char*>(&info), sizeof info});
  out.word(rest.size());
  for (const auto& [key, address] : rest) {
    out.text(key);
    out.text(address);
  }
  return out.take();
}

struct Member {
  core::ProcessName name;
  uint64_t host = 0;
  int node = 0;  // in its own world
  int ranks_there = 0;
  uint64_t room = 0;
  btl::ConnectionInfo info{};
  btl::AddressBook::LongAddresses rest;
};

Member member_in(BlobReader& in) {
  Member member;
  member.name.world = in.word();
  member.name.rank = static_cast<uint32_t>(in.word());
  member.host = in.word();
  member.node = static_cast<int>(in.word());
  member.ranks_there = static_cast<int>(in.word());
  member.room = in.word();
  const std::string info = in.text();
  if (info.size() != sizeof member.info)
    throw Error(MPI_ERR_PORT, "the other group's introduction is damaged");
  std::memcpy(&member.info, info.data(), sizeof member.info);
  for (uint64_t left = in.word(); left > 0; --left) {
    std::string key = in.text();
    member.rest.emplace(std::move(key), in.text());
  }
  return member;
}

/// A group's introduction: a nonce, the numbers of worlds in use by any member, the members.
struct Introduction {
  uint64_t nonce = 0;
  Worlds::Numbers used;
  std::vector<Member> members;
};

constexpr size_t kNumberWords = Worlds::kNumbers / 64;

void write_numbers(BlobWriter& out, const Worlds::Numbers& used) {
  for (size_t word = 0; word < kNumberWords; ++word) {
    uint64_t bits = 0;
    for (size_t bit = 0; bit < 64; ++bit) bits |= uint64_t{used[word * 64 + bit]} << bit;
    out.word(bits);
  }
}

Worlds::Numbers numbers_in(BlobReader& in) {
  Worlds::Numbers used;
  for (size_t word = 0; word < kNumberWords; ++word) {
    const uint64_t bits = in.word();
    for (size_t bit = 0; bit < 64; ++bit) used[word * 64 + bit] = (bits >> bit & 1) != 0;
  }
  return used;
}

Introduction introduction_in(const std::string& blob) {
  BlobReader in(blob, MPI_ERR_PORT, "the other group's introduction");
  Introduction group;
  if (in.word() != btl::kWireVersion)
    throw Error(MPI_ERR_PORT, "the other group runs another version of Tern");
  group.nonce = in.word();
  for (uint64_t left = in.word(); left > 0; --left) {
    group.used |= numbers_in(in);
    group.members.push_back(member_in(in));
  }
  return group;
}

/// The introduction of the whole group, on every member.
int gather_introduction(Communicator& comm, int code, std::string* all) {
  struct Card {
    uint64_t length;
    int64_t code;
    uint64_t nonce;  // rank 0's counts
  };
  std::string own;
  uint64_t nonce = 0;
  if (code == MPI_SUCCESS)
    code = attempt([&] {
      BlobWriter out;
      write_numbers(out, comm.process().worlds.used());
      own = out.take() + introduce(comm);
      if (::getrandom(&nonce, sizeof nonce, 0) != sizeof nonce)
        return fail(MPI_ERR_PORT, "no random numbers for a meeting");
      return MPI_SUCCESS;
    });
  const auto size = static_cast<size_t>(comm.size()), rank = static_cast<size_t>(comm.rank());
  std::vector<Card> cards(size);
  cards[rank] = {own.size(), code, nonce};
  const int gathered = allgather(comm, cards.data(), sizeof cards[0], comm.next_derivation());
  if (code != MPI_SUCCESS || gathered != MPI_SUCCESS) return code != MPI_SUCCESS ? code : gathered;
  size_t most = 0;
  for (size_t i = 0; i < size; ++i) {
    if (cards[i].code != MPI_SUCCESS)
      return fail(static_cast<int>(cards[i].code), "rank %zu cannot meet other worlds", i);
    most = std::max<size_t>(most, cards[i].length);
  }
  std::string padded(most * size, '\0');
  std::memcpy(padded.data() + rank * most, own.data(), own.size());
  const int shared = allgather(comm, padded.data(), most, comm.next_derivation());
  if (shared != MPI_SUCCESS) return shared;
  BlobWriter whole;
  whole.word(btl::kWireVersion);
  whole.word(cards[0].nonce);
  whole.word(size);
  *all = whole.take();
  for (size_t i = 0; i < size; ++i) all->append(padded, i * most, cards[i].length);
  return MPI_SUCCESS;
}

std::vector<uint64_t> worlds_of(const Introduction& group) {
  std::vector<uint64_t> worlds;
  for (const Member& member : group.members)
    if (std::find(worlds.begin(), worlds.end(), member.name.world) == worlds.end())
      worlds.push_back(member.name.world);
  return worlds;
}

/// The first number of a run that is free in both groups.
uint32_t free_run(const Worlds::Numbers& used, size_t length) {
  for (size_t first = 1; first + length <= Worlds::kNumbers; ++first) {
    size_t free = 0;
    while (free < length && !used[first + free]) ++free;
    if (free == length) return static_cast<uint32_t>(first);
  }
  throw Error(MPI_ERR_PORT,
              strf("a process can be connected to %zu other worlds at most; disconnect some",
                   Worlds::kNumbers - 1));
}

uint32_t place_of(const std::vector<uint64_t>& worlds, uint64_t world) {
  return static_cast<uint32_t>(std::find(worlds.begin(), worlds.end(), world) - worlds.begin());
}

/// Whether the members on a host share memory with all members of the other group on this host.
bool all_have_room(const Introduction& one, const Introduction& other, uint64_t host) {
  const auto here = [host](const Member& member) { return member.host == host; };
  const auto wanted =
      static_cast<uint64_t>(std::count_if(other.members.begin(), other.members.end(), here));
  return std::all_of(one.members.begin(), one.members.end(),
                     [&](const Member& member) { return !here(member) || member.room >= wanted; });
}

/// All members of a group, or none.
class Admission {
 public:
  Admission(core::Process& process, Ways ways) noexcept : process_(process), ways_(ways) {}

  /// kTryAgain if a meeting of another thread has taken the numbers.
  int admit(const Introduction& own, const Introduction& theirs) {
    const std::vector<uint64_t> ours = worlds_of(own), others = worlds_of(theirs);
    const uint32_t first = free_run(own.used | theirs.used, std::max(ours.size(), others.size()));
    const uint32_t there = first + place_of(ours, process_.worlds.own());
    Runtime& runtime = membership().runtime();
    const uint64_t host = runtime.host();
    const bool shares =
        ways_.memory && all_have_room(own, theirs, host) && all_have_room(theirs, own, host);
    for (const Member& member : own.members)
      if (member.name.world == process_.worlds.own())
        process_.worlds.know_host(member.host, member.node);
    std::vector<std::pair<uint32_t, const Member*>> made;
    for (const Member& member : theirs.members) {
      const bool is_sharing = shares && member.host == host;
      const auto admitted =
          process_.worlds.admit({member.name, first + place_of(others, member.name.world), there,
                                 member.host, member.ranks_there, is_sharing});
      if (!admitted) return kTryAgain;
      builder_.add(admitted->index);
      if (process_.worlds.is_stranger(admitted->index)) held_.push_back(admitted->index);
      if (!admitted->is_new) continue;
      if (!is_sharing && !ways_.hosts) return kTryHosts;
      made.emplace_back(admitted->index, &member);
    }
    runtime.count_ranks();
    for (const auto& [index, member] : made)
      runtime.learn_peer(process_.peer(index), member->info, member->rest);
    if (!open_memory(made)) return kTryWithoutMemory;
    return is_apart(own) || is_apart(theirs) ? kApart : MPI_SUCCESS;
  }
  void undo() {
    process_.worlds.let_go(held_);
    membership().runtime().forget(process_.worlds.take_unheld(held_));
  }
  core::Ref<core::Group> finish() { return builder_.finish(); }

 private:
  /// Both ends of a pair use the same transport, so all processes open all memory, or none does.
  bool open_memory(const std::vector<std::pair<uint32_t, const Member*>>& made) {
    for (const auto& [index, member] : made) try {
        core::Peer& peer = process_.peer(index);
        if (peer.shares_memory) membership().runtime().open_memory(peer);
      } catch (const Error& error) {
        process_.explain.warn(
            "fallback", {{"what", "a network within a host"}, {"why", error.what()}},
            strf("messages to another world on this host go over a network: %s", error.what()));
        return false;
      }
    return true;
  }

  /// Whether this process shares no memory with a process of another world on this host.
  bool is_apart(const Introduction& group) {
    return std::any_of(group.members.begin(), group.members.end(), [this](const Member& member) {
      const auto index = process_.worlds.find(member.name);
      return member.host == membership().runtime().host() && index &&
             process_.worlds.is_stranger(*index) && !process_.peer(*index).shares_memory;
    });
  }

  core::Process& process_;
  const Ways ways_;
  core::GroupBuilder builder_;
  std::vector<uint32_t> held_;
};

core::ContextId id_of(const Introduction& own, const Introduction& theirs) {
  const auto half = [](uint64_t nonce) {
    return core::ContextId{nonce, static_cast<uint32_t>(nonce >> 32)};
  };
  return core::meet_contexts(half(own.nonce), half(theirs.nonce));
}

WaitUntil wait_with_progress(Communicator& comm, const char* what) {
  return [&comm, what](const std::function<bool()>& done, double seconds) {
    constexpr int64_t kLookUs = 1000;
    constexpr double kNsPerSecond = 1e9;
    const int64_t begin = now_ns();
    bool found = false;
    const auto over = [&] {
      found = found || done();
      return found ||
             (seconds >= 0 && static_cast<double>(now_ns() - begin) > seconds * kNsPerSecond);
    };
    core::Progress& progress = comm.channel().progress;
    const core::ChannelLock lock(progress);
    progress.wait(
        over, [what](WaitReport* report) { report->words += what; }, kLookUs);
    return found;
  };
}

/// A failure counts more than a request to meet again.
int worst_of(const std::vector<int>& codes) noexcept {
  int worst = MPI_SUCCESS;
  for (const int code : codes) {
    if (is_failure(worst)) return worst;
    worst = is_failure(code) ? code : std::max(worst, code);
  }
  return worst;
}

/// Failures of any rank of either group reach all ranks of both groups.
class Handshake {
 public:
  Handshake(Communicator& comm, int root, const Swap& swap)
      : comm_(comm), root_(root), swap_(swap) {}

  int meet(const std::string& own, int code, std::string* theirs) {
    Words heard;
    if (is_root() && code == MPI_SUCCESS)
      code = attempt([&] {
        heard = pack_text(swap_(own));
        return MPI_SUCCESS;
      });
    code = share(code, &heard);
    if (code == MPI_SUCCESS) *theirs = unpack_text(heard);
    return code;
  }

  /// No rank sends to the other group before all ranks know all others.
  int agree(int code) {
    const bool failed = is_failure(code);
    const std::string why = failed ? take_last_error().text : "";
    std::vector<int> codes(static_cast<size_t>(comm_.size()));
    codes[static_cast<size_t>(comm_.rank())] = code;
    const int gathered = allgather(comm_, codes.data(), sizeof code, comm_.next_derivation());
    if (gathered != MPI_SUCCESS) return gathered;
    int worst = worst_of(codes);
    Words heard{0};
    if (is_root()) {
      const int swapped = attempt([&] {
        const std::string answer = swap_({reinterpret_cast<const char*>(&worst), sizeof worst});
        int other = MPI_ERR_PORT;
        if (answer.size() == sizeof other) std::memcpy(&other, answer.data(), sizeof other);
        return !is_failure(other) ? other
                                  : fail(other, "a rank of the other group could not connect");
      });
      worst = worst_of({worst, swapped});
    }
    const int shared = share(worst, &heard);
    return failed ? fail(code, "%s", why.c_str()) : shared;
  }

 private:
  static constexpr uint64_t kFailed = uint64_t{1} << 63;
  [[nodiscard]] bool is_root() const noexcept { return comm_.rank() == root_; }

  /// All ranks get the root's reason.
  int share(int code, Words* words) {
    if (is_root() && code != MPI_SUCCESS) {
      const std::string why = is_failure(code) ? take_last_error().text : "";
      *words = pack_text(why);
      words->insert(words->begin(), kFailed | static_cast<uint64_t>(code));
    }
    const int told = broadcast(comm_, root_, words, comm_.next_derivation());
    if (told != MPI_SUCCESS) return told;
    if (((*words)[0] & kFailed) == 0) return MPI_SUCCESS;
    const auto cause = static_cast<int>((*words)[0] & ~kFailed);
    words->erase(words->begin());
    if (!is_failure(cause)) return cause;
    return fail(cause, "%s", unpack_text(*words).c_str());
  }

  Communicator& comm_;
  const int root_;
  const Swap& swap_;
};

}  // namespace

int meet_group(Communicator& comm, int root, const Swap& swap, Met* met) {
  Handshake handshake(comm, root, swap);
  for (Ways ways;;) {
    std::string own, theirs;
    int code = guarded([&] {
      membership().runtime().widen(false);
      if (ways.hosts) membership().runtime().widen(true);
    });
    code = gather_introduction(comm, code, &own);
    code = handshake.meet(own, code, &theirs);
    if (code != MPI_SUCCESS) return code;
    Admission admission(comm.process(), ways);
    code = attempt([&] {
      const Introduction mine = introduction_in(own), other = introduction_in(theirs);
      met->id = id_of(mine, other);
      return admission.admit(mine, other);
    });
    const int agreed = handshake.agree(code);
    met->apart = agreed == kApart;
    if (agreed == MPI_SUCCESS || met->apart)
      return guarded([&] { met->remote = admission.finish(); });
    admission.undo();
    if (is_failure(agreed)) return agreed;
    ways.hosts = ways.hosts || agreed >= kTryHosts;
    ways.memory = ways.memory && agreed != kTryWithoutMemory;
  }
}

void release(const core::Group& met) {
  Worlds& worlds = the_process->worlds;
  std::vector<uint32_t> strangers;
  for (int rank = 0; rank < met.size(); ++rank)
    if (worlds.is_stranger(met.peer_index(rank))) strangers.push_back(met.peer_index(rank));
  worlds.let_go(strangers);
}

int meet_world(Communicator& comm, int root, const Dial& dial, core::Ref<Communicator>* made) {
  const WaitUntil wait = wait_with_progress(comm, "another world to connect");
  std::optional<Link> link;
  const Swap over_link = [&](const std::string& own) {
    if (!link) link = dial(wait);
    return link->swap(own, wait, kSilence);
  };
  Met met;
  const int code = meet_group(comm, root, over_link, &met);
  if (code != MPI_SUCCESS) return code;
  return guarded([&] {
    *made =
        core::derive_communicator(comm, core::Ref<core::Group>(&comm.group()), met.id, met.remote);
    (*made)->apart = met.apart;
    release(*met.remote);
  });
}

}  // namespace tern::api
