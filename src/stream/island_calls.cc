// SPDX-License-Identifier: Apache-2.0
// Large collectives by groups of GPUs with peer access ("islands"): each step is a collective of
// some ranks. Order: steps are consecutive in the stream. After a failed step a rank refuses the
// later steps and tells the ranks concerned.
#include <algorithm>
#include <optional>

#include "coll/gpu/pieces.hpp"
#include "mpi.h"
#include "stream/collective.hpp"

namespace tern::stream {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;

constexpr size_t kLeastBytes = 65536;  // modelled: below, three steps cost more than they save

class Shares {
 public:
  Shares(MPI_Count count, int places, int place) : place_(static_cast<size_t>(place)) {
    MPI_Count first = 0;
    for (int i = 0; i < places; ++i) {
      counts_.push_back(count / places + (i < count % places ? 1 : 0));
      firsts_.push_back(first);
      first += counts_.back();
    }
    equal_ = count % places == 0;
  }
  [[nodiscard]] bool equal() const noexcept { return equal_; }
  [[nodiscard]] Side own(const Side& vector) const noexcept {
    auto* const base = static_cast<std::byte*>(vector.address);
    return {base + firsts_[place_] * vector.type->extent(), counts_[place_], vector.type};
  }
  [[nodiscard]] Side all(const Side& vector) const noexcept {
    Side side{vector.address, 0, vector.type};
    if (equal_) side.count = counts_.front();
    if (!equal_) side.counts = counts_.data();
    return side;
  }
  void displace(Side* side) const noexcept {
    if (!equal_) side->displs = firsts_.data();
  }

 private:
  const size_t place_;
  std::vector<MPI_Count> counts_;
  std::vector<MPI_Aint> firsts_;
  bool equal_ = true;
};

// Each rank reduces a share, within the island and then across islands. Then the island gathers all
// shares.
int allreduce(const Islands& islands, const Operation& operation, const char* name) {
  const IslandMap& map = islands.map;
  const Side& out = operation.output;
  const Shares shares(out.count, static_cast<int>(map.here.size()),
                      map.place_of[static_cast<size_t>(map.rank)]);
  Operation step = operation;
  step.collective = Collective::kReduceScatter;
  step.in_place = false;  // the share's sum replaces the share:
  step.onto_own_block = operation.in_place;
  step.irregular = !shares.equal();
  step.input = shares.all(operation.in_place ? out : operation.input);
  step.output = shares.own(out);
  int code = enqueue(*islands.here, step, name);
  if (code != MPI_SUCCESS) {
    refuse(*islands.across, code, std::nullopt);
    return code;
  }
  step.collective = Collective::kAllreduce;
  step.in_place = true;
  step.onto_own_block = false;
  step.irregular = false;
  step.input = step.output;
  code = enqueue(*islands.across, step, name);
  if (code != MPI_SUCCESS) {
    refuse(*islands.here, code, std::nullopt);
    return code;
  }
  step.collective = Collective::kAllgather;
  step.op = nullptr;
  step.irregular = !shares.equal();
  step.input = {};
  step.output = shares.all(out);
  shares.displace(&step.output);
  return enqueue(*islands.here, step, name);
}

// The vector goes to the root's place in all islands, then from there to all ranks.
int bcast(const Islands& islands, const Operation& operation, const char* name) {
  const IslandMap& map = islands.map;
  const auto root = static_cast<size_t>(operation.root), own = static_cast<size_t>(map.rank);
  Operation step = operation;
  if (map.place_of[own] == map.place_of[root]) {
    const auto at = std::find(map.across.begin(), map.across.end(), operation.root);
    step.root = static_cast<int>(at - map.across.begin());
    const int code = enqueue(*islands.across, step, name);
    if (code != MPI_SUCCESS) {
      refuse(*islands.here, code, std::nullopt);
      return code;
    }
  }
  step.root = map.place_of[root];
  return enqueue(*islands.here, step, name);
}

}  // namespace

bool goes_by_islands(const Operation& operation) noexcept {
  const Side& vector = operation.output;
  switch (operation.collective) {
    case Collective::kBcast:
    case Collective::kAllreduce:
      return static_cast<size_t>(vector.count) * static_cast<size_t>(vector.type->size()) >=
                 kLeastBytes &&
             coll::Pieces::why_not(operation) == nullptr;
    default:
      return false;
  }
}

int enqueue_by_islands(const Islands& islands, const Operation& operation, const char* name) {
  return operation.collective == Collective::kBcast ? bcast(islands, operation, name)
                                                    : allreduce(islands, operation, name);
}

}  // namespace tern::stream
