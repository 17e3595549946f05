// SPDX-License-Identifier: Apache-2.0
// Collectives of blocks of pairwise known sizes (coll/engine/pairs.hpp). How: each pair of ranks
// exchanges its blocks as messages, a part per pass, in order. Ranks have different numbers of
// passes, but both ranks of a pair move a part in the same pass.
#include <algorithm>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "coll/engine/pairs.hpp"
#include "mpi.h"
#include "pml/pml.hpp"
#include "stream/area.hpp"
#include "stream/collective.hpp"

namespace tern::stream {
namespace {

using coll::Collective;
using coll::Operation;

constexpr int kTag = 1;  // the only messages on the shadow's user plane

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
      throw Error(MPI_ERR_NO_MEM, strf("blocks of %d ranks do not fit a chunk of %zu bytes; "
                                       "TERN_TEST=stream_chunk=BYTES sets the size",
                                       shadow_.size(), on.chunk()));
    const coll::Pairs pairs = coll::pairs_of(operation);
    sent_ = cut(on, pairs.sent);
    received_ = cut(on, pairs.received);
  }

  void copy_in(Track& track, int pass, std::byte* half) noexcept override {
    for (const ExchangeBlock& one : sent_)
      if (const BlockChunk now = part(one, pass); now.bytes > 0)
        one.area.copy_in(track, now.offset, half + place(one), now.bytes);
  }
  void copy_out(Track& track, int pass, const std::byte* half) noexcept override {
    for (const ExchangeBlock& one : received_)
      if (const BlockChunk now = part(one, pass); now.bytes > 0)
        one.area.copy_out(track, now.offset, half + received_at() + place(one), now.bytes);
  }

  int begin(int pass, std::byte* half, std::vector<core::Request*>* requests) override {
    if (pass == 0) return enter(requests);
    requests->reserve(received_.size() + sent_.size());
    for (const ExchangeBlock& one : sent_)
      if (const BlockChunk now = part(one, pass); now.bytes > 0)
        if (const int code = one.area.take(now.offset, half + place(one), now.bytes);
            code != MPI_SUCCESS)
          return code;
    for (const ExchangeBlock& one : received_)
      if (const int code = receive(one, part(one, pass).bytes, half, requests); code != MPI_SUCCESS)
        return code;
    for (const ExchangeBlock& one : sent_)
      if (const int code = send(one, part(one, pass).bytes, half, requests); code != MPI_SUCCESS)
        return code;
    return MPI_SUCCESS;
  }
  int end(int pass, std::byte* half, const core::Outcome&) override {
    for (const ExchangeBlock& one : received_)
      if (const BlockChunk now = part(one, pass); now.bytes > 0)
        if (const int code =
                one.area.give(now.offset, half + received_at() + place(one), now.bytes);
            code != MPI_SUCCESS)
          return code;
    return MPI_SUCCESS;
  }

 private:
  struct ExchangeBlock {
    Area area;
    int peer;
    int first;
    [[nodiscard]] int end(size_t each) const noexcept {
      return first + static_cast<int>((area.bytes() + each - 1) / each);
    }
  };
  struct BlockChunk {
    size_t offset, bytes;
  };

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
  /// Pass 0 is a barrier.
  std::vector<ExchangeBlock> cut(const CommStream& on, const std::vector<coll::PairBlock>& all) {
    std::vector<ExchangeBlock> blocks;
    std::vector<int> next(static_cast<size_t>(shadow_.size()), 1);
    for (const coll::PairBlock& one : all) {
      int& pass = next[static_cast<size_t>(one.peer)];
      blocks.push_back(
          {Area(shadow_.process(), on.gpu(), one.data.address, one.data.count, *one.data.type),
           one.peer, pass});
      pass = blocks.back().end(per_place_);
      passes = std::max(passes, pass);
    }
    return blocks;
  }
  [[nodiscard]] BlockChunk part(const ExchangeBlock& block, int pass) const noexcept {
    if (pass < block.first || pass >= block.end(per_place_)) return {0, 0};
    const size_t offset = static_cast<size_t>(pass - block.first) * per_place_;
    return {offset, std::min(per_place_, block.area.bytes() - offset)};
  }

  int receive(const ExchangeBlock& block, size_t bytes, std::byte* half,
              std::vector<core::Request*>* requests) {
    std::byte* const at = half + received_at() + place(block);
    if (block.peer != rank_) return move<false>(block.peer, at, bytes, requests);
    if (bytes > 0) std::memcpy(at, half + place(block), bytes);
    return MPI_SUCCESS;
  }
  int send(const ExchangeBlock& block, size_t bytes, std::byte* half,
           std::vector<core::Request*>* requests) {
    return block.peer == rank_ ? MPI_SUCCESS
                               : move<true>(block.peer, half + place(block), bytes, requests);
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
  [[nodiscard]] size_t place(const ExchangeBlock& block) const noexcept {
    return static_cast<size_t>(block.peer) * per_place_;
  }
  [[nodiscard]] size_t received_at() const noexcept {
    return static_cast<size_t>(shadow_.size()) * per_place_;
  }

  core::Communicator& shadow_;
  const char* const serves_;
  core::Datatype& byte_;
  const int rank_;
  const size_t per_place_;
  std::vector<ExchangeBlock> sent_, received_;
};

}  // namespace

std::unique_ptr<Call> make_exchange_call(CommStream& on, const Operation& operation,
                                         const char* name) {
  return std::make_unique<ExchangeCall>(on, operation, name);
}

}  // namespace tern::stream
