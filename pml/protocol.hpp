// SPDX-License-Identifier: Apache-2.0
// Protocol: one way for the data of a large message, from its announcement to the last byte.
//
// Choice. Before the announcement the sender goes down the table (table.cc): the first protocol
// that is viable and gives a sender half has its offer announced. When the message is matched the
// receiver goes down the same table with what was announced: the first that is viable and gives a
// receiver half moves the data. A protocol that needs no offer (`always`) may be asked for by every
// receiver, also when another one has failed half way.
//
// Halves. A half is the state of one message at one end, between that choice and the end of the
// request. It never ends its request: each call returns a Step, and Transfers does what follows
// (asks again in progress, finishes, tells the other end, begins with another protocol). So
// a request fails late in one place, and a half may be deleted only between two calls.
//
// Completion. Operations of a transport that completes late belong to the half: it returns kAgain
// while any is outstanding, and its destructor is the place that keeps memory until they are over.
//
// Threads: under the channel's lock. To add one: a file with its two halves and its row, the row in
// table.cc. See: pml/README.md, tests/unit/pml/protocol_table_test.cc.
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

/// What follows a call of a half.
enum class Step : uint8_t {
  kWait,    // for a frame of the other end
  kAgain,   // ask again in the next round of progress
  kMoved,   // the same; something has moved
  kDone,    // this end of the message is done
  kFailed,  // this end cannot go on: Half::failure
  kOther,   // receivers: the data must come by another protocol, from the start
};

/// What the protocols of one channel share.
struct Context {
  core::Channel& channel;
  core::Process& process;
  const Limits& limits;
  btl::Devices& devices;
  Outbox& outbox;
  RequestPool& requests;
  bool told_copy_failed = false;
};

/// The contents of an announcement beside the message's size.
struct Announcement {
  uint64_t address = 0;  // as in wire::Rts, these three
  uint32_t claims = 0;
  uint32_t staged = 0;
  const btl::MemoryHandle* handle = nullptr;  // after it; null for none
  const wire::Pieces* pieces = nullptr;       // after the handle; null for none
};

/// The same as the receiver reads it.
struct Announced {
  const wire::Rts& rts;
  const NamedData& named;
};

class Half {
 public:
  virtual ~Half() = default;
  /// Moves what can be moved now. Called in each round of progress after kAgain and kMoved.
  [[nodiscard]] virtual Step advance() noexcept { return Step::kWait; }
  Failure failure;
};

class SenderHalf : public Half {
 public:
  /// Its offer, into the announcement.
  virtual void announce(Announcement* /*out*/) const noexcept {}
  /// Whether a go-ahead says what was offered. Not asked of protocols that need no offer.
  [[nodiscard]] virtual bool accepts(const wire::Go& /*go*/) const noexcept { return false; }
  /// What stood behind the go-ahead; before begin().
  virtual void learn_key(std::span<const std::byte> /*key*/) noexcept {}
  /// The receiver has chosen this protocol.
  [[nodiscard]] virtual Step begin(const wire::Go& /*go*/) noexcept { return Step::kWait; }
  /// Whether the receiver may still ask for a protocol that needs no offer, once it has chosen
  /// this.
  [[nodiscard]] virtual bool may_be_replaced() const noexcept { return false; }
  /// The receiver has chosen another protocol, or chooses one now.
  virtual void refused() noexcept {}
  /// Keeps the refused half until the end of this half. The destructor of the refused half waits
  /// for its pack, which may stand behind a stream of the program's.
  void stand_for(std::unique_ptr<SenderHalf> refused) noexcept { refused_ = std::move(refused); }
  /// The receiver is done: kDone, or kFailed where what it has is worth nothing.
  [[nodiscard]] virtual Step acknowledged() noexcept { return Step::kDone; }

 private:
  std::unique_ptr<SenderHalf> refused_;
};

class ReceiverHalf : public Half {
 public:
  /// Asks the sender for what it needs.
  [[nodiscard]] virtual Step begin() noexcept = 0;
  /// Whether the data comes as wire::kData.
  [[nodiscard]] virtual bool takes_data() const noexcept { return false; }
  /// The next bytes of the message.
  [[nodiscard]] virtual Step take(const std::byte* /*data*/, size_t /*bytes*/) noexcept {
    return Step::kWait;
  }
  /// The sender says that it has put everything. Only a half that waits for it goes on.
  [[nodiscard]] virtual Step landed() noexcept { return Step::kWait; }
  [[nodiscard]] virtual bool awaits_landing() const noexcept { return false; }
  /// Whether the sender may still say that the data will not come.
  [[nodiscard]] virtual bool depends_on_sender() const noexcept {
    return takes_data() || awaits_landing();
  }
};

/// A row of the table. The functions may throw std::bad_alloc: the next row is asked then.
struct Protocol {
  const char* name;
  wire::Way way;      // in a CTS; kNone where the receiver asks for nothing
  bool always;        // needs no offer; its sender half is made with the go-ahead
  bool acknowledged;  // the receiver tells when it has everything, and the send ends with that
  bool (*viable_to_send)(const Context& context, const SendRequest& request);
  /// Null where trying has shown that it is not viable. Half::failure: the data cannot be read.
  std::unique_ptr<SenderHalf> (*send)(Context& context, SendRequest& request);
  bool (*viable_to_receive)(const Context& context, const RecvRequest& request,
                            const Announced& announced);
  /// Null where trying has shown that it is not viable.
  std::unique_ptr<ReceiverHalf> (*receive)(Context& context, RecvRequest& request,
                                           const Announced& announced);
};

/// Of this build, in order of preference. The last one is viable for every receiver.
using ProtocolTable = std::span<const Protocol* const>;
[[nodiscard]] ProtocolTable protocols() noexcept;

/// The go-ahead for a way, to the sender.
void send_go(Context& context, RecvRequest& request, wire::Way way, uint64_t address = 0,
             std::span<const std::byte> key = {}) noexcept;

}  // namespace tern::pml
