// SPDX-License-Identifier: Apache-2.0
// SmEndpoint: a peer on this host: rings in both directions, copies by the kernel, claims.
#pragma once

#include <optional>
#include <vector>

#include "base/explain.hpp"
#include "btl/btl.hpp"
#include "btl/copy.hpp"
#include "btl/sm/pool.hpp"
#include "btl/sm/ring.hpp"
#include "btl/sm/segment.hpp"

namespace tern::btl::sm {

struct Shared {
  const Segment& own;
  Pool pool;
  std::vector<uint32_t> free_claims;
  uint32_t own_rank, own_channel;
  size_t inline_limit;
  size_t fragment_bytes;  // of the pipeline; fragments per peer in the cache
  size_t fragments;
  const Explain& explain;
  bool refusal_said = false;
  bool fenced;  // waiters sleep soon, so senders fence before reading the sleep mark

  void ring_bell_of(const Segment& peer) const noexcept { peer.head().doorbell.ring(fenced); }
};

struct Attached {
  SmAddress address;
  uint32_t channels;
  Segment segment;
  int64_t next_look_ns = 0;
  bool tolerates_deaths = false;

  /// gone() is true after the peer has left MPI or died. The first call reads the clock only; later
  /// calls check the process every 50 ms.
  [[nodiscard]] bool gone(uint32_t rank) noexcept;
  [[nodiscard]] bool has_died(uint32_t rank) noexcept;
  bool is_stranger = false;
};

class SmQueue final : public FrameQueue {
 public:
  SmQueue(const Shared& shared, const Segment& peer) noexcept : shared_(shared), peer_(peer) {}
  bool peek(Frame* frame) noexcept override;
  void pop() noexcept override;
  void bind(uint32_t index) noexcept;
  [[nodiscard]] bool bound() const noexcept { return bound_; }
  [[nodiscard]] bool damaged() const noexcept { return damaged_; }
  /// The farewell of a stranger whose frames have all been read, or 0.
  [[nodiscard]] uint32_t farewell() noexcept;
  void unbind(bool peer_has_ended) noexcept;

 private:
  void take_lines() noexcept;

  const Shared& shared_;
  const Segment& peer_;
  RingReader ring_;
  bool bound_ = false;
  bool damaged_ = false;
  // front_lines_ is valid between peek() and pop().
  uint64_t front_lines_ = 0;
  uint32_t front_block_ = Pool::kNone;
  size_t front_bytes_ = 0;
};

class CmaCopy final : public PeerCopy {
 public:
  CmaCopy(Shared& shared, const Attached& peer, uint32_t rank) noexcept
      : shared_(shared), peer_(peer), rank_(rank) {}
  bool works() noexcept override;
  int get(const iovec* local, size_t locals, const iovec* remote, size_t remotes) noexcept override;
  int put(const iovec* local, size_t locals, const iovec* remote, size_t remotes) noexcept override;

 private:
  void explain_refusal(int error) noexcept;

  Shared& shared_;
  const Attached& peer_;
  const uint32_t rank_;
  std::optional<bool> works_;
};

class SmClaims final : public Claims {
 public:
  SmClaims(Shared& shared, const Segment& peer) noexcept : shared_(shared), peer_(peer) {}
  SharedClaims* open(uint32_t* name) noexcept override;
  void close(uint32_t name) noexcept override { shared_.free_claims.push_back(name - 1); }
  SharedClaims* find(uint32_t name) noexcept override;
  void wake_peer() noexcept override { shared_.ring_bell_of(peer_); }

 private:
  Shared& shared_;
  const Segment& peer_;
};

class SmEndpoint final : public Endpoint {
 public:
  SmEndpoint(Shared& shared, const Destination& leads_to, Attached& peer);

  bool send(const Header& header, const void* payload) noexcept override;
  std::byte* begin(size_t bytes) noexcept override;
  void commit(const Header& header) noexcept override;
  std::byte* begin_fragment(size_t bytes) noexcept override;
  size_t fragment_bytes() const noexcept override { return shared_.fragment_bytes; }
  size_t max_payload() const noexcept override { return kBlockBytes; }
  bool gone() const noexcept override { return peer_.gone(to.peer.rank); }
  const char* transport() const noexcept override { return "sm"; }
  const char* reason() const noexcept override { return "shared memory: the same host"; }

  /// For strangers. say_bye() is true once both ends have read all frames, or the peer has ended;
  /// then unuse() gives back ring and blocks.
  [[nodiscard]] bool say_bye() noexcept;
  void unuse() noexcept;
  /// Whether a stranger has ended without farewell; looks now and then.
  [[nodiscard]] bool finds_end() noexcept;
  /// The peer has ended: frames are dropped.
  void set_lost();
  [[nodiscard]] bool lost() const noexcept { return lost_; }
  [[nodiscard]] int pid() const noexcept { return peer_.address.pid; }

  SmQueue queue;

 private:
  Shared& shared_;
  Attached& peer_;
  const Segment& segment_;
  CmaCopy copy_;
  OwnProcessCopy own_process_copy_;
  SmClaims claims_;
  RingWriter writer_;
  size_t inline_limit_ = 0;  // payload bytes
  Line* open_line_ = nullptr;
  uint64_t open_lines_ = 0;
  uint32_t open_block_ = Pool::kNone;
  Pool::InFlight in_flight_;
  RingControl* control_ = nullptr;
  uint32_t said_ = 0;
  bool lost_ = false;
  std::vector<std::byte> dropped_;
};

}  // namespace tern::btl::sm
