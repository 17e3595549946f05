// SPDX-License-Identifier: Apache-2.0
// Outbox: queues of outgoing frames.
#include "pml/outbox.hpp"

#include <cstring>
#include <utility>

#include "base/clock.hpp"
#include "core/channel.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "pml/prefix.hpp"

namespace tern::pml {
namespace {

constexpr int64_t kLookUs = 1000;

}  // namespace

Outbox::Outbox(core::Channel& channel)
    : channel_(channel), signs_(channel.process.params.checks("types")) {
  constexpr int kMadeBefore = 32;
  for (int i = 0; i < kMadeBefore; ++i) give_back(&controls_.emplace_back());
}

// The process ends if neither memory nor a spare control message is left (base/last_words.hpp).
PeerState::Control& Outbox::take_control() noexcept {
  if (spare_ != nullptr) return *std::exchange(spare_, spare_->next);
  return controls_.emplace_back();
}

void Outbox::give_back(PeerState::Control* control) noexcept {
  control->next = spare_;
  spare_ = control;
}

void Outbox::send_control(PeerState& peer, uint8_t kind, const void* payload,
                          size_t bytes) noexcept {
  const btl::Header header{0, kind, static_cast<uint16_t>(bytes), 0, 0, 0};
  if (peer.first_control == nullptr && peer.endpoint->send(header, payload)) return;
  PeerState::Control& control = take_control();
  control.next = nullptr;
  control.header = header;
  std::memcpy(control.payload, payload, bytes);
  (peer.first_control == nullptr ? peer.first_control : peer.last_control->next) = &control;
  peer.last_control = &control;
  list(peer);
}

inline Outbox::Names Outbox::names_for(const SendRequest& request) const noexcept {
  return {request.communicator->remote_index(request.to.rank),
          signs_ && request.to.plane == Plane::kUser};
}

inline std::byte* Outbox::write(const Names& names, const SendRequest& request, size_t bytes,
                                std::byte* room, btl::Header* header) noexcept {
  PrefixWriter writer(room);
  uint8_t flags = 0;
  if (names.index == 0) {
    const core::ContextId id = request.communicator->id();
    writer.put(wire::LongContext{id.creator, id.counter});
    flags |= wire::kLong;
  }
  if (names.is_signed) {
    writer.put(signature_of(request.buffer));
    flags |= wire::kSigned;
  }
  *header = header_for(request.to, flags, names.index, bytes);
  return writer.next();
}

std::byte* Outbox::begin_frame(const SendRequest& request, size_t bytes,
                               btl::Header* header) noexcept {
  const Names names = names_for(request);
  bytes += (names.index == 0 ? sizeof(wire::LongContext) : 0) +
           (names.is_signed ? sizeof(wire::TypeSignature) : 0);
  std::byte* const room = request.peer->endpoint->begin(bytes);
  return room == nullptr ? nullptr : write(names, request, bytes, room, header);
}

std::byte* Outbox::write_names(const SendRequest& request, std::byte* room,
                               btl::Header* header) const noexcept {
  return write(names_for(request), request, 0, room, header);
}

void Outbox::enqueue(SendRequest& request) noexcept {
  PeerState& peer = *request.peer;
  (peer.last_waiting == nullptr ? peer.first_waiting : peer.last_waiting->next_waiting) = &request;
  peer.last_waiting = &request;
  list(peer);
}

void Outbox::list(PeerState& peer) noexcept {
  if (peer.listed) return;
  peer.listed = true;
  peer.next_listed = first_listed_;
  first_listed_ = &peer;
}

bool Outbox::remove(SendRequest& request) noexcept {
  PeerState& peer = *request.peer;
  SendRequest* before = nullptr;
  for (SendRequest* at = peer.first_waiting; at != nullptr; before = at, at = at->next_waiting) {
    if (at != &request) continue;
    (before == nullptr ? peer.first_waiting : before->next_waiting) = at->next_waiting;
    if (peer.last_waiting == at) peer.last_waiting = before;
    return true;
  }
  return false;
}

void Outbox::drop(PeerState& peer) noexcept {
  while (peer.first_control != nullptr)
    give_back(std::exchange(peer.first_control, peer.first_control->next));
  peer.first_waiting = peer.last_waiting = nullptr;
}

int Outbox::progress() noexcept {
  int sent = 0;
  PeerState* peer = std::exchange(first_listed_, nullptr);
  while (peer != nullptr) {
    PeerState& one = *std::exchange(peer, peer->next_listed);
    one.listed = false;
    if (flush(one))
      ++sent;
    else
      list(one);
  }
  return sent;
}

void Outbox::wait_until_empty(int64_t most_ns) noexcept {
  const core::ChannelLock lock(channel_.progress);
  const bool is_limited = most_ns != INT64_MAX;
  const int64_t since = is_limited ? now_ns() : 0;
  const auto is_over = [&] {
    for (const PeerState* peer = first_listed_; peer != nullptr; peer = peer->next_listed)
      if (!peer->endpoint->gone()) return is_limited && now_ns() - since >= most_ns;
    return true;
  };
  const auto describe = [this](WaitReport* report) {
    report->words += "room for the remaining frames";
    for (const PeerState* peer = first_listed_; peer != nullptr; peer = peer->next_listed)
      core::report_wait_for(*peer->peer, report);
  };
  channel_.progress.wait(is_over, describe, is_limited ? kLookUs : INT64_MAX);
}

bool Outbox::flush(PeerState& peer) noexcept {
  while (peer.first_control != nullptr) {
    PeerState::Control* const control = peer.first_control;
    if (!peer.endpoint->send(control->header, control->payload)) return false;
    peer.first_control = control->next;
    give_back(control);
  }
  while (peer.first_waiting != nullptr) {
    SendRequest* request = peer.first_waiting;
    SendRequest* next = request->next_waiting;  // emit() may recycle the request
    if (!emitter_->emit(*request)) return false;
    peer.first_waiting = next;
    if (next == nullptr) peer.last_waiting = nullptr;
  }
  return true;
}

}  // namespace tern::pml
