// SPDX-License-Identifier: Apache-2.0
// SmEndpoint: one peer on this host: the ring towards it, the ring from it, its segment.
// Lifetime: Sm. Threads: under the channel's lock.
#pragma once

#include "base/explain.hpp"
#include "btl/btl.hpp"
#include "btl/sm/pool.hpp"
#include "btl/sm/ring.hpp"
#include "btl/sm/segment.hpp"

namespace tern::btl::sm {

/// What all endpoints of a channel share.
struct Shared {
  const Segment& own;
  Pool pool;
  std::vector<uint32_t> free_claims;
  uint32_t own_rank, own_channel;
  size_t inline_limit;    // bytes of payload that travel in a ring's lines
  size_t fragment_bytes;  // of the pipeline, and how many to one peer still fit the cache
  size_t fragments;
  const Explain& explain;
  bool refusal_said = false;
  bool fenced;  // more ranks than cores, or threads of progress: waiters sleep at once, so senders
                // fence before they look
};

/// A peer of this host.
struct Attached {
  SmAddress address;
  uint32_t channels;
  Segment segment;
  int64_t next_look_ns = 0;  // at its process

  /// Whether it has left MPI, or its process has ended without. For who is about to leave: the
  /// first call looks at the clock alone, later ones at the process now and then.
  [[nodiscard]] bool gone(uint32_t rank) noexcept;
  [[nodiscard]] bool has_died(uint32_t rank) noexcept;
};

class SmEndpoint final : public Endpoint {
 public:
  /// Claims a ring in the peer's segment. Throws Error.
  SmEndpoint(Shared& shared, const Destination& leads_to, Attached& peer);

  bool send(const Header& header, const void* payload) noexcept override;
  std::byte* begin(size_t bytes) noexcept override;
  void commit(const Header& header) noexcept override;
  std::byte* begin_fragment(size_t bytes) noexcept override;
  size_t fragment_bytes() const noexcept override { return shared_.fragment_bytes; }
  size_t max_payload() const noexcept override { return kBlockBytes; }
  bool peek(Frame* frame) noexcept override;
  void pop() noexcept override;
  bool one_sided() noexcept override;
  int get(const iovec* local, size_t locals, const iovec* remote, size_t remotes) noexcept override;
  int put(const iovec* local, size_t locals, const iovec* remote, size_t remotes) noexcept override;
  SharedClaims* open_claims(uint32_t* name) noexcept override;
  void close_claims(uint32_t name) noexcept override;
  SharedClaims* peer_claims(uint32_t name) noexcept override;
  void nudge() noexcept override { ring_doorbell(); }
  bool gone() const noexcept override { return peer_.gone(to.peer.rank); }
  bool same_process() const noexcept override;
  const char* transport() const noexcept override { return "sm"; }
  const char* reason() const noexcept override { return "shared memory: the same host"; }

  /// The ring `index` of the own segment is written by this peer.
  void bind_reader(uint32_t index) noexcept;
  [[nodiscard]] bool bound() const noexcept { return reader_bound_; }
  /// The peer's frames make no sense: they are not read any more.
  [[nodiscard]] bool damaged() const noexcept { return damaged_; }

 private:
  void explain_refusal(int error) noexcept;
  void take_lines() noexcept;
  void ring_doorbell() noexcept { segment_.head().doorbell.ring(shared_.fenced); }

  Shared& shared_;
  Attached& peer_;
  const SmAddress& address_;
  const Segment& segment_;
  RingWriter writer_;
  RingReader reader_;
  bool reader_bound_ = false;
  bool damaged_ = false;
  size_t inline_limit_ = 0;    // payload bytes that travel in this ring's lines
  Line* open_line_ = nullptr;  // between begin and commit
  uint64_t open_lines_ = 0;
  uint32_t open_block_ = Pool::kNone;
  Pool::InFlight in_flight_;  // blocks that the peer has not read yet
  uint64_t front_lines_ = 0;  // between peek and pop
  uint32_t front_block_ = Pool::kNone;
  size_t front_bytes_ = 0;  // in that block
  enum class Tried : uint8_t { kNot, kWorks, kRefused } cma_ = Tried::kNot;
};

}  // namespace tern::btl::sm
