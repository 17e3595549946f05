// SPDX-License-Identifier: Apache-2.0
#include "rma/remote_parts.hpp"

#include <algorithm>
#include <cstring>

#include "btl/btl.hpp"
#include "coll/objects.hpp"
#include "pml/pml.hpp"

namespace tern::rma {

std::array<char, 8> RemoteParts::name_of(const btl::Endpoint& endpoint) noexcept {
  std::array<char, 8> name{};
  std::strncpy(name.data(), endpoint.transport(), name.size() - 1);
  return name;
}

RemoteParts::Offer RemoteParts::offer(Targets& targets, int other, bool emulated) {
  const Target& own = targets.own();
  if (own.on_device) return {.state = State::kOnDevice};
  if (targets.dynamic() || own.size == 0) return {.state = State::kEmpty};
  core::Communicator& communicator = targets.communicator();
  const core::ChannelLock lock(targets.progress());
  int error = MPI_SUCCESS;
  const btl::Endpoint* const endpoint =
      communicator.channel().pml->endpoint(communicator, other, &error);
  if (endpoint == nullptr || endpoint->caps.rdma == nullptr ||
      (!emulated && !endpoint->caps.rdma->offloaded))
    return {.state = State::kNoRdma};
  own_ = endpoint->caps.rdma->register_memory(own.first(), static_cast<size_t>(own.size));
  if (own_ == nullptr || own_->key().empty()) return {.state = State::kRefused};
  return {State::kRegistered, static_cast<uint32_t>(own_->key().size()), name_of(*endpoint)};
}

int RemoteParts::exchange(core::Communicator& among, const std::vector<Offer>& offers) {
  constexpr size_t kSlice = 64;
  using Slice = std::array<std::byte, kSlice>;
  offers_ = offers;
  for (Offer& one : offers_) {
    if (one.key_bytes > btl::MemoryRegion::kMostKey) one.state = State::kRefused;
    if (one.has_key()) stride_ = std::max<size_t>(stride_, one.key_bytes);
  }
  keys_.resize(offers.size() * stride_);
  const std::span<const std::byte> key =
      own_ != nullptr ? own_->key() : std::span<const std::byte>{};
  std::vector<Slice> all;
  for (size_t at = 0; at < stride_; at += kSlice) {
    Slice mine{};
    if (at < key.size())
      std::memcpy(mine.data(), key.data() + at, std::min(kSlice, key.size() - at));
    if (const int code = coll::allgather(among, mine, &all); code != MPI_SUCCESS) return code;
    for (size_t rank = 0; rank < all.size(); ++rank)
      std::memcpy(keys_.data() + rank * stride_ + at, all[rank].data(),
                  std::min(kSlice, stride_ - at));
  }
  return MPI_SUCCESS;
}

const char* in_words(RemoteParts::State state) noexcept {
  switch (state) {
    case RemoteParts::State::kEmpty:
      return "has no memory at the creation";
    case RemoteParts::State::kOnDevice:
      return "has memory on a device";
    case RemoteParts::State::kRefused:
      return "cannot register its memory; see the limit of locked memory (ulimit -l)";
    default:
      return "has no RDMA by an adapter to other hosts";
  }
}

}  // namespace tern::rma
