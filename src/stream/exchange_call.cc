// SPDX-License-Identifier: Apache-2.0
// Collectives of blocks whose sizes each rank knows for itself alone: gatherv, scatterv, alltoallv.
// How: each pair of ranks exchanges its block as messages of a part each, in order; how many passes
// that takes is each rank's own affair, and what one sends in a pass the other receives in the
// same.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "mpi.h"
#include "pml/pml.hpp"
#include "stream/blocks.hpp"
#include "stream/collective.hpp"

namespace tern::stream {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;

constexpr int kTag = 1;  // nothing but these messages is on the shadow's plane of users

class ExchangeCall final : public Call {
 public:
  ExchangeCall(CommStream& on, const Operation& operation, const char* function)
      : Call(function),
        shadow_(on.shadow()),
        serves_(coll::name_of(operation.collective)),
        byte_(core::predefined_type(shadow_.process(), MPI_BYTE)),
        rank_(shadow_.rank()),
        per_place_(on.chunk() / (2 * static_cast<size_t>(shadow_.size()))) {
    if (per_place_ == 0)
      throw Error(MPI_ERR_NO_MEM, strf("blocks of %d ranks do not fit the %zu bytes of a chunk; "
                                       "TERN_STREAM_CHUNK sets them",
                                       shadow_.size(), on.chunk()));
    find_blocks(on, operation);
    const size_t most = std::max(to_.most_bytes(), from_.most_bytes());
    passes = 1 + static_cast<int>((most + per_place_ - 1) / per_place_);
  }

  void copy_in(Track& track, int pass, std::byte* half) noexcept override {
    if (pass > 0 && to_.there()) to_.copy_in(track, part(pass), half);
  }
  void copy_out(Track& track, int pass, const std::byte* half) noexcept override {
    if (pass > 0 && from_.there()) from_.copy_out(track, part(pass), half + received_at());
  }

  int begin(int pass, std::byte* half, std::vector<core::Request*>* requests) override {
    if (pass == 0) return enter(requests);
    const PartOfBlocks now = part(pass);
    if (to_.there())
      if (const int code = to_.take(now, half); code != MPI_SUCCESS) return code;
    requests->reserve(receivers_.size() + senders_.size());
    std::byte* at = half + received_at();
    for (size_t i = 0; i < senders_.size(); ++i) {
      const size_t bytes = from_.bytes(static_cast<int>(i), now);
      const int code = senders_[i] == rank_ ? keep_own(now, half, at, bytes)
                                            : receive(senders_[i], at, bytes, requests);
      if (code != MPI_SUCCESS) return code;
      at += bytes;
    }
    at = half;
    for (size_t i = 0; i < receivers_.size(); ++i) {
      const size_t bytes = to_.bytes(static_cast<int>(i), now);
      if (receivers_[i] != rank_)
        if (const int code = send(receivers_[i], at, bytes, requests); code != MPI_SUCCESS)
          return code;
      at += bytes;
    }
    return MPI_SUCCESS;
  }
  int end(int pass, std::byte* half, const core::Outcome&) override {
    return pass > 0 && from_.there() ? from_.give(part(pass), half + received_at()) : MPI_SUCCESS;
  }

 private:
  int enter(std::vector<core::Request*>* requests) {
    Operation barrier{};
    barrier.collective = Collective::kBarrier;
    barrier.communicator = &shadow_;
    barrier.serves = serves_;
    core::Request* request = nullptr;
    requests->reserve(1);
    const int code = shadow_.channel().coll->start(barrier, &request);
    if (code == MPI_SUCCESS) requests->push_back(request);
    return code;
  }
  /// What goes to which ranks, and comes from which. In place the root's own block stays.
  void find_blocks(const CommStream& on, const Operation& operation) {
    core::Process& process = shadow_.process();
    const auto blocks = [&](const Side& side, int count) {
      return Blocks(process, on.gpu(), side, count);
    };
    const bool at_root = rank_ == operation.root;
    switch (operation.collective) {
      case Collective::kGather:
        if (at_root) from_ = blocks(operation.output, shadow_.size());
        if (!operation.in_place) to_ = blocks(operation.input, 1);
        if (!operation.in_place) receivers_ = {operation.root};
        if (at_root) senders_ = all(operation.in_place);
        break;
      case Collective::kScatter:
        if (at_root) to_ = blocks(operation.input, shadow_.size());
        if (!operation.in_place) from_ = blocks(operation.output, 1);
        if (!operation.in_place) senders_ = {operation.root};
        if (at_root) receivers_ = all(operation.in_place);
        break;
      default:
        to_ = blocks(operation.in_place ? operation.output : operation.input, shadow_.size());
        from_ = blocks(operation.output, shadow_.size());
        senders_ = receivers_ = all(false);
    }
    if (operation.in_place && at_root && operation.collective == Collective::kGather)
      from_.drop(rank_);
    if (operation.in_place && at_root && operation.collective == Collective::kScatter)
      to_.drop(rank_);
  }
  [[nodiscard]] std::vector<int> all(bool but_own) const {
    std::vector<int> ranks;
    for (int i = 0; i < shadow_.size(); ++i)
      if (!but_own || i != rank_) ranks.push_back(i);
    return ranks;
  }

  int receive(int peer, std::byte* at, size_t bytes, std::vector<core::Request*>* requests) {
    return move<false>(peer, at, bytes, requests);
  }
  int send(int peer, std::byte* at, size_t bytes, std::vector<core::Request*>* requests) {
    return move<true>(peer, at, bytes, requests);
  }
  template <bool kSends>
  int move(int peer, std::byte* at, size_t bytes, std::vector<core::Request*>* requests) {
    if (bytes == 0) return MPI_SUCCESS;
    const pml::Buffer buffer{at, static_cast<MPI_Count>(bytes), &byte_, cuda::MemoryKind::kHost};
    const pml::Envelope with{&shadow_, peer, kTag};
    pml::Pml& pml = *shadow_.channel().pml;
    core::Request* request = nullptr;
    const int code = kSends ? pml.isend(buffer, with, pml::Mode::kStandard, &request)
                            : pml.irecv(buffer, with, &request);
    if (code == MPI_SUCCESS) requests->push_back(request);
    return code;
  }
  /// What the rank sends itself.
  int keep_own(const PartOfBlocks& now, const std::byte* half, std::byte* to, size_t bytes) {
    const auto mine = std::find(receivers_.begin(), receivers_.end(), rank_);
    const auto block = static_cast<int>(mine - receivers_.begin());
    if (bytes > 0) std::memcpy(to, half + to_.place(block, now), bytes);
    return MPI_SUCCESS;
  }

  [[nodiscard]] PartOfBlocks part(int pass) const noexcept {
    return {static_cast<size_t>(pass - 1) * per_place_, per_place_};
  }
  [[nodiscard]] size_t received_at() const noexcept {
    return static_cast<size_t>(shadow_.size()) * per_place_;
  }

  core::Communicator& shadow_;
  const char* const serves_;
  core::Datatype& byte_;
  const int rank_;
  const size_t per_place_;  // bytes
  Blocks to_, from_;
  std::vector<int> receivers_, senders_;  // of their blocks
};

}  // namespace

std::unique_ptr<Call> make_exchange_call(CommStream& on, const Operation& operation,
                                         const char* name) {
  return std::make_unique<ExchangeCall>(on, operation, name);
}

}  // namespace tern::stream
