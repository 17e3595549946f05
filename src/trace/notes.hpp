// SPDX-License-Identifier: Apache-2.0
// Notes: the recorder's fields in communicators and requests. Without a recorder the fields stay
// empty.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "trace/format.hpp"
#include "trace/numbers.hpp"

namespace tern::trace {

/// Waits that a rank can tell from its own calls.
enum class Waited : uint8_t { kSender, kReceiver, kLock };

/// A spinning lock: calls of several threads meet here for some nanoseconds.
class SpinLock {
 public:
  void lock() noexcept {
    while (taken_.exchange(true, std::memory_order_acquire)) {
    }
  }
  void unlock() noexcept { taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> taken_{false};
};

struct CommNotes {
  uint32_t number = 0;  // line "comm"
  uint32_t group = 0;   // line "group"
  std::atomic<uint64_t> collectives{0};
  SpinLock sending;
  MessageNumbers sent;      // under `sending`
  MessageNumbers received;  // under the channel's lock
};

/// The place of a communicator's notes. Threads: the maker holds a lock; readers none.
class CommNotesPlace {
 public:
  CommNotesPlace() = default;
  CommNotesPlace(const CommNotesPlace&) = delete;
  CommNotesPlace& operator=(const CommNotesPlace&) = delete;
  ~CommNotesPlace() { delete get(); }
  /// Null before the first recorded call.
  [[nodiscard]] CommNotes* get() const noexcept { return at_.load(std::memory_order_acquire); }
  void set(std::unique_ptr<CommNotes> made) noexcept {
    at_.store(made.release(), std::memory_order_release);
  }

 private:
  std::atomic<CommNotes*> at_{nullptr};
};

struct RequestNotes {
  uint32_t number = 0;  // Record::request; 0: not recorded
  RecordKind done = RecordKind::kCall;
  bool shared = false;       // a complete request shared by many sends
  bool partitioned = false;  // matches apart from other messages
  uint32_t comm = 0, group = 0;
  int32_t peer = kNoPeer, tag = -1;  // of a send or collective
  uint8_t flags = 0;
  int64_t bytes = -1;
  CommNotes* in = nullptr;  // of a persistent request
  uint64_t message = 0;     // number of the send, collective, or matched message
  // Receives: arrival at an earlier receive; 0: before the receive. Sends with kRendezvous: the
  // match by the receiver.
  int64_t matched_ns = 0;
  int64_t transfer_ns = 0;  // of a large receive: the match
};

/// Fills the fields of a start or completion.
inline void fill(Record* record, const RequestNotes& notes) noexcept {
  record->flags = notes.flags;
  record->peer = notes.peer;
  record->tag = notes.tag;
  record->comm = notes.comm;
  record->group = notes.group;
  record->bytes = notes.bytes;
  record->request = notes.number;
  record->number = notes.message;
}

}  // namespace tern::trace
