// SPDX-License-Identifier: Apache-2.0
// NetEndpoint: base of the endpoints between hosts; delivers frames in order, and notices a lost
// host.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/fate.hpp"
#include "btl/net/wire.hpp"

namespace tern::btl::net {

class NetEndpoint : public Endpoint {
 public:
  NetEndpoint(Sink& sink, const Destination& leads_to, const Caps& can, const Origin& own)
      : Endpoint(leads_to, can), sink_(sink), own_(own) {}

  Fate fate;

  void give_up(const std::string& why) noexcept final { fail(why); }
  /// arrive() returns false if the sequence number is invalid.
  [[nodiscard]] bool arrive(const WireHead& head, std::span<const std::byte> payload);
  /// has_lost_frame() is true if the next frame has been missing for `timeout_ns`, because
  /// reconnecting loses frames. Transports call it several times per timeout.
  [[nodiscard]] bool has_lost_frame(int64_t now_ns, int64_t timeout_ns) noexcept;
  /// look_after() probes a silent peer, and fails the endpoint if work waits for `timeout_ns`
  /// without a sign of the peer's host. `now_ns` may stand still between looks.
  void look_after(int64_t now_ns, int64_t timeout_ns) noexcept;
  /// say_bye() returns true once both ends have said bye, or the peer is lost, or no frame was ever
  /// sent. The caller repeats the call after progress.
  [[nodiscard]] bool say_bye() noexcept;
  [[nodiscard]] bool heard_bye() const noexcept { return heard_byes_ > 0; }
  [[nodiscard]] bool has_arrivals() const noexcept { return arrivals_ != 0; }

 protected:
  /// Whether the host owes a sign: the end of a send, or the answer to a probe.
  [[nodiscard]] virtual bool is_waiting() const noexcept = 0;
  /// probe() asks for a sign, once while is_waiting(): a kProbe frame, or the library's way.
  virtual void probe() noexcept = 0;
  /// The reason of a loss that the transport sees by itself, or nullptr.
  [[nodiscard]] virtual const char* lost_by(int64_t /*silent_ns*/,
                                            int64_t /*timeout_ns*/) noexcept {
    return nullptr;
  }
  [[nodiscard]] virtual bool host_answers() const noexcept { return false; }
  virtual void fail(const std::string& why) noexcept = 0;
  /// A put or get to a lost peer.
  [[nodiscard]] static Start lost(Operation& operation) noexcept {
    operation.failed = true;
    return Start::kDone;
  }
  void note_moved() noexcept { ++moved_; }
  void forget_move() noexcept { seen_moved_ = moved_; }
  [[nodiscard]] bool has_met() const noexcept { return seen_moved_ != 0 || seen_arrivals_ != 0; }
  /// The caller calls count_sent() after sending.
  [[nodiscard]] WireHead head_for(const Header& header) const noexcept {
    WireHead head{header, own_};
    head.origin.sequence = next_sent_;
    return head;
  }
  void count_sent() noexcept {
    ++next_sent_;
    talked_ = true;
  }
  [[nodiscard]] bool lacks_frame() const noexcept { return probe_is_ahead_ || !early_.empty(); }
  [[nodiscard]] uint32_t arrivals() const noexcept { return arrivals_; }

  Sink& sink_;

 private:
  struct Early {
    WireHead head;
    std::vector<std::byte> payload;
  };
  static constexpr uint16_t kMostEarly = 1024;
  void hand_on_early();
  void hand_on(const Header& header, std::span<const std::byte> payload);
  void note_probe(uint16_t number) noexcept {
    const auto ahead = static_cast<uint16_t>(number - next_taken_);
    probed_ = number;
    probe_is_ahead_ = ahead != 0 && ahead <= kMostEarly;
  }

  const Origin own_;
  uint16_t next_sent_ = 0, next_taken_ = 0;
  bool probe_is_ahead_ = false;
  uint16_t probed_ = 0;
  uint16_t lacked_ = 0;
  int64_t lacked_since_ns_ = 0;
  uint32_t arrivals_ = 0;
  uint32_t moved_ = 0;  // modulo 2^32
  uint32_t seen_moved_ = 0, seen_arrivals_ = 0;
  int64_t since_ns_ = 0;
  bool waited_ = false;
  bool talked_ = false;
  int said_byes_ = 0, heard_byes_ = 0;
  std::map<uint16_t, Early> early_;
};

}  // namespace tern::btl::net
