// SPDX-License-Identifier: Apache-2.0
// A pml in memory: N ranks in one thread. Messages arrive in random order within MPI's rules.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "coll/coll.hpp"
#include "coll/engine/engine_host.hpp"
#include "core/communicator.hpp"
#include "core/datatype.hpp"
#include "core/op.hpp"
#include "core/process.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

struct FakeRequest final : core::Request {
  pml::Buffer buffer;
  std::vector<std::byte> early;
  int lost = MPI_SUCCESS;
};

class FakeWire {
 public:
  explicit FakeWire(unsigned seed) : random_(seed) {}
  using Key = std::tuple<int, int, uint32_t, int>;

  void post(bool send, const Key& key, FakeRequest* request) {
    Queue& queue = queues_[key];
    (send ? queue.sends : queue.recvs).push_back(request);
    const size_t mine = (send ? queue.sends : queue.recvs).size();
    if (mine <= (send ? queue.recvs : queue.sends).size()) matched_.push_back(key);
  }
  bool deliver() {
    if (matched_.empty()) return false;
    std::swap(matched_[random_() % matched_.size()], matched_.back());
    Queue& queue = queues_[matched_.back()];
    matched_.pop_back();
    hand_over(*queue.sends.front(), *queue.recvs.front());
    queue.sends.pop_front();
    queue.recvs.pop_front();
    return true;
  }
  [[nodiscard]] bool chance() { return random_() % 2 == 0; }
  int64_t messages = 0;
  int64_t lost = -1;

 private:
  struct Queue {
    std::deque<FakeRequest*> sends, recvs;
  };
  void hand_over(FakeRequest& send, FakeRequest& recv) {
    if (messages++ == lost) send.lost = MPI_ERR_OTHER;
    if (send.lost != MPI_SUCCESS) {
      recv.outcome.error = send.lost;
    } else if (!send.early.empty() || send.buffer.bytes() == 0) {
      recv.buffer.type->unpack(recv.buffer.address, recv.buffer.count, 0, send.early.data(),
                               std::min(send.early.size(), recv.buffer.bytes()));
    } else {
      core::copy_on_host(send.buffer, recv.buffer);
    }
    if (send.buffer.bytes() > recv.buffer.bytes()) recv.outcome.error = MPI_ERR_TRUNCATE;
    for (FakeRequest* request : {&send, &recv}) {
      if (!request->done()) request->complete();
      request->release();
    }
  }
  std::mt19937 random_;
  std::map<Key, Queue> queues_;
  std::vector<Key> matched_;
};

class FakePml : public pml::Pml {
 public:
  explicit FakePml(FakeWire& wire) : wire_(wire) {}
  int isend_locked(const pml::Buffer& buffer, const pml::Envelope& to,
                   core::Request** request) noexcept override {
    auto* made = make(buffer, request);
    if (buffer.bytes() < 100 || wire_.chance()) {
      made->early.resize(buffer.bytes());
      buffer.type->pack(buffer.address, buffer.count, 0, made->early.data(), buffer.bytes());
      made->complete();
    }
    wire_.post(true, {to.communicator->rank(), to.rank, to.communicator->index(), to.tag}, made);
    return MPI_SUCCESS;
  }
  int isend_lost_locked(const pml::Buffer& buffer, const pml::Envelope& to, int error,
                        core::Request** request) noexcept override {
    auto* made = make(buffer, request);
    made->lost = error;
    made->outcome.error = error;
    wire_.post(true, {to.communicator->rank(), to.rank, to.communicator->index(), to.tag}, made);
    return MPI_SUCCESS;
  }
  int irecv_locked(const pml::Buffer& buffer, const pml::Envelope& from,
                   core::Request** request) noexcept override {
    wire_.post(false, {from.rank, from.communicator->rank(), from.communicator->index(), from.tag},
               make(buffer, request));
    return MPI_SUCCESS;
  }
  int send(const pml::Buffer&, const pml::Envelope&, pml::Mode) noexcept override { return -1; }
  int recv(const pml::Buffer&, const pml::Envelope&, core::Outcome*) noexcept override {
    return -1;
  }
  int isend(const pml::Buffer&, const pml::Envelope&, pml::Mode,
            core::Request**) noexcept override {
    return -1;
  }
  int irecv(const pml::Buffer&, const pml::Envelope&, core::Request**) noexcept override {
    return -1;
  }
  int send_init(const pml::Buffer&, const pml::Envelope&, pml::Mode,
                core::Request**) noexcept override {
    return -1;
  }
  int recv_init(const pml::Buffer&, const pml::Envelope&, core::Request**) noexcept override {
    return -1;
  }
  int iprobe(const pml::Envelope&, bool*, core::Outcome*) noexcept override { return -1; }
  int probe(const pml::Envelope&, core::Outcome*) noexcept override { return -1; }
  int improbe(const pml::Envelope&, pml::Matched**, core::Outcome*) noexcept override { return -1; }
  int mprobe(const pml::Envelope&, pml::Matched**, core::Outcome*) noexcept override { return -1; }
  int imrecv(const pml::Buffer&, pml::Matched&, core::Request**) noexcept override { return -1; }
  void interrupt(core::Communicator&, const Failure&) noexcept override {}
  void add_context(core::Communicator&) override {}
  void remove_context(core::Communicator&) noexcept override {}
  void describe_open(WaitReport*) const override {}
  void add_up(const core::Communicator*, pml::Statistics*) const noexcept override {}
  void watch_early(pml::EarlyWatcher*) noexcept override {}

 private:
  FakeRequest* make(const pml::Buffer& buffer, core::Request** request) {
    auto* made = new FakeRequest;
    made->buffer = buffer;
    made->retain();
    *request = made;
    return made;
  }
  FakeWire& wire_;
};

struct FakeRank {
  core::Process process;
  FakePml pml;
  std::unique_ptr<Coll> coll;
  FakeRank(FakeWire& wire, int rank, int size, const std::string& levels) : pml(wire) {
    process.params.coll_levels = levels;
    process.world_rank = rank;
    process.world_size = size;
    process.channel(0).pml = &pml;
    core::make_predefined_types(process);
    core::make_predefined_ops(process);
    core::make_predefined_communicators(process);
    coll = make(process.channel(0));
  }
  ~FakeRank() {
    coll.reset();
    core::end_predefined_communicators(process);
    core::free_predefined_ops(process);
    core::free_predefined_types(process);
  }
};

class FakeWorld {
 public:
  /// `levels` is as in TERN_COLL_LEVELS.
  explicit FakeWorld(int size, unsigned seed = 1, const std::string& levels = {}) : wire(seed) {
    for (int r = 0; r < size; ++r)
      ranks.push_back(std::make_unique<FakeRank>(wire, r, size, levels));
  }
  /// renew() keeps types and operations, which are slow to make.
  void renew(unsigned seed) {
    wire = FakeWire(seed);
    for (auto& rank : ranks) {
      core::Process& process = rank->process;
      rank->coll.reset();
      core::end_predefined_communicators(process);
      core::make_predefined_communicators(process);
      rank->coll = make(process.channel(0));
    }
  }
  /// finish() returns false on a deadlock.
  bool finish(const std::vector<core::Request*>& requests) {
    for (;;) {
      bool all = true;
      for (const core::Request* request : requests) all &= request->done();
      if (all) return true;
      bool moved = wire.deliver();
      for (auto& rank : ranks) moved |= rank->process.channel(0).progress.poll() != 0;
      if (!moved) return false;
    }
  }
  FakeWire wire;
  std::vector<std::unique_ptr<FakeRank>> ranks;
};

}  // namespace tern::coll
