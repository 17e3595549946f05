// SPDX-License-Identifier: Apache-2.0
#include "coll/flat/staged.hpp"

#include <numeric>

#include "core/device_copy.hpp"
#include "core/process.hpp"

namespace tern::coll {
namespace {

bool on_device(const Side& side) noexcept {
  return cuda::on_device(cuda::kind_of(first_byte_of(side)));
}

MPI_Count elements_of(const Side& side, bool many, int ranks) noexcept {
  if (side.counts == nullptr) return many ? side.count * ranks : side.count;
  return std::accumulate(side.counts, side.counts + ranks, MPI_Count{0});
}

bool many_in(Collective what) noexcept {
  return what == Collective::kScatter || what == Collective::kAlltoall ||
         what == Collective::kReduceScatter;
}
bool many_out(Collective what) noexcept {
  return what == Collective::kGather || what == Collective::kAllgather ||
         what == Collective::kAlltoall;
}

}  // namespace

bool uses_device(const Operation& operation) noexcept {
  return TERN_UNLIKELY(on_device(operation.input) || on_device(operation.output));
}

Staged::Staged(const Operation& operation)
    : process_(operation.communicator->channel().process),
      byte_(&core::predefined_type(process_, MPI_BYTE)),
      staged_(operation) {
  const int ranks = operation.communicator->size();
  const bool root = operation.communicator->rank() == operation.root;
  const Collective what = operation.collective;
  if (on_device(operation.input) && (root || what != Collective::kScatter))
    stage(staged_.input, elements_of(operation.input, many_in(what), ranks), input_);
  const bool gathers = what == Collective::kGather || what == Collective::kReduce;
  if (on_device(operation.output) && (root || !gathers))
    stage(staged_.output, elements_of(operation.output, many_out(what), ranks), output_);
}

// Reductions keep their type; other data becomes bytes.
void Staged::stage(Side& side, MPI_Count elements, Moved& moved) {
  moved.user = {side.address, elements, side.type, cuda::MemoryKind::kDevice};
  moved.bytes.resize(moved.user.bytes());
  side.address = moved.bytes.data();
  if (staged_.op != nullptr) return;
  side.count *= side.type->size();
  side.type = byte_;
}

Failure Staged::download() noexcept {
  const auto one = [&](Moved& moved) {
    return core::pack(process_, moved.user, 0, moved.bytes.data(), moved.bytes.size());
  };
  if (!input_.bytes.empty())
    if (Failure why = one(input_)) return why;
  // Rank 0 of an exscan keeps its output.
  const bool has_input =
      staged_.in_place || staged_.collective == Collective::kExscan ||
      (staged_.collective == Collective::kBcast && staged_.communicator->rank() == staged_.root);
  return has_input && !output_.bytes.empty() ? one(output_) : Failure{};
}

Failure Staged::upload() noexcept {
  if (output_.bytes.empty()) return {};
  return core::unpack(process_, output_.user, 0, output_.bytes.data(), output_.bytes.size());
}

}  // namespace tern::coll
