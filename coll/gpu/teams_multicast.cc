// SPDX-License-Identifier: Apache-2.0
// How ranks of a team make multicast memory, or agree to do without.
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/mail.hpp"
#include "coll/gpu/multicast.hpp"
#include "coll/gpu/teams.hpp"
#include "cuda/kernels.hpp"

namespace tern::coll {
namespace {

constexpr const char* kMakingMulticast = "making multicast memory";

struct Member {
  Address mail;
  uint64_t bytes;
};

struct Letter {
  static constexpr uint64_t kMagic = 0x316d'7463'6e72'6574;
  uint64_t magic = kMagic;
  uint64_t team = 0;
};

class MulticastMaking {
 public:
  MulticastMaking(GpuTeam& team, const Params& params, int places, std::string lacks)
      : team_(team),
        wanted_(params.gpu_scratch / kShare),
        lacks_(std::move(lacks)),
        made_(std::make_unique<Multicast>(team.memory.device())),
        all_(static_cast<size_t>(team.memory.ranks())) {
    made_->set_blocks(places);
  }

  [[nodiscard]] std::string ready() {
    if (lacks_.empty() && !socket_.valid()) lacks_ = "a socket for the multicast object failed";
    return lacks_;
  }
  [[nodiscard]] std::string create() {
    return is_root() ? made_->create(team_.memory.ranks(), wanted_, &descriptor_) : std::string();
  }
  [[nodiscard]] Member member() const { return {socket_.address(), made_->bytes()}; }
  [[nodiscard]] Member* all() noexcept { return all_.data(); }
  [[nodiscard]] std::string hand_out() {
    const Letter letter{Letter::kMagic, team_.number()};
    const int fd = descriptor_.get();
    for (size_t rank = 1; is_root() && rank < all_.size(); ++rank)
      if (const int error = socket_.send(all_[rank].mail, &letter, sizeof letter, &fd, 1);
          error != 0)
        return strf("sending the multicast object to rank %zu failed: %s", rank,
                    std::strerror(error));
    return {};
  }
  [[nodiscard]] std::string join() {
    if (is_root()) return {};
    const Fd taken = receive();
    return taken.valid() ? made_->join(taken, all_[0].bytes)
                         : "the multicast object of rank 0 has not arrived";
  }
  [[nodiscard]] std::string add_device() { return made_->add_device(); }
  [[nodiscard]] std::string allocate() { return made_->allocate(); }
  [[nodiscard]] std::string bind() { return made_->bind(); }
  [[nodiscard]] std::string map() { return made_->map(); }
  [[nodiscard]] std::string try_out() {
    tried_ = true;
    return made_->try_out(team_.memory, team_.reports.kernels());
  }
  /// take() follows success on all ranks, give_up() a failed step. The caller of give_up() holds no
  /// lock.
  [[nodiscard]] std::unique_ptr<Multicast> take() noexcept { return std::move(made_); }
  void give_up() noexcept { made_.reset(); }
  [[nodiscard]] bool tried() const noexcept { return tried_; }
  [[nodiscard]] std::string clear() {
    team_.reports.clear();
    return team_.memory.clear_abort();
  }

 private:
  /// The multicast stage has a quarter of the scratch's size.
  static constexpr size_t kShare = 4;
  [[nodiscard]] bool is_root() const noexcept { return team_.memory.rank() == 0; }

  [[nodiscard]] Fd receive() const {
    constexpr int64_t kMost = 1'000'000'000;  // ns
    const int64_t begun = now_ns();
    while (now_ns() - begun < kMost) {
      Letter letter;
      std::vector<Fd> descriptors;
      Address from;
      const size_t bytes = socket_.receive(&letter, sizeof letter, &descriptors, &from);
      if (bytes == sizeof letter && letter.magic == Letter::kMagic &&
          letter.team == team_.number() && descriptors.size() == 1)
        return std::move(descriptors[0]);
      ::sched_yield();
    }
    return {};
  }

  GpuTeam& team_;
  const size_t wanted_;
  std::string lacks_;
  std::unique_ptr<Multicast> made_;
  const MailSocket socket_{Address{}};
  Fd descriptor_;
  std::vector<Member> all_;
  bool tried_ = false;
};

}  // namespace

// All ranks finish a step before the next. If a failed trial could not be cleared, add_multicast()
// returns false, and the team is invalid.
bool GpuTeams::add_multicast(core::Communicator& communicator, GpuTeam& team, int places) {
  using Making = MulticastMaking;
  const Params& params = executions_.process().params;
  Making making(team, params, places,
                places == 0 ? team.kernels.why_none() : why_no_multicast(team, params));
  std::string why;
  const auto step = [&](std::string (Making::*action)()) {
    std::string mine;
    {
      const core::ChannelUnlock meanwhile(communicator.channel().progress);
      try {
        mine = (making.*action)();
      } catch (const std::bad_alloc&) {
        mine = "host memory is short";
      }
    }
    why.clear();
    agree(communicator, mine, &why);
    return why.empty();
  };
  const auto meet = [&] {
    const Member mine = making.member();
    executions_.gather(communicator, &mine, making.all(), sizeof mine, kMakingMulticast);
    return true;
  };
  if (step(&Making::ready) && step(&Making::create) && meet() && step(&Making::hand_out) &&
      step(&Making::join) && step(&Making::add_device) && step(&Making::allocate) &&
      step(&Making::bind) && step(&Making::map) && step(&Making::try_out)) {
    team.set_multicast(making.take());
    return true;
  }
  team.set_no_multicast(why);
  {
    const core::ChannelUnlock meanwhile(communicator.channel().progress);
    making.give_up();
  }
  return !making.tried() || step(&Making::clear);
}

std::string GpuTeams::why_no_multicast(const GpuTeam& team, const Params& params) {
  if (params.gpu_multicast == GpuMulticast::kOff) return "gpu_multicast in TERN_TEST is off";
  if (params.gpu_wire != Wire::kAuto && params.gpu_wire != Wire::kMultimem)
    return std::string("TERN_GPU_WIRE asks for ") + name_of(params.gpu_wire);
  if (params.gpu_engine == GpuEngine::kHost || params.gpu_engine == GpuEngine::kStream)
    return "TERN_GPU_ENGINE is " + params.get("TERN_GPU_ENGINE");
  if (team.memory.ranks() < 2) return "the team has a single rank";
  if (team.kernels.share_gpu()) return "ranks share a GPU";
  return Multicast::why_not(team.memory.device());
}

}  // namespace tern::coll
