// SPDX-License-Identifier: Apache-2.0
// Collectives of blocks known to all ranks: gather, scatter, allgather, alltoall, reduce_scatter,
// and irregular allgather and reduce_scatter.
// How: a half has places for parts of all blocks; the host's operation runs there, if possible in
// place.
#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "mpi.h"
#include "stream/blocks.hpp"
#include "stream/collective.hpp"
#include "stream/elements.hpp"

namespace tern::stream {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;

class BlocksCall final : public Call {
 public:
  BlocksCall(CommStream& on, const Operation& operation, const char* function)
      : Call(function),
        operation_(operation),
        op_(operation.op),
        ranks_(on.shadow().size()),
        rank_(on.shadow().rank()),
        at_root_(rank_ == operation.root) {
    overlaps = true;
    operation_.communicator = &on.shadow();
    cut_half(on, operation);
    find_blocks(on, operation);
    const size_t most = std::max(in_.most_bytes(), out_.most_bytes());
    // an empty call has a pass, too
    passes = std::max(1, static_cast<int>((most + per_place_ - 1) / per_place_));
  }

  void copy_in(Track& track, int pass, std::byte* half) noexcept override {
    if (in_.there()) in_.copy_in(track, part(pass), half + in_at(pass));
  }
  void copy_out(Track& track, int pass, const std::byte* half) noexcept override {
    if (out_.there()) out_.copy_out(track, part(pass), half + out_at(pass));
  }
  int begin(int pass, std::byte* half, std::vector<core::Request*>* requests) override {
    if (in_.there())
      if (const int code = in_.take(part(pass), half + in_at(pass)); code != MPI_SUCCESS)
        return code;
    const Operation here = operation_on(pass, half);
    core::Request* request = nullptr;
    requests->reserve(1);
    const int code = here.communicator->channel().coll->start(here, &request);
    if (code == MPI_SUCCESS) requests->push_back(request);
    return code;
  }
  int end(int pass, std::byte* half, const core::Outcome&) override {
    return out_.there() ? out_.give(part(pass), half + out_at(pass)) : MPI_SUCCESS;
  }

 private:
  void cut_half(const CommStream& on, const Operation& operation) {
    Side side = operation.in_place || operation.collective == Collective::kScatter
                    ? operation.output
                    : operation.input;
    if (operation.collective == Collective::kScatter && at_root_) side = operation.input;
    elements_ = elements_of(on.communicator().process(), operation, *side.type);
    type_ = core::Ref<core::Datatype>(elements_.type);
    const int places = operation.collective == Collective::kAlltoall        ? 2 * ranks_
                       : operation.collective == Collective::kReduceScatter ? ranks_ + 1
                                                                            : ranks_;
    const size_t room = on.chunk() / static_cast<size_t>(places);
    per_place_ = room / elements_.bytes * elements_.bytes;
    if (per_place_ == 0)
      throw Error(MPI_ERR_NO_MEM,
                  strf("elements of %zu bytes of %d ranks do not fit a chunk of %zu bytes; "
                       "TERN_TEST=stream_chunk=BYTES sets the size",
                       elements_.bytes, ranks_, on.chunk()));
  }

  void find_blocks(const CommStream& on, const Operation& operation) {
    core::Process& process = on.communicator().process();
    const auto blocks = [&](const Side& side, int count) {
      return CallBlocks(process, on.gpu(), side, count);
    };
    switch (operation.collective) {
      case Collective::kGather:
        in_ = operation.in_place ? blocks(own_block(operation.output), 1)
                                 : blocks(operation.input, 1);
        if (!at_root_) return;
        out_ = blocks(operation.output, ranks_);
        return;
      case Collective::kScatter:
        if (at_root_) in_ = blocks(operation.input, ranks_);
        if (!operation.in_place) out_ = blocks(operation.output, 1);
        return;
      case Collective::kAllgather:
        in_ = operation.in_place ? blocks(own_block(operation.output), 1)
                                 : blocks(operation.input, 1);
        out_ = blocks(operation.output, ranks_);
        return;
      case Collective::kAlltoall:
        in_ = blocks(operation.in_place ? operation.output : operation.input, ranks_);
        out_ = blocks(operation.output, ranks_);
        return;
      default:
        return find_reduced(on, operation);
    }
  }

