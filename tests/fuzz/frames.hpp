// SPDX-License-Identifier: Apache-2.0
// drive_frames: bytes as a program: posts receives and sends, and simulates two peers with
// arbitrary frames, well-formed or not, for existing and other requests.
// Why: no peer may make the process read or write outside its buffers, lose requests, or log more
// than "ignored". Shared by libFuzzer and tests/unit/pml/hostile_test.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "boot/fake.hpp"
#include "btl/claims.hpp"
#include "core/datatype.hpp"
#include "core/error_handler.hpp"
#include "core/group.hpp"
#include "core/info.hpp"
#include "core/op.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "pml/p2p/p2p.hpp"
#include "tests/fuzz/bytes.hpp"

namespace tern::fuzz {

/// A hostile peer has dropped frames, one-sided copies, and sometimes full queues.
class HostileEndpoint final : public btl::Endpoint,
                              btl::ZeroCopy,
                              btl::Rdma,
                              btl::PeerCopy,
                              btl::Claims {
 public:
  /// `late` models a network that reads and writes memory later.
  HostileEndpoint(core::Peer& peer, bool late) noexcept
      : Endpoint({peer}, {.zero_copy = late ? this : nullptr,
                          .rdma = late ? this : nullptr,
                          .peer_copy = this,
                          .claims = this}),
        ZeroCopy(1000),
        Rdma(true) {}
  bool full = false, copies = true, refuses = false;
  std::deque<std::pair<btl::Operation*, iovec>> under_way;
  int copy_error = 0;
  btl::SharedClaims claims;

  bool send(const btl::Header& header, const void* payload) noexcept override {
    if (full) return false;
    read({const_cast<void*>(payload), header.bytes});
    return true;
  }
  std::byte* begin(size_t bytes) noexcept override {
    if (full) return nullptr;
    TERN_ASSERT(bytes <= max_payload());
    room_.reset(new std::byte[bytes]);
    return room_.get();
  }
  void commit(const btl::Header&) noexcept override { room_.reset(); }
  size_t max_payload() const noexcept override { return 4096; }
  bool works() noexcept override { return copies; }
  int get(const iovec* local, size_t locals, const iovec*, size_t) noexcept override {
    for (size_t i = 0; i < locals; ++i) std::memset(local[i].iov_base, 7, local[i].iov_len);
    return copy_error;
  }
  int put(const iovec* local, size_t locals, const iovec*, size_t) noexcept override {
    for (size_t i = 0; i < locals; ++i) read(local[i]);
    return copy_error;
  }
  btl::SharedClaims* open(uint32_t* name) noexcept override {
    *name = open_ ? 0 : 1;
    if (open_) return nullptr;
    open_ = true;
    claims.taken = 0, claims.finished = 0, claims.failed = 0;
    return &claims;
  }
  void close(uint32_t) noexcept override { open_ = false; }
  btl::SharedClaims* find(uint32_t name) noexcept override {
    return name == 2 ? &theirs_ : nullptr;
  }
  void wake_peer() noexcept override {}
  btl::Start start_send(const btl::Header&, const iovec& prefix, const iovec& data,
                        btl::Operation& operation) noexcept override {
    TERN_ASSERT(prefix.iov_len <= kMostPrefix && data.iov_len <= max_bytes);
    if (!full && !refuses) read(prefix);
    return start(data, operation);
  }
  std::unique_ptr<btl::MemoryRegion> register_memory(void* address,
                                                     size_t bytes) noexcept override {
    std::memset(address, 7, bytes);
    return copies ? std::make_unique<KnownRegion>() : nullptr;
  }
  std::unique_ptr<btl::RemoteKey> import_key(std::span<const std::byte> key) noexcept override {
    return key.empty() ? nullptr : std::make_unique<btl::RemoteKey>();
  }
  btl::Start start_put(const btl::RemoteKey&, uint64_t, const btl::LocalMemory& from,
                       btl::Operation& operation) noexcept override {
    return start({from.address, from.bytes}, operation);
  }
  btl::Start start_get(const btl::RemoteKey&, uint64_t, const btl::LocalMemory& into,
                       btl::Operation& operation) noexcept override {
    std::memset(into.address, 7, into.bytes);
    operation.failed = !copies;
    return start({into.address, into.bytes}, operation);
  }
  btl::Start start_flush(btl::Operation& operation) noexcept override {
    const bool refused = std::exchange(refuses, false);
    const btl::Start begun = start({}, operation);
    refuses = refused;
    return begun;
  }
  void end_one(btl::Sink& sink) {
    if (under_way.empty()) return;
    const auto [operation, data] = under_way.front();
    under_way.pop_front();
    read(data);
    if (--operation->left == 0) sink.done(*operation);
  }
  const char* transport() const noexcept override { return "hostile"; }
  const char* reason() const noexcept override { return "a fuzz target"; }

 private:
  struct KnownRegion final : btl::MemoryRegion {
    std::span<const std::byte> key() const noexcept override { return key_; }
    std::array<std::byte, 4> key_{};
  };
  btl::Start start(const iovec& data, btl::Operation& operation) {
    if (full) return btl::Start::kNoRoom;
    if (refuses) return btl::Start::kRefused;
    if (!copies) {
      read(data);
      return btl::Start::kDone;
    }
    ++operation.left;
    under_way.emplace_back(&operation, data);
    return btl::Start::kStarted;
  }
  // The sanitizer checks the read.
  void read(const iovec& piece) {
    const auto* first = static_cast<const char*>(piece.iov_base);
    copy_.assign(first, first + piece.iov_len);
  }

  std::unique_ptr<std::byte[]> room_;
  btl::SharedClaims theirs_;
  bool open_ = false;
  std::vector<char> copy_;
};

inline constexpr size_t kLarge = 140000;  // two chunks of a copy by both ends

/// The process under attack is made once, with a new pml for every input.
class Target {
 public:
  static constexpr int kRanks = 3;
  core::Process process;
  std::deque<HostileEndpoint> endpoints;
  std::vector<std::byte> large = std::vector<std::byte>(kLarge);

