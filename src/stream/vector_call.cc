// SPDX-License-Identifier: Apache-2.0
// Collectives of a vector: broadcast, reductions, barrier.
#include <algorithm>

#include "base/error.hpp"
#include "coll/coll.hpp"
#include "mpi.h"
#include "stream/area.hpp"
#include "stream/collective.hpp"
#include "stream/elements.hpp"

namespace tern::stream {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;

class VectorCall final : public Call {
 public:
  VectorCall(CommStream& on, const Operation& operation, const char* function)
      : Call(function), operation_(operation), op_(operation.op) {
    overlaps = true;
    core::Process& process = on.communicator().process();
    operation_.communicator = &on.shadow();
    if (operation.collective == Collective::kBarrier) return;
    const int rank = on.shadow().rank();
    const bool at_root = rank == operation.root;
    const bool bcast = operation.collective == Collective::kBcast;
    const Side& shape = bcast ? operation.output : operation.input;
    elements_ = elements_of(process, operation, *shape.type);
    count_ = shape.count * elements_.each;
    type_ = core::Ref<core::Datatype>(elements_.type);
    per_pass_ = static_cast<MPI_Count>(on.chunk() / elements_.bytes);
    if (per_pass_ == 0)
      throw Error(MPI_ERR_NO_MEM, strf("an element of %zu bytes does not fit a chunk of %zu bytes; "
                                       "TERN_TEST=stream_chunk=BYTES sets the size",
                                       elements_.bytes, on.chunk()));
    passes = std::max(1, static_cast<int>((count_ + per_pass_ - 1) / per_pass_));
    const auto area = [&](const Side& side) {
      return Area(process, on.gpu(), side.address, shape.count * elements_.each_moved,
                  *elements_.moved_as);
    };
    has_result_ = operation.collective != Collective::kReduce || at_root;
    if (count_ == 0) return;  // an empty call has a pass, too
    if (!bcast || at_root) in_ = area(shape);
    if (bcast                                         ? !at_root
        : operation.collective == Collective::kReduce ? at_root
        : operation.collective == Collective::kExscan ? rank != 0
                                                      : true)
      out_ = area(operation.output);
  }

  void copy_in(Track& track, int pass, std::byte* half) noexcept override {
    if (in_.there()) in_.copy_in(track, offset(pass), half, bytes(pass));
  }
  void copy_out(Track& track, int pass, const std::byte* half) noexcept override {
    if (out_.there()) out_.copy_out(track, offset(pass), half, bytes(pass));
  }
  int begin(int pass, std::byte* half, std::vector<core::Request*>* requests) override {
    if (in_.there())
      if (const int code = in_.take(offset(pass), half, bytes(pass)); code != MPI_SUCCESS)
        return code;
    const Operation part = part_of(pass, half);
    core::Request* request = nullptr;
    requests->reserve(1);
    const int code = part.communicator->channel().coll->start(part, &request);
    if (code == MPI_SUCCESS) requests->push_back(request);
    return code;
  }
  int end(int pass, std::byte* half, const core::Outcome&) override {
    return out_.there() ? out_.give(offset(pass), half, bytes(pass)) : MPI_SUCCESS;
  }

 private:
  [[nodiscard]] MPI_Count count(int pass) const noexcept {
    return std::min(per_pass_, count_ - pass * per_pass_);
  }
  [[nodiscard]] size_t offset(int pass) const noexcept {
    return static_cast<size_t>(pass * per_pass_) * elements_.bytes;
  }
  [[nodiscard]] size_t bytes(int pass) const noexcept {
    return static_cast<size_t>(count(pass)) * elements_.bytes;
  }
  /// The operation runs in place on the half, unless this rank has no result.
  [[nodiscard]] Operation part_of(int pass, std::byte* half) const noexcept {
    Operation part = operation_;
    if (part.collective == Collective::kBarrier) return part;
    const Side here{half, count(pass), elements_.type};
    if (part.collective == Collective::kBcast) {
      part.output = here;
      return part;
    }
    part.input = here;
    part.in_place = has_result_;
    part.output = part.in_place ? here : Side{};
    return part;
  }

  Operation operation_;
  const core::Ref<core::Op> op_;
  core::Ref<core::Datatype> type_;
  Elements elements_{};
  bool has_result_ = false;
  MPI_Count count_ = 0, per_pass_ = 0;
  Area in_, out_;
};

}  // namespace

std::unique_ptr<Call> make_vector_call(CommStream& on, const Operation& operation,
                                       const char* name) {
  return std::make_unique<VectorCall>(on, operation, name);
}

}  // namespace tern::stream
