// SPDX-License-Identifier: Apache-2.0
#include "io/exchange.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "core/process.hpp"

namespace tern::io {
namespace {

// Blocks from this size on are cheaper by system calls of each rank.
constexpr int64_t kLeastOwn = 16384, kLeastOwnCrowded = 8192;
// A write locks the file, except on tmpfs, and the other ranks sleep.
constexpr int64_t kLeastOwnLocked = 65536;
// Between hosts: the largest transfer of an NFS client, and Lustre's usual stripe.
constexpr int64_t kLeastOwnOfHosts = 1 << 20;
// With fewer data the rounds would move mostly holes.
constexpr int64_t kMostSparseExchange = 64;

}  // namespace

bool Exchange::serves(const Card& all) const noexcept {
  const Meeting& meeting = shared_.meeting;
  if ((all.flags & Card::kNoExchange) != 0 || shared_.stage_refused ||
      meeting.communicator().size() == 1 || all.bytes == 0 || call_.ordered)
    return false;
  if ((all.flags & Card::kExchange) != 0) return true;
  if (call_.writes && (all.flags & Card::kNoOverwrite) == 0) return false;
  const bool locks = call_.writes && !shared_.raw.system().faults_fast;
  const int64_t least = !meeting.on_one_host()              ? kLeastOwnOfHosts
                        : locks                             ? kLeastOwnLocked
                        : (all.flags & Card::kCrowded) != 0 ? kLeastOwnCrowded
                                                            : kLeastOwn;
  return (all.flags & Card::kInterleaved) != 0 && all.bytes / all.blocks < least &&
         (all.last - all.first) / all.bytes < kMostSparseExchange;
}

StageShape Exchange::shape() const noexcept {
  const Hosts& hosts = shared_.meeting.hosts();
  return {shared_.hints.buffer() * hosts.fewest(), static_cast<int>(hosts.aggregators().size()),
          shared_.raw.system().stripe};
}

Card Exchange::offer() noexcept {
  Card card;
  Meeting& meeting = shared_.meeting;
  try {
    if (meeting.is_leader()) {
      shared_.stage.make(shape());
      card.offer = shared_.stage.offer();
    }
    if (!meeting.on_one_host())
      shared_.host_exchange = std::make_unique<HostExchange>(meeting, shared_.stage);
  } catch (const std::bad_alloc&) {
    card.flags |= Card::kNoExchange;
  } catch (const Error&) {
    card.flags |= Card::kNoExchange;
  }
  return card;
}

Card Exchange::open() noexcept {
  Card card;
  card.flags = shared_.meeting.result().flags & Card::kNoExchange;
  if (shared_.stage.valid() || card.flags != 0) return card;
  const int leader = shared_.meeting.locals().front();
  try {
    shared_.stage.open(shared_.meeting.card(leader).offer, leader, shape());
  } catch (const std::bad_alloc&) {
    card.flags = Card::kNoExchange;
  } catch (const Error&) {
    card.flags = Card::kNoExchange;
  }
  return card;
}

bool Exchange::has_stage() noexcept {
  shared_.stage_refused = (shared_.meeting.result().flags & Card::kNoExchange) != 0;
  shared_.stage.close_offer();
  return !shared_.stage_refused;
}

bool Exchange::owns_pages() const noexcept {
  return shared_.meeting.is_leader() || shared_.meeting.hosts().own_domain() >= 0;
}

Failure Exchange::flush_pages() noexcept { return owns_pages() ? shared_.raw.sync() : Failure{}; }

Failure Exchange::drop_pages() noexcept { return owns_pages() ? shared_.raw.refresh() : Failure{}; }

void Exchange::begin(const Card& all) noexcept {
  rounds_ = shared_.stage.plan(all.first, all.last, all.bits);
  core::Process& process = shared_.meeting.communicator().process();
  core::Process::FileOperations& counts = process.file_operations;
  const Hosts& hosts = shared_.meeting.hosts();
  const auto rounds = static_cast<unsigned long long>(rounds_.count());
  counts.add_to(counts.exchanged, 1);
  counts.add_to(counts.rounds, rounds);
  counts.add_to(call_.writes ? counts.bytes_written : counts.bytes_read, call_.span.bytes);
  constexpr uint32_t kFirstBit = 1 << 16;
  if (!process.explain.on() || !shared_.raw.explains_first(kFirstBit << (call_.writes ? 1 : 0)))
    return;
  try {
    process.explain.say(
        "file_transfer",
        {{"file", shared_.raw.name()},
         {"access", call_.writes ? "write" : "read"},
         {"bytes", static_cast<unsigned long long>(call_.span.bytes)},
         {"way", "exchange"},
         {"rounds", rounds},
         {"hosts", static_cast<unsigned long long>(hosts.count())},
         {"aggregators", static_cast<unsigned long long>(hosts.aggregators().size())}},
        strf("%s %s of %s through shared memory of %zu hosts and %zu aggregators, in %llu rounds: "
             "blocks of %lld bytes of the ranks alternate",
             call_.writes ? "writing" : "reading", bytes_in_words(call_.span.bytes).c_str(),
             shared_.raw.name().c_str(), hosts.count(), hosts.aggregators().size(), rounds,
             static_cast<long long>(all.bytes / std::max<int64_t>(1, all.blocks))));
  } catch (const std::bad_alloc&) {
  }
}

Failure Exchange::load() noexcept {
  const int domain = shared_.meeting.hosts().own_domain();
  return domain < 0 ? Failure{} : shared_.stage.load(rounds_, round_, domain, shared_.raw);
}

Failure Exchange::flush(bool writes) noexcept {
  const int domain = shared_.meeting.hosts().own_domain();
  if (domain < 0) return {};
  return shared_.stage.flush(rounds_, round_, domain, shared_.raw, shared_.window,
                             shared_.hints.ways(), writes);
}

Failure Exchange::fill() noexcept {
  Failure failed;
  if (call_.writes)
    failed = shared_.stage.fill(rounds_, round_, *call_.view, call_.span.first, call_.memory,
                                call_.span.bytes);
  if (call_.writes || between_hosts())
    shared_.stage.mark(rounds_, round_, *call_.view, call_.span.first, call_.span.bytes);
  return failed;
}

Failure Exchange::take(size_t* done) noexcept {
  return shared_.stage.take(rounds_, round_, *call_.view, call_.span.first, call_.memory,
                            call_.span.bytes, done);
}

}  // namespace tern::io
