// SPDX-License-Identifier: Apache-2.0
// OfiEndpoint: frames as messages.
#include "btl/ofi/endpoint.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "core/peer.hpp"

namespace tern::btl::ofi {

OfiEndpoint::OfiEndpoint(core::Process& process, Port& port, Sink& sink,
                         const Destination& leads_to, bool maps, const std::string& address,
                         bool has_rdma, const Origin& own)
    : NetEndpoint(sink, leads_to,
                  {.maps = maps,
                   .zero_copy = port.zero_copy_bytes == 0 ? nullptr : this,
                   .rdma = has_rdma ? this : nullptr},
                  own),
      ZeroCopy(port.zero_copy_bytes),
      Rdma(port.transfers().offloaded()),
      process_(process),
      port_(port),
      address_(address),
      reason_(strf(
          "libfabric: %s over %s%s", port.fabric->provider().c_str(), port.fabric->domain(),
          process.explain.on() ? net::facts_in_words(process.params, port.fabric->served()).c_str()
                               : "")),
      to_(port.insert(address)) {}

bool OfiEndpoint::begun(ssize_t result) noexcept {
  refused_ = result == -FI_EAGAIN;
  if (TERN_UNLIKELY(refused_)) return false;
  if (TERN_UNLIKELY(result != 0)) {
    fail(port_.fi.fi_strerror(static_cast<int>(-result)));
    return true;
  }
  note_moved();
  return true;
}

bool OfiEndpoint::send(const Header& header, const void* payload) noexcept {
  if (TERN_UNLIKELY(fate.dead_locked())) return true;
  const size_t bytes = sizeof(WireHead) + header.bytes;
  constexpr size_t kMostInjected = 1024;
  if (waiting_ == nullptr && bytes <= std::min(port_.inject_bytes(), kMostInjected)) {
    std::byte frame[kMostInjected];
    const WireHead head = head_for(header);
    std::memcpy(frame, &head, sizeof head);
    if (header.bytes != 0) std::memcpy(frame + sizeof head, payload, header.bytes);
    if (!begun(::fi_inject(port_.ep(), frame, bytes, to_))) return false;
    count_sent();
    return true;
  }
  std::byte* const room = begin(header.bytes);
  if (room == nullptr) return false;
  if (header.bytes != 0) std::memcpy(room, payload, header.bytes);
  commit(header);
  return true;
}

// One frame may wait for space in libfabric's queue, because commit() cannot fail.
std::byte* OfiEndpoint::begin(size_t /*bytes*/) noexcept {
  if (waiting_ != nullptr) return nullptr;
  FrameBuffer* const block = port_.blocks.take();
  if (block == nullptr) return nullptr;
  filling_ = port_.sendings.take();
  if (filling_ == nullptr) {
    port_.blocks.give_back(*block);
    return nullptr;
  }
  filling_->block = block;
  filling_->endpoint = this;
  filling_->operation = nullptr;
  return block->payload;
}

void OfiEndpoint::commit(const Header& header) noexcept {
  Sending& sending = *filling_;
  filling_ = nullptr;
  if (TERN_UNLIKELY(fate.dead_locked())) return let_go(sending);
  *sending.block->head = head_for(header);
  sending.bytes = header.bytes;
  count_sent();
  if (post(sending)) return;
  waiting_ = &sending;
  port_.stalled.push_back(this);
}

bool OfiEndpoint::post(Sending& sending) noexcept {
  sending.of = CompletionContext::Of::kSending;
  const ssize_t result =
      ::fi_send(port_.ep(), sending.block->head, sizeof(WireHead) + sending.bytes,
                port_.transfers().blocks_key, to_, static_cast<CompletionContext*>(&sending));
  if (!begun(result)) return false;
  if (result == 0)
    ++under_way_;
  else
    let_go(sending);
  return true;
}

bool OfiEndpoint::send_waiting() noexcept {
  if (waiting_ == nullptr) return true;
  Sending& sending = *waiting_;
  if (fate.dead_locked())
    let_go(sending);
  else if (!post(sending))
    return false;
  waiting_ = nullptr;
  return true;
}

Start OfiEndpoint::start_send(const Header& header, const iovec& prefix, const iovec& data,
                              Operation& operation) noexcept {
  if (TERN_UNLIKELY(fate.dead_locked())) return Start::kDone;
  if (waiting_ != nullptr) return Start::kNoRoom;
  Sending* const sending = port_.sendings.take();
  if (sending == nullptr) return Start::kNoRoom;
  const WireHead head = head_for(header);
  std::memcpy(sending->front.data(), &head, sizeof head);
  if (prefix.iov_len != 0)
    std::memcpy(sending->front.data() + sizeof head, prefix.iov_base, prefix.iov_len);
  sending->of = CompletionContext::Of::kSending;
  sending->block = nullptr;
  sending->endpoint = this;
  sending->operation = &operation;
  const iovec parts[] = {{sending->front.data(), sizeof head + prefix.iov_len}, data};
  const ssize_t result = ::fi_sendv(port_.ep(), parts, nullptr, data.iov_len == 0 ? 1 : 2, to_,
                                    static_cast<CompletionContext*>(sending));
  if (result != 0) port_.sendings.give_back(*sending);
  if (!begun(result)) return Start::kNoRoom;
  if (result != 0) return Start::kDone;
  count_sent();
  ++under_way_;
  ++operation.left;
  return Start::kStarted;
}

void OfiEndpoint::let_go(Sending& sending) noexcept {
  if (sending.block != nullptr) port_.blocks.give_back(*sending.block);
  port_.sendings.give_back(sending);
}

void OfiEndpoint::ended(Sending& sending, int error) noexcept {
  Operation* const operation = sending.operation;
  --under_way_;
  note_moved();
  let_go(sending);
  if (TERN_UNLIKELY(error != 0)) fail(port_.fi.fi_strerror(error));
  if (operation != nullptr && !port_.sink_gone && --operation->left == 0) sink_.done(*operation);
}

void OfiEndpoint::fail(const std::string& why) noexcept {
  if (fate.end(failure(MPI_ERR_PROC_ABORTED, "%s", why.c_str()))) port_.has_failures = true;
}

// The kernel accepts connections to a process that computes or is stopped.
const char* OfiEndpoint::lost_by(int64_t silent_ns, int64_t timeout_ns) noexcept {
  constexpr int64_t kAttempts = 4, kMostNs = 3'000'000'000;
  if (!port_.fabric->is_sockets()) return nullptr;
  if (port_.sockets.is_silent(address_) && !port_.sockets.answers(address_))
    return "its host does not answer; TERN_NET_TIMEOUT sets the limit";
  if (is_waiting() && probe_refused_ && has_met() &&
      silent_ns >= std::min(timeout_ns / kAttempts, kMostNs))
    return "the connection has ended, and the peer accepts no new connection";
  return nullptr;
}

void OfiEndpoint::probe() noexcept {
  if (is_waiting() && (!refused_ || waiting_ != nullptr)) return;
  const WireHead head = head_for({net::kProbe, 0, 0, 0, 0, 0});
  if (!port_.fabric->is_sockets()) return probe_with_completion(head);
  if (sizeof head > port_.inject_bytes()) return;
  const bool went = begun(::fi_inject(port_.ep(), &head, sizeof head, to_));
  probe_refused_ = !went;
  if (went) forget_move();
}

// An adapter's completion is the acknowledgement of the peer's adapter.
void OfiEndpoint::probe_with_completion(const WireHead& head) noexcept {
  if (begin(0) == nullptr) return;
  Sending& sending = *filling_;
  filling_ = nullptr;
  *sending.block->head = head;
  sending.bytes = 0;
  if (!post(sending)) let_go(sending);
  forget_move();
}

}  // namespace tern::btl::ofi