  Target() : job_(kRanks), boot_(job_.boot(0)) {
    for (const auto& [name, value] : {std::pair{"TERN_EAGER_LIMIT", "256"},
                                      {"TERN_TEST.sm_pull_limit", "700"},
                                      {"TERN_TEST.sm_both_limit", "500"},
                                      {"TERN_TEST.net_eager", "900"},
                                      {"TERN_TEST.net_put", "2000"},
                                      {"TERN_UNEXPECTED_LIMIT", "64k"},
                                      {"TERN_TRANSPORT", "self"}})  // the peers have no transport
      process.params.set(name, value);
    core::make_predefined_error_handlers(process);
    core::make_predefined_infos(process);
    core::make_predefined_types(process);
    core::make_predefined_ops(process);
    process.boot = boot_.get();
    process.world_size = kRanks;
    core::make_predefined_communicators(process);
    for (uint32_t rank = 0; rank < kRanks; ++rank)
      endpoints.emplace_back(process.peer(rank), rank == 2);
  }
  /// connect() registers the peers with the pml, as a transport does.
  void connect(pml::P2p& pml) {
    for (uint32_t rank = 1; rank < kRanks; ++rank) pml.engine.peers.contact(endpoints[rank]);
  }

 private:
  boot::FakeJob job_;
  std::unique_ptr<boot::Boot> boot_;
};

class FrameProgram {
 public:
  FrameProgram(Target& target, Bytes bytes) : target_(target), bytes_(bytes) {
    for (uint32_t rank = 1; rank < Target::kRanks; ++rank) {
      HostileEndpoint& endpoint = target_.endpoints[rank];
      endpoint.full = endpoint.refuses = false, endpoint.copies = true, endpoint.copy_error = 0;
    }
    pml_ = std::make_unique<pml::P2p>(target_.process.channel(0));
    target_.connect(*pml_);
    pml_->add_context(*world_);
  }
  ~FrameProgram() {
    for (core::Request* request : requests_) request->release();
    for (HostileEndpoint& endpoint : target_.endpoints) endpoint.under_way.clear();
    pml_->remove_context(*world_);
    pml_.reset();
    world_->pending = 0;
  }

  void run() {
    constexpr int kMostSteps = 64;
    for (int step = 0; step < kMostSteps && !bytes_.empty(); ++step) this->step();
  }

