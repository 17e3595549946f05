// SPDX-License-Identifier: Apache-2.0
// Protocol: one method of moving the data of a large message.
//
// Choice. The sender walks the table (table.cc): the first viable protocol that makes a sender half
// puts an offer in the RTS. After matching, the receiver walks the table with that offer. Any
// receiver may request an `always` protocol, even after another protocol failed.
//
// Halves. A half is the state of one message at one end. Each call returns a Step, and Transfers
// acts on the step. Transfers deletes halves only between calls. A half returns kAgain while
// transport operations are outstanding; the destructor keeps memory until the operations end. A
// receive that fails ends after its half's operations (has_operations()).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "btl/device.hpp"
#include "pml/wire.hpp"

namespace tern::core {
struct Channel;
class Process;
}  // namespace tern::core
namespace tern::pml {

class NamedData;
class Outbox;
class RequestPool;
struct Limits;
struct Protocol;
struct RecvRequest;
struct SendRequest;

enum class HalfStep : uint8_t {
  kWait,   // wait for a frame of the other end
  kAgain,  // poll in the next round
  kMoved,  // as kAgain, with data moved
  kDone,
  kFailed,
  kOther,
};

struct ProtocolContext {
  core::Channel& channel;
  core::Process& process;
  const Limits& limits;
  btl::Devices& devices;
  Outbox& outbox;
  RequestPool& requests;
  bool told_copy_failed = false;
};

/// An Announcement is the offer in an RTS (wire::Rts).
struct Announcement {
  uint64_t address = 0;
  uint32_t claims = 0;
  uint16_t staged = 0;
  std::span<const std::byte> key;
  const btl::MemoryHandle* handle = nullptr;
  const wire::DevicePieces* pieces = nullptr;  // follow the handle; may be null
};

struct Announced {
  const wire::Rts& rts;
  const NamedData& named;
};

class Half {
 public:
  virtual ~Half() = default;
  /// Called in each round of progress after kAgain or kMoved.
  [[nodiscard]] virtual HalfStep advance() noexcept { return HalfStep::kWait; }
  Failure failure;
};

class SenderHalf : public Half {
 public:
  virtual void announce(Announcement* /*out*/) const noexcept {}
  [[nodiscard]] virtual bool accepts(const wire::Go& /*go*/) const noexcept { return false; }
  virtual void learn_key(std::span<const std::byte> /*key*/) noexcept {}
  /// Called when the receiver has chosen this protocol.
  [[nodiscard]] virtual HalfStep begin(const wire::Go& /*go*/) noexcept { return HalfStep::kWait; }
  /// Whether the receiver may still switch to an `always` protocol.
  [[nodiscard]] virtual bool may_be_replaced() const noexcept { return false; }
  virtual void refused() noexcept {}
  /// The refused half is kept, because the destructor waits for a pack, possibly behind a user's
  /// stream.
  void stand_for(std::unique_ptr<SenderHalf> refused) noexcept { refused_ = std::move(refused); }
  /// Returns kFailed if the received data is invalid.
  [[nodiscard]] virtual HalfStep acknowledged() noexcept { return HalfStep::kDone; }

 private:
  std::unique_ptr<SenderHalf> refused_;
};

class ReceiverHalf : public Half {
 public:
  [[nodiscard]] virtual HalfStep begin() noexcept = 0;
  /// takes_data() tells whether the receiver's half takes wire::kData frames.
  [[nodiscard]] virtual bool takes_data() const noexcept { return false; }
  [[nodiscard]] virtual HalfStep take(const std::byte* /*data*/, size_t /*bytes*/) noexcept {
    return HalfStep::kWait;
  }
  /// Called when all puts have landed, only if awaits_landing().
  [[nodiscard]] virtual HalfStep landed() noexcept { return HalfStep::kWait; }
  [[nodiscard]] virtual bool awaits_landing() const noexcept { return false; }
  [[nodiscard]] virtual bool depends_on_sender() const noexcept {
    return takes_data() || awaits_landing();
  }
  /// Whether the transport may still write the receiver's memory.
  [[nodiscard]] virtual bool has_operations() const noexcept { return false; }
};

/// The next row of the table is tried if a Protocol's function throws std::bad_alloc.
struct Protocol {
  const char* name;
  wire::Way way;  // in a CTS
  bool always;
  bool acknowledged;
  bool (*viable_to_send)(const ProtocolContext& context, const SendRequest& request);
  /// send() returns null if the protocol is not viable. Half::failure means unreadable data.
  std::unique_ptr<SenderHalf> (*send)(ProtocolContext& context, SendRequest& request);
  bool (*viable_to_receive)(const ProtocolContext& context, const RecvRequest& request,
                            const Announced& announced);
  std::unique_ptr<ReceiverHalf> (*receive)(ProtocolContext& context, RecvRequest& request,
                                           const Announced& announced);
};

/// A table is in order of preference. The last protocol is viable for every receiver.
using ProtocolTable = std::span<const Protocol* const>;
[[nodiscard]] ProtocolTable protocols() noexcept;

void send_go(ProtocolContext& context, RecvRequest& request, wire::Way way, uint64_t address = 0,
             std::span<const std::byte> key = {}) noexcept;

}  // namespace tern::pml
