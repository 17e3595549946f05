// SPDX-License-Identifier: Apache-2.0
// Collectives between the two groups of an inter-communicator: MPI-5.0 section 6.2.3. Each rank
// exchanges messages with every rank of the other group, all at once: linear in their number.
#include <utility>

#include "api/coll.hpp"
#include "api/comm_exchange.hpp"
#include "base/error.hpp"

namespace tern::api {

namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;

pml::Buffer whole(const Side& side) { return {side.address, side.count, side.type}; }

/// A rank's part of a side.
pml::Buffer block(const Side& side, int rank) {
  if (side.types != nullptr) {
    const auto address =
        reinterpret_cast<uintptr_t>(side.address) + static_cast<uintptr_t>(side.displs[rank]);
    return {reinterpret_cast<void*>(address), side.counts[rank], side.types[rank]};
  }
  const MPI_Count count = side.counts != nullptr ? side.counts[rank] : side.count;
  const MPI_Count steps = side.displs != nullptr ? side.displs[rank] : rank * side.count;
  const auto address = reinterpret_cast<uintptr_t>(side.address) +
                       static_cast<uintptr_t>(steps * side.type->extent());
  return {reinterpret_cast<void*>(address), count, side.type};
}

/// The exchange of one collective; every rank of the other group is a partner.
class Between {
 public:
  explicit Between(const Operation& operation)
      : operation_(operation),
        comm_(*operation.communicator),
        partners_(comm_.peer_count()),
        tag_(exchange_tag(comm_)),
        exchange_(comm_) {}

  Exchange make() {
    const int root = operation_.root;
    switch (operation_.collective) {
      case Collective::kBarrier:
        to_all(nothing());
        for (int rank = 0; rank < partners_; ++rank) exchange_.receive(nothing(), rank, tag_);
        break;
      case Collective::kBcast:
        if (root == MPI_ROOT) to_all(whole(operation_.output));
        if (root >= 0) exchange_.receive(whole(operation_.output), root, tag_);
        break;
      case Collective::kGather:
        if (root == MPI_ROOT) from_each();
        if (root >= 0) exchange_.send(whole(operation_.input), root, tag_);
        break;
      case Collective::kScatter:
        if (root == MPI_ROOT) to_each();
        if (root >= 0) exchange_.receive(whole(operation_.output), root, tag_);
        break;
      case Collective::kAllgather:
        to_all(whole(operation_.input));
        from_each();
        break;
      case Collective::kAlltoall:
        to_each();
        from_each();
        break;
      case Collective::kReduce:
        if (root == MPI_ROOT) fold(0, operation_.output.count);
        if (root >= 0) exchange_.send(whole(operation_.input), root, tag_);
        break;
      case Collective::kAllreduce:
        to_all(whole(operation_.input));
        fold(0, operation_.output.count);
        break;
      case Collective::kReduceScatter:
        reduce_scatter();
        break;
      default:
        exchange_.refuse(fail(MPI_ERR_COMM, "%s is not defined on an inter-communicator",
                              coll::name_of(operation_.collective)));
    }
    return std::move(exchange_);
  }

 private:
  pml::Buffer nothing() { return {nullptr, 0, &core::predefined_type(comm_.process(), MPI_BYTE)}; }
  void to_all(const pml::Buffer& buffer) {
    for (int rank = 0; rank < partners_; ++rank) exchange_.send(buffer, rank, tag_);
  }
  void to_each() {
    for (int rank = 0; rank < partners_; ++rank)
      exchange_.send(block(operation_.input, rank), rank, tag_);
  }
  void from_each() {
    for (int rank = 0; rank < partners_; ++rank)
      exchange_.receive(block(operation_.output, rank), rank, tag_);
  }
  void fold(MPI_Count offset, MPI_Count count) {
    exchange_.fold(whole(operation_.output), offset, count, *operation_.op, partners_, tag_);
  }
  // The other group's parts are not known here: everybody gets all, and folds what is its own.
  void reduce_scatter() {
    const Side& input = operation_.input;
    MPI_Count total = 0, offset = 0;
    for (int rank = 0; rank < comm_.size(); ++rank) {
      if (rank == comm_.rank()) offset = total;
      total += input.counts != nullptr ? input.counts[rank] : input.count;
    }
    to_all({input.address, total, input.type});
    fold(offset, total);
  }

  const Operation& operation_;
  core::Communicator& comm_;
  int partners_;
  int tag_;
  Exchange exchange_;
};

}  // namespace

Exchange between_groups(const Operation& operation) { return Between(operation).make(); }

}  // namespace tern::api