 private:
  void step() {
    switch (const auto what = bytes_.take<uint8_t>(); what % 16) {
      case 0:
        return receive();
      case 1:
        return send();
      case 2:
        return settle();
      case 3:
        return probe();
      case 4:
        peer_state();
        break;
      case 5:
        if (!requests_.empty()) requests_[what / 16u % requests_.size()]->cancel();
        break;
      case 6:
        scribble();
        target_.endpoints[2].end_one(pml_->engine);
        break;
      case 7:
        static_cast<void>(target_.process.channel(0).progress.poll());
        break;
      default:
        frame();
    }
  }
  size_t size() {
    static constexpr size_t kSizes[] = {0, 1, 48, 200, 256, 257, 600, 3000, 5000, kLarge};
    return kSizes[bytes_.take<uint8_t>() % std::size(kSizes)];
  }
  pml::Buffer buffer() {
    const size_t bytes = size();
    std::byte* memory = target_.large.data();
    if (bytes != target_.large.size()) {
      memory_.emplace_back(new std::byte[bytes]);
      memory = memory_.back().get();
    }
    return {memory, static_cast<MPI_Count>(bytes),
            &core::predefined_type(target_.process, MPI_BYTE)};
  }
  pml::Envelope envelope(bool wild) {
    const auto word = bytes_.take<uint8_t>();
    const int rank = wild && (word & 0x40) != 0 ? MPI_ANY_SOURCE : 1 + word % 2;
    const int tag = wild && (word & 0x80) != 0 ? MPI_ANY_TAG : word / 2 % 4;
    return {world_, rank, tag, pml::Plane::kUser};
  }
  void keep(int error, core::Request* request) {
    TERN_ASSERT(error == MPI_SUCCESS);
    if (request->done())
      request->release();
    else
      requests_.push_back(request);
  }
  void receive() {
    core::Request* request = nullptr;
    const pml::Envelope from = envelope(true);
    const int error = pml_->irecv(buffer(), from, &request);
    keep(error, request);
  }
  void send() {
    core::Request* request = nullptr;
    const pml::Envelope to = envelope(false);
    const auto mode =
        bytes_.take<uint8_t>() % 2 == 0 ? pml::Mode::kStandard : pml::Mode::kSynchronous;
    const int error = pml_->isend(buffer(), to, mode, &request);
    keep(error, request);
  }
  // settle() removes completed requests and checks the results.
  void settle() {
    for (size_t i = 0; i < requests_.size();) {
      core::Request* request = requests_[i];
      if (!request->done()) {
        ++i;
        continue;
      }
      TERN_ASSERT(request->outcome.error < MPI_ERR_LASTCODE && request->outcome.bytes >= 0);
      TERN_ASSERT(request->outcome.source < Target::kRanks);
      request->release();
      requests_[i] = requests_.back();
      requests_.pop_back();
    }
  }
  void probe() {
    bool found = false;
    core::Outcome outcome;
    TERN_ASSERT(pml_->iprobe(envelope(true), &found, &outcome) == MPI_SUCCESS);
    if (found) TERN_ASSERT(outcome.source >= 0 && outcome.source < Target::kRanks);
  }
  void peer_state() {
    const auto word = bytes_.take<uint8_t>();
    HostileEndpoint& endpoint = target_.endpoints[1 + word % 2];
    endpoint.full = (word & 2) != 0;
    endpoint.copies = (word & 4) != 0;
    endpoint.refuses = (word & 16) != 0;
    endpoint.copy_error = (word & 8) != 0 ? word : 0;
  }
  void scribble() {
    btl::SharedClaims& claims = target_.endpoints[1].claims;
    claims.taken = bytes_.take<uint64_t>();
    claims.finished = bytes_.take<uint32_t>();
    claims.failed = bytes_.take<uint8_t>();
  }
  // A frame has any header; the payload begins with a request's name if the flags require.
  void frame() {
    const auto flags = bytes_.take<uint8_t>();
    btl::Header header{};
    header.kind = bytes_.take<uint8_t>();
    header.context =
        (flags & 1) != 0 ? bytes_.take<uint32_t>() : pml::wire::context_word(world_->index(), 0);
    header.tag = (flags & 2) != 0 ? bytes_.take<int32_t>() : bytes_.take<uint8_t>() % 4;
    header.source = (flags & 4) != 0 ? bytes_.take<uint32_t>() : 1u + (flags >> 7);
    header.bytes = bytes_.take<uint8_t>();
    if ((flags & 8) != 0) header.bytes = static_cast<uint16_t>(header.bytes * 16);
    std::vector<std::byte> payload = bytes_.block(header.bytes);
    if ((flags & 16) != 0 && !requests_.empty() && payload.size() >= sizeof(uint64_t)) {
      const uint64_t name = requests_[(flags >> 5) % requests_.size()]->handle();
      std::memcpy(payload.data(), &name, sizeof name);
    }
    pml_->engine.arrived(target_.endpoints[1u + (flags >> 7)],
                         {header, payload.data(), payload.size()});
  }

  Target& target_;
  Bytes bytes_;
  core::Communicator* world_ = target_.process.world;
  std::unique_ptr<pml::P2p> pml_;
  std::vector<core::Request*> requests_;
  std::deque<std::unique_ptr<std::byte[]>> memory_;
};

inline void drive_frames(const uint8_t* data, size_t size) {
  static auto* target = new Target;
  FrameProgram(*target, Bytes(data, size)).run();
}

}  // namespace tern::fuzz
