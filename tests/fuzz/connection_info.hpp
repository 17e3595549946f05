// SPDX-License-Identifier: Apache-2.0
// drive_connection_info: bytes as a program: a peer's connection info with changed bytes, a peer
// that writes anywhere into both ranks' shared memory, and a rank that connects, sends and polls.
// Why: for any contents of shared memory, the rank reads and writes only inside. Shared by
// libFuzzer and tests/unit/btl/hostile_test.
#pragma once

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "boot/boot.hpp"
#include "btl/sm/segment.hpp"
#include "btl/sm/sm.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "tests/fuzz/bytes.hpp"

namespace tern::fuzz {

/// InfoBoot is rank 0 of two; the program supplies the peer's connection info.
class InfoBoot final : public boot::Boot {
 public:
  boot::ConnectionInfo info_of_peer{};
  bool aborted = false;

  InfoBoot() {
    job_.size = 2;
    job_.local_ranks = {0, 1};
  }
  const char* name() const noexcept override { return "fuzz"; }
  int node(int) override { return 0; }
  std::string host(int) override { return "here"; }
  void put_connection_info(const boot::ConnectionInfo&) override {}
  boot::ConnectionInfo connection_info(int rank) override {
    tern::boot::check_rank(*this, rank, "the connection info");
    return info_of_peer;
  }
  void put(std::string_view, std::string_view) override {}
  std::string get(int, std::string_view) override { return {}; }
  void start_fence() override {}
  bool fence_over() noexcept override { return true; }
  void abort(int, const char*) noexcept override { aborted = true; }
  void finalize() override {}
};

/// ReadingSink reads every payload completely.
class ReadingSink final : public btl::Sink {
 public:
  void arrived(btl::Endpoint&, const btl::Frame& frame) noexcept override {
    copy_.assign(frame.payload, frame.payload + frame.header.bytes);
  }

 private:
  std::vector<std::byte> copy_;
};

/// The hostile peer is a process with the open file, and memory in a valid state.
class InfoPeer {
 public:
  static constexpr btl::sm::Shape kShape{1, 2, 64, 4};
  static constexpr size_t kInteresting = 24 * 1024;  // all but the pool's blocks

  InfoPeer() : segment_(btl::sm::Segment::create(kShape, 1)) {
    holder_ = ::fork();
    if (holder_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) ::pause();
    }
    fresh_.assign(memory(), memory() + kInteresting);
  }
  ~InfoPeer() {
    ::kill(holder_, SIGKILL);
    ::waitpid(holder_, nullptr, 0);
  }
  InfoPeer(const InfoPeer&) = delete;
  InfoPeer& operator=(const InfoPeer&) = delete;
  [[nodiscard]] std::byte* memory() const { return segment_.base(); }
  void reset() const { std::memcpy(memory(), fresh_.data(), fresh_.size()); }

  [[nodiscard]] btl::sm::SmAddress address(ino_t inode) const {
    btl::sm::SmAddress address = segment_.address();
    address.pid = holder_;
    address.inode = inode;
    return address;
  }
  [[nodiscard]] static btl::ConnectionInfo connection_info(const btl::sm::SmAddress& address) {
    btl::ConnectionInfo info{};
    info.wire_version = btl::kWireVersion;
    info.channels = kShape.channels;
    (void)info.add("sm", 0, {reinterpret_cast<const char*>(&address), sizeof address});
    return info;
  }
  [[nodiscard]] const Fd& fd() const { return segment_.fd(); }
  [[nodiscard]] pid_t holder() const { return holder_; }

 private:
  btl::sm::Segment segment_;
  std::vector<std::byte> fresh_;
  pid_t holder_ = -1;
};

class InfoProgram {
 public:
  InfoProgram(core::Process& process, InfoBoot& boot, const InfoPeer& peer, Bytes bytes)
      : boot_(boot),
        peer_(peer),
        bytes_(bytes),
        rank_(process.peer(1)),
        book_(process),
        sm_(process, sink_, book_) {
    peer_.reset();
    own_ = sm_.segment().base();
    boot_.aborted = false;
    make_info();
  }
  void run() {
    constexpr int kMostSteps = 64;
    for (int step = 0; step < kMostSteps && !bytes_.empty(); ++step) this->step();
  }