  void find_reduced(const CommStream& on, const Operation& operation) {
    core::Process& process = on.communicator().process();
    std::vector<size_t> bytes;
    MPI_Count all = 0;
    for (int i = 0; i < ranks_; ++i) {
      const MPI_Count* const counts = operation.input.counts;
      const MPI_Count count = counts != nullptr ? counts[i] : operation.input.count;
      bytes.push_back(static_cast<size_t>(count * elements_.each) * elements_.bytes);
      all += count;
    }
    const auto area = [&](void* address, MPI_Count count) {
      return Area(process, on.gpu(), address, count * elements_.each_moved, *elements_.moved_as);
    };
    out_ = CallBlocks(area(operation.output.address, operation.output.count),
                      {bytes[static_cast<size_t>(rank_)]});
    in_ = CallBlocks(area(operation.input.address, all), std::move(bytes));
  }

  [[nodiscard]] Side own_block(const Side& side) const noexcept {
    const auto mine = static_cast<size_t>(rank_);
    MPI_Aint place = rank_ * side.count;
    if (side.counts != nullptr && side.displs != nullptr) place = side.displs[mine];
    if (side.counts != nullptr && side.displs == nullptr) {
      place = 0;
      for (size_t i = 0; i < mine; ++i) place += side.counts[i];
    }
    return {static_cast<std::byte*>(side.address) + place * side.type->extent(),
            side.counts != nullptr ? side.counts[mine] : side.count, side.type};
  }

  [[nodiscard]] PartOfBlocks part(int pass) const noexcept {
    return {static_cast<size_t>(pass) * per_place_, per_place_};
  }
  [[nodiscard]] MPI_Count count_in(size_t bytes) const noexcept {
    return static_cast<MPI_Count>(bytes / elements_.bytes);
  }

  [[nodiscard]] size_t in_at(int pass) const noexcept {
    const bool among_all = out_.there() && (operation_.collective == Collective::kAllgather ||
                                            operation_.collective == Collective::kGather);
    return among_all ? out_.place(rank_, part(pass)) : 0;
  }
  [[nodiscard]] size_t out_at(int pass) const noexcept {
    switch (operation_.collective) {
      case Collective::kScatter:
        return in_.there() ? in_.place(rank_, part(pass)) : 0;
      case Collective::kAlltoall:
      case Collective::kReduceScatter:
        return static_cast<size_t>(ranks_) * per_place_;
      default:
        return 0;
    }
  }
  [[nodiscard]] Side side_of(const CallBlocks& blocks, int pass, std::byte* here) {
    Side side{here, count_in(blocks.bytes(0, part(pass))), elements_.type};
    if (!operation_.irregular || blocks.count() == 1) return side;
    auto& counts = counts_[static_cast<size_t>(pass) % 2];  // live until the pass ends
    counts.clear();
    for (int i = 0; i < blocks.count(); ++i)
      counts.push_back(count_in(blocks.bytes(i, part(pass))));
    side.count = 0;
    side.counts = counts.data();
    return side;
  }
  [[nodiscard]] Operation operation_on(int pass, std::byte* half) {
    Operation here = operation_;
    here.input = here.output = {};
    here.in_place = false;
    const auto own = [&](const CallBlocks& blocks, size_t at) {
      return side_of(blocks, pass, half + at);
    };
    switch (here.collective) {
      case Collective::kGather:
        here.in_place = at_root_;
        (at_root_ ? here.output : here.input) = own(at_root_ ? out_ : in_, 0);
        break;
      case Collective::kScatter:
        here.in_place = at_root_;
        (at_root_ ? here.input : here.output) = own(at_root_ ? in_ : out_, 0);
        break;
      case Collective::kAllgather:
        here.in_place = true;
        here.output = own(out_, 0);
        break;
      default:
        here.input = own(in_, 0);
        here.output = own(out_, out_at(pass));
    }
    return here;
  }

  Operation operation_;
  const core::Ref<core::Op> op_;
  core::Ref<core::Datatype> type_;
  const int ranks_, rank_;
  const bool at_root_;
  Elements elements_;
  size_t per_place_ = 0;
  CallBlocks in_, out_;
  std::array<std::vector<MPI_Count>, 2> counts_;
};

}  // namespace

std::unique_ptr<Call> make_blocks_call(CommStream& on, const Operation& operation,
                                       const char* name) {
  return std::make_unique<BlocksCall>(on, operation, name);
}

}  // namespace tern::stream
