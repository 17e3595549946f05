// SPDX-License-Identifier: Apache-2.0
#include "rma/network_path.hpp"

#include <algorithm>
#include <utility>

#include "btl/btl.hpp"
#include "rma/engine.hpp"

namespace tern::rma {
namespace {

constexpr size_t kMostBlocks = 64;
constexpr size_t kPiece = 1 << 20;  // leaves room for others between the pieces of a large block

/// A small block costs an RDMA operation, but a message packs many.
bool has_large_blocks(const core::Data& data) noexcept {
  constexpr size_t kLeast = 1024;
  if (data.type->contiguous()) return true;
  iovec blocks[kMostBlocks];
  size_t covered = 0;
  const size_t count =
      data.type->pieces(data.address, data.count, 0, data.bytes(), blocks, kMostBlocks, &covered);
  return covered >= count * kLeast;
}

/// Calls body(iovec of `here`, address of `there`) for pieces contiguous on both sides.
template <class Body>
void for_each_piece(const core::Data& here, const core::Data& there, Body&& body) {
  iovec near[kMostBlocks], far[kMostBlocks];
  size_t near_bytes = 0, far_bytes = 0;
  for (size_t done = 0, total = here.bytes(); done < total; done += near_bytes) {
    (void)there.type->pieces(there.address, there.count, done, total - done, far, kMostBlocks,
                             &far_bytes);
    (void)here.type->pieces(here.address, here.count, done, far_bytes, near, kMostBlocks,
                            &near_bytes);
    iovec *from = near, *to = far;
    for (size_t left = near_bytes, bytes = 0; left != 0; left -= bytes) {
      bytes = std::min({from->iov_len, to->iov_len, kPiece});
      body(iovec{from->iov_base, bytes}, reinterpret_cast<uint64_t>(to->iov_base));
      for (iovec** const side : {&from, &to}) {
        (*side)->iov_base = static_cast<std::byte*>((*side)->iov_base) + bytes;
        if (((*side)->iov_len -= bytes) == 0) ++*side;
      }
    }
  }
}

}  // namespace

NetworkPath::NetworkPath(Targets& targets, Messages& rest, RemoteParts parts,
                         std::vector<uint64_t> addresses, bool emulated)
    : Path(targets.process().window_operations.network),
      targets_(targets),
      communicator_(targets.communicator()),
      pml_(*communicator_.channel().pml),
      rest_(rest),
      parts_(std::move(parts)),
      addresses_(std::move(addresses)),
      emulated_(emulated),
      links_(addresses_.size()) {
  const core::ChannelLock lock(targets_.progress());
  Engine::join(communicator_.channel(),
               {this, [](void* self) noexcept { return static_cast<NetworkPath*>(self)->poll(); },
                [](void* self) noexcept { static_cast<NetworkPath*>(self)->let_go(); }});
}

// The transport still writes to operations under way.
NetworkPath::~NetworkPath() {
  Engine::leave(communicator_.channel(), this);
  for (auto& tracked : tracked_)
    if (tracked->operation.left != 1) (void)tracked.release();
  for (auto& link : links_)
    if (link != nullptr && link->operation.left != 1) (void)link.release();
}

void NetworkPath::let_go() noexcept {
  parts_.withdraw();
  for (auto& link : links_)
    if (link != nullptr) link->key.reset();
}

void NetworkPath::withdraw() noexcept {
  const core::ChannelLock lock(targets_.progress());
  parts_.withdraw();
}

std::unique_ptr<NetworkPath::Link> NetworkPath::connect(int target) {
  auto made = std::make_unique<Link>();
  used_.reserve(++contacts_);
  int error = MPI_SUCCESS;
  const btl::Endpoint* const endpoint = pml_.endpoint(communicator_, target, &error);
  if (endpoint == nullptr || endpoint->caps.rdma == nullptr) return made;
  made->rdma = endpoint->caps.rdma;
  if ((emulated_ || made->rdma->offloaded) &&
      RemoteParts::name_of(*endpoint) == parts_.of(target).transport)
    made->key = made->rdma->import_key(parts_.key(target));
  const Explain& explain = targets_.process().explain;
  if (made->key == nullptr && explain.on())
    explain.say(
        "window", {{"rank", static_cast<unsigned long long>(target)}},
        strf("memory of rank %d in %s is accessed by messages: %s takes no key of this rank",
             target, targets_.words().c_str(), endpoint->transport()));
  return made;
}

bool NetworkPath::reaches(int target) {
  const core::ChannelLock lock(targets_.progress());
  auto& known = links_[static_cast<size_t>(target)];
  if (TERN_UNLIKELY(known == nullptr)) known = connect(target);
  return known->key != nullptr;
}

core::Data NetworkPath::part(const TargetData& at, const Reached& reached) const noexcept {
  const uint64_t first =
      addresses_[static_cast<size_t>(at.target)] + static_cast<uint64_t>(reached.at);
  return {reinterpret_cast<void*>(first), at.count, at.type, cuda::MemoryKind::kHost};
}

Path& NetworkPath::carrier(const core::Data* moved, const TargetData& at, const Reached& reached) {
  if (moved == nullptr || core::with_kind(*moved).on_device() || !has_large_blocks(*moved) ||
      !has_large_blocks(part(at, reached)) || !reaches(at.target))
    return rest_;
  return *this;
}

int NetworkPath::put(const core::Data& origin, const TargetData& to, const Reached& reached,
                     OpRequest* request) {
  return move(Way::kPut, origin, to, reached, request);
}

int NetworkPath::get(const core::Data& origin, const TargetData& from, const Reached& reached,
                     OpRequest* request) {
  return move(Way::kGet, origin, from, reached, request);
}

int NetworkPath::accumulate(const core::Data* origin, const core::Data* result,
                            const TargetData& at, const Reached& reached, const Element& element,
                            OpRequest* request) {
  return rest_.accumulate(origin, result, at, reached, element, request);
}

int NetworkPath::compare_and_swap(const void* origin, const void* compare, void* result,
                                  const TargetData& at, const Reached& reached) {
  return rest_.compare_and_swap(origin, compare, result, at, reached);
}

NetworkPath::Tracked& NetworkPath::track(int target, OpRequest& request) {
  auto made = std::make_unique<Tracked>();
  made->target = target;
  made->whole = core::Ref<OpRequest>(&request);
  tracked_.push_back(std::move(made));
  request.add_part();
  ++link(target).requests;
  return *tracked_.back();
}

int NetworkPath::move(Way way, const core::Data& here, const TargetData& at, const Reached& reached,
                      OpRequest* request) {
  std::vector<Piece> refused;
  Tracked* tracked = nullptr;
  {
    const core::ChannelLock lock(targets_.progress());
    if (request != nullptr) tracked = &track(at.target, *request);
    btl::Operation& operation = tracked != nullptr ? tracked->operation : link(at.target).operation;
    for_each_piece(here, part(at, reached), [&](const iovec& near, uint64_t far) {
      if (!start(way, at.target, near, far, operation)) refused.push_back({near, far});
    });
  }
  int code = MPI_SUCCESS;
  for (const Piece& piece : refused)
    if (code == MPI_SUCCESS) code = send(way, at.target, piece, request);
  const core::ChannelLock lock(targets_.progress());
  if (tracked != nullptr) --tracked->operation.left;
  return code;
}

// The adapter cannot use the origin's memory.
int NetworkPath::send(Way way, int target, const Piece& piece, OpRequest* request) {
  const auto bytes = static_cast<MPI_Count>(piece.near.iov_len);
  core::Datatype& byte = core::predefined_type(targets_.process(), MPI_BYTE);
  const core::Data here{piece.near.iov_base, bytes, &byte, cuda::MemoryKind::kHost};
  const TargetData at{target, 0, bytes, &byte};
  Reached reached{&rest_};
  reached.at = static_cast<int64_t>(piece.far - addresses_[static_cast<size_t>(target)]);
  return way == Way::kPut ? rest_.put(here, at, reached, request)
                          : rest_.get(here, at, reached, request);
}

// Another thread may flush during the wait, so each piece notes what a flush needs. False: refused.
bool NetworkPath::start(Way way, int target, const iovec& here, uint64_t there,
                        btl::Operation& operation) {
  Link& to = link(target);
  btl::Start begun = btl::Start::kNoRoom;
  const auto begin = [&] {
    begun = way == Way::kPut ? to.rdma->start_put(*to.key, there, here, operation)
                             : to.rdma->start_get(*to.key, there, here, operation);
    return begun != btl::Start::kNoRoom;
  };
  if (TERN_UNLIKELY(!begin()))
    targets_.progress().wait(begin, [&](WaitReport* report) { describe(target, report); });
  if (TERN_UNLIKELY(begun == btl::Start::kRefused)) return false;
  if (way == Way::kPut) to.unflushed = true;
  if (!std::exchange(to.listed, true)) used_.push_back(target);
  return true;
}

/// is_over() begins flushes that are due, to all targets at once.
bool NetworkPath::is_over(int target, bool local) noexcept {
  bool over = true;
  for (const int rank : used_) {
    if (target >= 0 && rank != target) continue;
    Link& to = link(rank);
    if (!local && to.unflushed)
      to.unflushed = to.rdma->start_flush(to.operation) == btl::Start::kNoRoom;
    over = over && to.idle() && (local || !to.unflushed);
  }
  return over;
}

int NetworkPath::loss_of(int target, btl::Operation& operation) noexcept {
  int error = MPI_SUCCESS;
  if (pml_.endpoint(communicator_, target, &error) == nullptr) return error;
  return std::exchange(operation.failed, false) ? MPI_ERR_OTHER : MPI_SUCCESS;
}

int NetworkPath::settle(int target) noexcept {
  int code = MPI_SUCCESS;
  std::erase_if(used_, [&](int rank) {
    if (target >= 0 && rank != target) return false;
    Link& to = link(rank);
    if (const int error = loss_of(rank, to.operation); error != MPI_SUCCESS) {
      to.unflushed = false;
      if (code == MPI_SUCCESS) code = targets_.fail_access(rank, error);
    }
    to.listed = to.unflushed;
    return !to.listed;
  });
  return code;
}

int NetworkPath::finish(int target, bool local) noexcept {
  const core::ChannelLock lock(targets_.progress());
  const auto is_asked = [target](int rank) { return target < 0 || rank == target; };
  if (std::none_of(used_.begin(), used_.end(), is_asked)) return MPI_SUCCESS;
  const auto over = [&] { return is_over(target, local); };
  (void)over();
  // A lost peer ends operations at once, and the next poll tells the loss.
  (void)targets_.progress().poll_for_caller();
  targets_.progress().wait(over, [&](WaitReport* report) { describe(target, report); });
  return settle(target);
}

void NetworkPath::begin_flush(int target) noexcept {
  const core::ChannelLock lock(targets_.progress());
  (void)is_over(target, false);
}

int NetworkPath::poll() noexcept {
  int ended = 0;
  for (size_t i = 0; i < tracked_.size();) {
    if (tracked_[i]->operation.left != 1) {
      ++i;
      continue;
    }
    const std::unique_ptr<Tracked> tracked = std::move(tracked_[i]);
    if (i + 1 < tracked_.size()) tracked_[i] = std::move(tracked_.back());
    tracked_.pop_back();
    --link(tracked->target).requests;
    tracked->whole->end_part(loss_of(tracked->target, tracked->operation));
    ++ended;
  }
  return ended;
}

void NetworkPath::describe(int target, WaitReport* report) {
  report->words += strf("accesses to %s to end", targets_.words().c_str());
  for (const int rank : used_)
    if ((target < 0 || rank == target) && !link(rank).idle())
      core::report_wait_for(communicator_.peer(rank), report);
}

}  // namespace tern::rma
