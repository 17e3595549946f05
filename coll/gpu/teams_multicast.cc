// SPDX-License-Identifier: Apache-2.0
// How the ranks of a team come to memory with a multicast address, or do without it.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <new>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/mail.hpp"
#include "coll/gpu/multicast.hpp"
#include "coll/gpu/team.hpp"
#include "cuda/kernels.hpp"

namespace tern::coll {
namespace {

constexpr const char* kMakingMulticast = "making multicast memory";

/// What a rank tells the others. Sent as bytes.
struct Member {
  Address mail;     // where it takes the descriptor
  uint64_t blocks;  // of threads, resident together
  uint64_t bytes;   // of the object, by the rank that has made it
};

struct Letter {
  static constexpr uint64_t kMagic = 0x316d'7463'6e72'6574;
  uint64_t magic = kMagic;
  uint64_t team = 0;
};

std::string send_all(const MailSocket& socket, const std::vector<Member>& all, uint64_t team,
                     const Fd& descriptor) {
  const Letter letter{Letter::kMagic, team};
  const int fd = descriptor.get();
  for (size_t rank = 1; rank < all.size(); ++rank)
    if (const int error = socket.send(all[rank].mail, &letter, sizeof letter, &fd, 1); error != 0)
      return strf("the object cannot be sent to rank %zu: %s", rank, std::strerror(error));
  return {};
}

/// It was sent before this is called.
Fd receive(const MailSocket& socket, uint64_t team) {
  constexpr int64_t kMost = 1'000'000'000;  // ns
  const int64_t begun = now_ns();
  while (now_ns() - begun < kMost) {
    Letter letter;
    std::vector<Fd> descriptors;
    Address from;
    const size_t bytes = socket.receive(&letter, sizeof letter, &descriptors, &from);
    if (bytes == sizeof letter && letter.magic == Letter::kMagic && letter.team == team &&
        descriptors.size() == 1)
      return std::move(descriptors[0]);
    ::sched_yield();
  }
  return {};
}

}  // namespace

// Every step ends in an agreement, by which all are done with it. False where what a trial in vain
// has left behind could not be cleared: the team is of no use then.
bool GpuTeams::add_multicast(core::Communicator& communicator, GpuTeam& team) {
  const Params& params = executions_.process().params;
  auto made = std::make_unique<Multicast>(team.device());
  std::string why;
  const auto step = [&](const std::function<std::string()>& action) {
    std::string mine;
    {
      const core::ChannelUnlock meanwhile(communicator.channel().progress);
      try {
        mine = action();
      } catch (const std::bad_alloc&) {
        mine = "it has no memory";
      }
    }
    why.clear();
    agree(communicator, mine, &why);
    return why.empty();
  };
  const bool is_root = communicator.rank() == 0;
  MailSocket socket{Address{}};
  Fd descriptor;
  std::vector<Member> all(static_cast<size_t>(communicator.size()));
  const auto meet = [&] {
    Member mine{};
    mine.mail = socket.address();
    mine.blocks = static_cast<uint64_t>(
        std::min(Multicast::kParts, team.device().kernels()->most_waiting_multicast()));
    mine.bytes = made->bytes();
    executions_.gather(communicator, &mine, all.data(), sizeof mine, kMakingMulticast);
    made->set_blocks(static_cast<int>(
        std::min_element(all.begin(), all.end(), [](const Member& a, const Member& b) {
          return a.blocks < b.blocks;
        })->blocks));
    return true;
  };
  const auto ready = [&] {
    std::string lacks = why_no_multicast(team, params);
    if (lacks.empty() && !socket.valid()) lacks = "it has no socket to take the object by";
    return lacks;
  };
  const auto create = [&] {
    return is_root ? made->create(communicator.size(), params.gpu_scratch / kMulticastShare,
                                  &descriptor)
                   : std::string();
  };
  const auto hand_out = [&] {
    return is_root ? send_all(socket, all, team.number(), descriptor) : std::string();
  };
  const auto join = [&] {
    if (is_root) return std::string();
    const Fd taken = receive(socket, team.number());
    return taken.valid() ? made->join(taken, all[0].bytes)
                         : "the object that rank 0 has sent has not come";
  };
  bool tried = false;
  const auto try_out = [&] {
    tried = true;
    return made->try_out(team);
  };
  if (step(ready) && step(create) && meet() && step(hand_out) && step(join) &&
      step([&] { return made->add_device(); }) && step([&] { return made->allocate(); }) &&
      step([&] { return made->bind(); }) && step([&] { return made->map(); }) && step(try_out)) {
    team.set_multicast(std::move(made));
    return true;
  }
  team.set_no_multicast(why);
  {
    const core::ChannelUnlock meanwhile(communicator.channel().progress);
    made.reset();
  }
  return !tried || step([&] { return team.clear_reports(); });  // no rank is in the trial any more
}

std::string GpuTeams::why_no_multicast(const GpuTeam& team, const Params& params) {
  if (params.gpu_multicast == "off") return "TERN_GPU_MULTICAST is off";
  if (params.gpu_wire != "auto" && params.gpu_wire != "multimem")
    return "TERN_GPU_WIRE asks for " + params.gpu_wire;
  if (params.gpu_engine == "host" || params.gpu_engine == "stream")
    return "TERN_GPU_ENGINE is " + params.gpu_engine;
  if (team.ranks() < 2) return "it has one rank";
  if (team.shares()) return "ranks share a GPU";
  return Multicast::why_not(team.device());
}

}  // namespace tern::coll
