// SPDX-License-Identifier: Apache-2.0
// Transfers: RTS, CTS, data, completion and failure of large messages.
#include "pml/p2p/transfers.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "base/log.hpp"
#include "core/channel.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"
#include "pml/prefix.hpp"
#include "trace/recorder.hpp"

namespace tern::pml {
namespace {

template <class Request>
Request* find(const ProtocolContext& context, uint64_t handle, const PeerState& peer) noexcept {
  auto* request = dynamic_cast<Request*>(context.process.handles.find<core::Request>(handle));
  return request != nullptr && request->peer == &peer ? request : nullptr;
}

TERN_COLD uint32_t spent_since(int64_t begin_ns) noexcept {
  const int64_t spent = (trace::now() - begin_ns) / wire::kSpentNs;
  return static_cast<uint32_t>(std::clamp<int64_t>(spent, 1, UINT32_MAX));
}

/// The receiver has matched the message `ago` ns before.
TERN_COLD void note_match(SendRequest& request, int64_t ago) noexcept {
  if (request.notes.matched_ns == 0) request.notes.matched_ns = trace::now() - ago;
}

TERN_COLD std::string out_of_memory(size_t bytes) noexcept {
  try {
    return strf("no memory for a message of %zu bytes", bytes);
  } catch (const std::bad_alloc&) {
    return "out of memory";  // the text fits without allocation
  }
}

}  // namespace

void send_go(ProtocolContext& context, RecvRequest& request, wire::Way way, uint64_t address,
             std::span<const std::byte> key) noexcept {
  const wire::Go go{
      request.transfer.partner, request.handle(), request.transfer.bytes, address, way, 0};
  if (key.empty()) return context.outbox.send_control(*request.peer, wire::kGo, go);
  std::array<std::byte, sizeof go + btl::MemoryRegion::kMostKey> frame;
  PrefixWriter(frame.data()).put(go);
  std::copy(key.begin(), key.end(), frame.begin() + sizeof go);
  context.outbox.send_control(*request.peer, wire::kGo, frame.data(), sizeof go + key.size());
}

int Transfers::prepare(SendRequest& request) noexcept {
  if (request.prepared) return MPI_SUCCESS;
  request.prepared = true;
  auto& transfer = request.transfer;
  try {
    for (const Protocol* protocol : table_) {
      if (protocol->always || !protocol->viable_to_send(context_, request)) continue;
      transfer.protocol = protocol;
      transfer.half = protocol->send(context_, request);
      if (transfer.half != nullptr) break;
    }
  } catch (const std::bad_alloc&) {
    set_error_text(request, out_of_memory(transfer.bytes));
    return MPI_ERR_NO_MEM;
  }
  if (transfer.half == nullptr) return MPI_SUCCESS;
  const Failure& failure = transfer.half->failure;
  if (TERN_UNLIKELY(failure.code != MPI_SUCCESS)) set_error_text(request, failure.text);
  return failure.code;
}

bool Transfers::announce(SendRequest& request) noexcept {
  Announcement offer;
  if (request.transfer.half != nullptr) request.transfer.half->announce(&offer);
  const size_t named = offer.key.size() + (offer.handle == nullptr ? 0 : sizeof *offer.handle) +
                       (offer.pieces == nullptr ? 0 : sizeof *offer.pieces);
  btl::Header header;
  std::byte* const room = context_.outbox.begin_frame(request, sizeof(wire::Rts) + named, &header);
  if (room == nullptr) return false;
  PrefixWriter writer(room);
  header.kind |= wire::kRts;
  request.awaits = SendRequest::Awaits::kGoOrDone;
  writer.put(wire::Rts{request.transfer.bytes, request.handle(), offer.address, offer.claims,
                       offer.staged, static_cast<uint16_t>(offer.key.size())});
  std::copy(offer.key.begin(), offer.key.end(), writer.next());
  if (offer.handle != nullptr) {
    writer.put(*offer.handle);
    header.kind |= wire::kWithHandle;
  }
  if (offer.pieces != nullptr) writer.put(*offer.pieces);
  request.peer->endpoint->commit(header);
  return true;
}

bool Transfers::announce_lost(SendRequest& request) noexcept {
  btl::Header header;
  std::byte* const room = context_.outbox.begin_frame(request, sizeof(wire::Rts), &header);
  if (room == nullptr) return false;
  const int lost = request.lost;
  PrefixWriter(room).put(
      wire::Rts{request.transfer.bytes, 0, static_cast<uint64_t>(lost), 0, 0, 0});
  header.kind |= wire::kRts;
  request.peer->endpoint->commit(header);
  context_.requests.finish(request, lost);
  return true;
}

void Transfers::receive(RecvRequest& request, const btl::Header& header,
                        const Announced& announced) noexcept {
  const wire::Rts& rts = announced.rts;
  core::Outcome& outcome = request.outcome;
  if (TERN_UNLIKELY(request.pends)) request.resume();
  if (trace::is_on()) request.notes.transfer_ns = trace::now();
  outcome.source = source_of(request.from, *request.peer, header);
  outcome.tag = header.tag;
  if (TERN_UNLIKELY(request.peer->fate.dead_locked()))
    return context_.requests.fail(request, request.peer->fate.reason());
  if (TERN_UNLIKELY(rts.sender == 0)) {
    const auto bytes = static_cast<unsigned long long>(rts.bytes);
    return context_.requests.fail(request,
                                  {wire::class_from(rts.address),
                                   strf("the message of %llu bytes from rank %d with tag %d is "
                                        "lost: the sender failed (see the error of that rank)",
                                        bytes, outcome.source, outcome.tag)});
  }
  const size_t room = request.buffer.bytes();
  auto& transfer = request.transfer;
  transfer = {};
  transfer.bytes = std::min<size_t>(rts.bytes, room);
  transfer.partner = rts.sender;
  transfer.remote_address = rts.address;
  outcome.bytes = static_cast<MPI_Count>(transfer.bytes);
  if (TERN_UNLIKELY(rts.bytes > room)) {
    outcome.error = MPI_ERR_TRUNCATE;
    set_error_text(request, truncation_text(request, rts.bytes, room));
  }
  context_.requests.mark_large(request);
  if (transfer.bytes == 0) return end(request, {});
  choose(request, announced, false);
}

// `always` restricts the choice to protocols without an offer.
void Transfers::choose(RecvRequest& request, const Announced& announced, bool always) noexcept {
  for (const Protocol* protocol : table_)
    if ((protocol->always || !always) && try_next(request, *protocol, announced)) return;
  const size_t bytes = request.transfer.bytes;
  end(request, {MPI_ERR_NO_MEM, out_of_memory(bytes)});
}

bool Transfers::try_next(RecvRequest& request, const Protocol& protocol,
                         const Announced& announced) noexcept {
  if (!protocol.viable_to_receive(context_, request, announced)) return false;
  auto& transfer = request.transfer;
  try {
    transfer.half = protocol.receive(context_, request, announced);
  } catch (const std::bad_alloc&) {
    return false;
  }
  if (transfer.half == nullptr) return false;
  transfer.protocol = &protocol;
  follow(request, transfer.half->begin());
  return true;
}

void Transfers::replace(RecvRequest& request) noexcept {
  auto& transfer = request.transfer;
  transfer.half.reset();
  transfer.moved = 0;
  const wire::Rts nothing{transfer.bytes, transfer.partner, 0, 0, 0, 0};
  choose(request, {nothing, NamedData(nothing, nullptr, 0)}, true);
}

const Protocol* Transfers::chosen_by(const SendRequest& request,
                                     const wire::Go& go) const noexcept {
  using Awaits = SendRequest::Awaits;
  const auto& transfer = request.transfer;
  if (request.awaits == Awaits::kNothing || go.way == wire::Way::kNone) return nullptr;
  for (const Protocol* protocol : table_) {
    if (protocol->way != go.way) continue;
    if (protocol->always && protocol->viable_to_send(context_, request)) {
      const bool replaces = transfer.half != nullptr && transfer.half->may_be_replaced();
      return request.awaits == Awaits::kGoOrDone || replaces ? protocol : nullptr;
    }
    if (protocol == transfer.protocol && transfer.half != nullptr &&
        request.awaits == Awaits::kGoOrDone && transfer.half->accepts(go))
      return protocol;
  }
  return nullptr;
}

void Transfers::take(const PeerState& from, const wire::Go& go,
                     std::span<const std::byte> key) noexcept {
  auto* const request = find<SendRequest>(context_, go.sender, from);
  const Protocol* const protocol = request == nullptr ? nullptr : chosen_by(*request, go);
  if (protocol == nullptr) return ignore("ignored a CTS for a send that needs none");
  auto& transfer = request->transfer;
  if (trace::is_on()) note_match(*request, 0);
  request->awaits =
      protocol->acknowledged ? SendRequest::Awaits::kDone : SendRequest::Awaits::kNothing;
  transfer.partner = go.receiver;
  transfer.bytes = std::min<size_t>(transfer.bytes, go.bytes);
  if (protocol != transfer.protocol || transfer.half == nullptr) {
    if (transfer.half != nullptr) transfer.half->refused();
    transfer.protocol = protocol;
    transfer.moved = 0;
    try {
      auto refused = std::exchange(transfer.half, protocol->send(context_, *request));
      transfer.half->stand_for(std::move(refused));
    } catch (const std::bad_alloc&) {
      return fail(*request, {MPI_ERR_NO_MEM, out_of_memory(transfer.bytes)});
    }
  }
  transfer.half->learn_key(key);
  follow(*request, transfer.half->begin(go));
}

void Transfers::take(const PeerState& from, const wire::DataPrefix& prefix, const std::byte* data,
                     size_t bytes) noexcept {
  auto* const request = find<RecvRequest>(context_, prefix.receiver, from);
  auto* const half = request == nullptr ? nullptr : request->transfer.half.get();
  if (half == nullptr || !half->takes_data() || prefix.offset != request->transfer.moved ||
      bytes > request->transfer.bytes - request->transfer.moved)
    return ignore("ignored data for an unknown receive");
  follow(*request, half->take(data, bytes));
}

void Transfers::take(const PeerState& from, const wire::Done& done) noexcept {
  auto* const request = find<SendRequest>(context_, done.sender, from);
  if (request == nullptr || request->awaits == SendRequest::Awaits::kNothing)
    return ignore("ignored a completion for a send that needs none");
  sending_.remove(*request);
  if (trace::is_on()) note_match(*request, done.spent * wire::kSpentNs);
  if (done.error == wire::kWithdrawn) {
    request->outcome.cancelled = true;
    return context_.requests.finish(*request, MPI_SUCCESS);
  }
  SenderHalf* const half = request->transfer.half.get();
  if (half != nullptr && half->acknowledged() == HalfStep::kFailed)
    return context_.requests.fail(*request, half->failure);
  if (TERN_LIKELY(done.error == MPI_SUCCESS))
    return context_.requests.finish(*request, MPI_SUCCESS);
  context_.requests.fail(
      *request,
      {wire::class_from(done.error),
       strf("the receiver (rank %d) could not take the data: is the send buffer valid memory?",
            request->to.rank)});
}

void Transfers::take(const PeerState& from, const wire::Landed& landed) noexcept {
  auto* const request = find<RecvRequest>(context_, landed.receiver, from);
  auto* const half = request == nullptr ? nullptr : request->transfer.half.get();
  if (half == nullptr || !half->awaits_landing())
    return ignore("ignored the landing of an unknown message");
  follow(*request, landed.declined != 0 ? HalfStep::kOther : half->landed());
}

void Transfers::take(const PeerState& from, const wire::Failed& failed) noexcept {
  auto* const request = find<RecvRequest>(context_, failed.receiver, from);
  auto* const half = request == nullptr ? nullptr : request->transfer.half.get();
  if (half == nullptr || !half->depends_on_sender() ||
      request->transfer.moved >= request->transfer.bytes)
    return ignore("ignored the failure of an unknown message");
  receiving_.remove(*request);
  context_.requests.fail(
      *request, {wire::class_from(failed.error),
                 strf("rank %d could not read the %zu bytes to send; see the error of that rank",
                      request->outcome.source, request->transfer.bytes)});
}

// Frames without a request are logged, but not after an interrupt: peers may still answer ended
// requests.
void Transfers::ignore(const char* what) const noexcept {
  if (!context_.process.has_interrupted.load(std::memory_order_relaxed)) log_line("%s", what);
}

void Transfers::abandon(SendRequest& request, const Failure& failure) noexcept {
  sending_.remove(request);
  context_.requests.fail(request, failure);
}

void Transfers::abandon(RecvRequest& request, const Failure& failure) noexcept {
  if (ReceiverHalf* const half = request.transfer.half.get();
      request.large && half != nullptr && half->has_operations()) {
    request.abandoned = true;
    half->failure = failure;
    return receiving_.add(request);
  }
  receiving_.remove(request);
  context_.requests.fail(request, failure);
}

int Transfers::progress() noexcept { return advance(receiving_) + advance(sending_); }

template <class Request>
int Transfers::advance(Polled<Request>& polled) noexcept {
  int events = 0;
  polled.for_each([&](Request& request) {
    const HalfStep step = advance(request);
    if (step != HalfStep::kAgain) ++events;
    if (step != HalfStep::kAgain && step != HalfStep::kMoved) follow(request, step);
  });
  return events;
}

HalfStep Transfers::advance(SendRequest& request) noexcept {
  return request.transfer.half->advance();
}

HalfStep Transfers::advance(RecvRequest& request) noexcept {
  ReceiverHalf& half = *request.transfer.half;
  if (TERN_LIKELY(!request.abandoned)) return half.advance();
  return half.has_operations() ? HalfStep::kAgain : HalfStep::kFailed;
}

void Transfers::follow(SendRequest& request, HalfStep step) noexcept {
  if (step == HalfStep::kAgain || step == HalfStep::kMoved) return sending_.add(request);
  sending_.remove(request);
  if (step == HalfStep::kWait) return;
  if (TERN_LIKELY(step == HalfStep::kDone)) return context_.requests.finish(request, MPI_SUCCESS);
  fail(request, request.transfer.half->failure);
}

void Transfers::fail(SendRequest& request, const Failure& failure) noexcept {
  sending_.remove(request);
  context_.outbox.send_control(
      *request.peer, wire::kFailed,
      wire::Failed{request.transfer.partner, static_cast<uint64_t>(failure.code)});
  context_.requests.fail(request, failure);
}

void Transfers::follow(RecvRequest& request, HalfStep step) noexcept {
  if (step == HalfStep::kAgain || step == HalfStep::kMoved) {
    if (request.transfer.polled) return;
    receiving_.add(request);
    // This thread may leave MPI while another sleeps, so the other thread is woken.
    if (context_.process.threaded()) context_.channel.progress.wake();
    return;
  }
  receiving_.remove(request);
  if (step == HalfStep::kOther) return replace(request);
  if (step != HalfStep::kWait)
    end(request, step == HalfStep::kDone ? Failure{} : request.transfer.half->failure);
}

void Transfers::end(RecvRequest& request, const Failure& failure) noexcept {
  const Protocol* const protocol = request.transfer.protocol;
  if (!request.abandoned && (protocol == nullptr || protocol->acknowledged))
    context_.outbox.send_control(
        *request.peer, wire::kDone,
        wire::Done{request.transfer.partner, static_cast<uint32_t>(failure.code),
                   trace::is_on() ? spent_since(request.notes.transfer_ns) : 0});
  if (TERN_LIKELY(failure.code == MPI_SUCCESS))
    context_.requests.finish(request, MPI_SUCCESS);
  else
    context_.requests.fail(request, failure);
}

}  // namespace tern::pml
