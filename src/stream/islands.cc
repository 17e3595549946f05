// SPDX-License-Identifier: Apache-2.0
#include "stream/islands.hpp"

#include <algorithm>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "coll/gpu/pieces.hpp"
#include "mpi.h"
#include "stream/collective.hpp"

namespace tern::stream {
namespace {

using coll::Collective;
using coll::Operation;
using coll::Side;

constexpr int64_t kMomentNs = 100'000'000;
constexpr size_t kLeastBytes = 65536;  // below, three steps cost more than they save (a model's)

/// A vector cut into a share for each place.
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
  /// The own share of the vector.
  [[nodiscard]] Side own(const Side& vector) const noexcept {
    auto* const base = static_cast<std::byte*>(vector.address);
    return {base + firsts_[place_] * vector.type->extent(), counts_[place_], vector.type};
  }
  /// All shares, as blocks.
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

}  // namespace

IslandMap::IslandMap(const std::vector<int>& islands, int of)
    : island_of(islands.size()), place_of(islands.size()), rank(of) {
  std::vector<int> sizes, firsts;
  for (size_t i = 0; i < islands.size(); ++i) {
    const auto found = std::find(firsts.begin(), firsts.end(), islands[i]);
    const auto number = static_cast<size_t>(found - firsts.begin());
    if (found == firsts.end()) {
      firsts.push_back(islands[i]);
      sizes.push_back(0);
    }
    island_of[i] = static_cast<int>(number);
    place_of[i] = sizes[number]++;
  }
  const auto same = [&](int size) { return size == sizes.front(); };
  if (sizes.size() < 2 || sizes.front() < 2 || !std::all_of(sizes.begin(), sizes.end(), same))
    return;
  const auto own = static_cast<size_t>(rank);
  for (size_t i = 0; i < islands.size(); ++i) {
    if (island_of[i] == island_of[own]) here.push_back(static_cast<int>(i));
    if (place_of[i] == place_of[own]) across.push_back(static_cast<int>(i));
  }
}

bool Islands::takes(const Operation& operation) noexcept {
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

// A rank that was given wrong data has been told before it could take it.
int Islands::fail_if_forsaken() const noexcept {
  {
    core::Progress& progress = here_->shadow().channel().progress;
    const core::ChannelLock lock(progress);
    progress.poll();
  }
  return team_.forsaken() ? fail(MPI_ERR_OTHER, "%s", team_.why_forsaken().c_str()) : MPI_SUCCESS;
}

// What this island has to give is undefined once a kernel has given up. Where others have told so,
// calls that are whole on all ranks may still come: they have a moment.
void Islands::watch() noexcept {
  if (TERN_LIKELY(!is_due())) return;
  if (moves_ != across_->moves()) still_since_ = 0;
  moves_ = across_->moves();
  if (still_since_ == 0) still_since_ = now_ns();
  const bool undefined = here_->has_given_up();
  if (!undefined && now_ns() - still_since_ < kMomentNs) return;
  ended_ = true;
  core::Communicator& kept = whole_.communicator();
  core::Progress& progress = channel_.progress;
  {
    const core::ChannelLock lock(progress);
    if (closed_) return;
    ++kept.pending;
  }
  if (undefined && !team_.forsaken()) whole_.lose_island(team_);
  channel_.coll->refusals().end(across_->shadow(), team_.why_forsaken());
  const core::ChannelLock lock(progress);
  kept.operation_ended();
}

bool Islands::is_due() noexcept {
  if (ended_) return false;
  if (here_->has_given_up()) return true;
  return team_.forsaken() && (still_since_ == 0 || now_ns() - still_since_ >= kMomentNs);
}

// The communicator has ended.
void Islands::close() noexcept {
  closed_ = true;
  here_->close();
  across_->close();
}

int Islands::enqueue(const Operation& operation, const char* name) {
  return operation.collective == Collective::kBcast ? bcast(operation, name)
                                                    : allreduce(operation, name);
}

// Each rank has the sum of its share, first of its island, then of all; then all have all shares.
int Islands::allreduce(const Operation& operation, const char* name) {
  const Side& out = operation.output;
  const Shares shares(out.count, static_cast<int>(map_.here.size()),
                      map_.place_of[static_cast<size_t>(map_.rank)]);
  Operation step = operation;
  step.collective = Collective::kReduceScatter;
  step.in_place = false;  // the own share is where its sum will be:
  step.onto_own_block = operation.in_place;
  step.irregular = !shares.equal();
  step.input = shares.all(operation.in_place ? out : operation.input);
  step.output = shares.own(out);
  int code = stream::enqueue(*here_, step, name);
  if (code != MPI_SUCCESS) {
    stream::refuse(*across_, code, std::nullopt);
    return code;
  }
  step.collective = Collective::kAllreduce;
  step.in_place = true;
  step.onto_own_block = false;
  step.irregular = false;
  step.input = step.output;
  code = stream::enqueue(*across_, step, name);
  if (code != MPI_SUCCESS) {
    stream::refuse(*here_, code, std::nullopt);
    return code;
  }
  step.collective = Collective::kAllgather;
  step.op = nullptr;
  step.irregular = !shares.equal();
  step.input = {};
  step.output = shares.all(out);
  shares.displace(&step.output);
  return stream::enqueue(*here_, step, name);
}

// To the root's place in all islands, then from there.
int Islands::bcast(const Operation& operation, const char* name) {
  const auto root = static_cast<size_t>(operation.root), own = static_cast<size_t>(map_.rank);
  Operation step = operation;
  if (map_.place_of[own] == map_.place_of[root]) {
    const auto at = std::find(map_.across.begin(), map_.across.end(), operation.root);
    step.root = static_cast<int>(at - map_.across.begin());
    const int code = stream::enqueue(*across_, step, name);
    if (code != MPI_SUCCESS) {
      stream::refuse(*here_, code, std::nullopt);
      return code;
    }
  }
  step.root = map_.place_of[root];
  return stream::enqueue(*here_, step, name);
}

void Islands::refuse(int code) noexcept {
  stream::refuse(*here_, code, std::nullopt);
  stream::refuse(*across_, code, std::nullopt);
}

}  // namespace tern::stream