 private:
  // make_info() changes some bytes of the valid connection info, but never names another process of
  // this machine.
  void make_info() {
    struct stat status {};
    TERN_ASSERT(::fstat(peer_.fd().get(), &status) == 0);
    btl::sm::SmAddress address = peer_.address(status.st_ino);
    change(address, sizeof address);
    if (address.pid != peer_.holder() && address.pid > 0) address.pid = ::getpid();
    btl::ConnectionInfo info = InfoPeer::connection_info(address);
    constexpr size_t kBeforeAddress =
        offsetof(btl::ConnectionInfo, addresses) + sizeof(btl::ConnectionInfo::Head);
    change(info, kBeforeAddress);
    std::memcpy(boot_.info_of_peer.data(), &info, sizeof info);
  }
  template <class T>
  void change(T& value, size_t first) {
    uint8_t image[sizeof value];
    std::memcpy(image, &value, sizeof value);
    for (int flips = bytes_.take<uint8_t>() % 4; flips > 0; --flips) {
      const auto place = bytes_.take<uint8_t>();
      image[place % first] = bytes_.take<uint8_t>();
    }
    std::memcpy(&value, image, sizeof value);
  }
  void step() {
    switch (bytes_.take<uint8_t>() % 8) {
      case 0:
        return connect();
      case 1:
        return send();
      case 2:
        return scribble(peer_.memory());
      case 3:
        return scribble(own_);
      case 4:
        return frame();
      case 5:
        return look();
      default:
        static_cast<void>(sm_.progress());
    }
  }
  void connect() {
    try {
      if (endpoint_ == nullptr) endpoint_ = sm_.connect(rank_, 0);
    } catch (const Error&) {
    }
  }
  void send() {
    if (endpoint_ == nullptr) return;
    const auto size = static_cast<size_t>(bytes_.take<uint16_t>()) % btl::sm::kBlockBytes;
    const std::vector<std::byte> payload(size);
    btl::Header header{};
    header.kind = 1;
    header.bytes = static_cast<uint16_t>(size);
    static_cast<void>(endpoint_->send(header, payload.data()));
  }
  void scribble(std::byte* memory) {
    const auto place = bytes_.take<uint16_t>() % (InfoPeer::kInteresting - sizeof(uint64_t));
    const auto block = bytes_.block(bytes_.take<uint8_t>() % 9);
    if (!block.empty()) std::memcpy(memory + place, block.data(), block.size());
  }
  // A frame plays a sender: an owned ring, and a header in one of its cache lines.
  void frame() {
    const btl::sm::Segment& segment = sm_.segment();
    const auto ring = bytes_.take<uint8_t>() % 2u;
    const auto writer = bytes_.take<uint8_t>();
    segment.control(ring).owner = btl::sm::RingControl::name(0, writer % 3u, writer >> 7);
    segment.head().claimed[0].rings = bytes_.take<uint8_t>() % 4u;
    const auto line = bytes_.take<uint16_t>() % segment.shape().ring_lines;
    auto header = bytes_.take<btl::Header>();
    if ((header.mark & 0x80) != 0) header.mark = 1;
    std::memcpy(segment.ring(ring)[line].bytes, &header, sizeof header);
  }
  void look() {
    btl::Frame frame;
    if (endpoint_ == nullptr || !endpoint_->caps.queue->peek(&frame)) return;
    sink_.arrived(*endpoint_, frame);
    endpoint_->caps.queue->pop();
  }

  InfoBoot& boot_;
  const InfoPeer& peer_;
  Bytes bytes_;
  core::Peer& rank_;
  ReadingSink sink_;
  btl::AddressBook book_;
  btl::sm::Sm sm_;
  std::byte* own_ = nullptr;
  btl::Endpoint* endpoint_ = nullptr;
};

inline void drive_connection_info(const uint8_t* data, size_t size) {
  struct Fixture {
    core::Process process;
    InfoBoot boot;
    InfoPeer peer;
  };
  static auto* fixture = [] {
    auto* made = new Fixture;
    made->process.boot = &made->boot;
    made->process.world_size = made->process.node.ranks = 2;
    made->process.params.set("TERN_TEST.sm_ring", "4k");
    made->process.params.set("TERN_SM_POOL", "1m");
    return made;
  }();
  InfoProgram(fixture->process, fixture->boot, fixture->peer, Bytes(data, size)).run();
}

}  // namespace tern::fuzz
