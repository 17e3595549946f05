// SPDX-License-Identifier: Apache-2.0
#include "io/collective_call.hpp"

#include <algorithm>
#include <new>

namespace tern::io {
namespace {

// Blocks from this size on are cheaper by system calls of each rank.
constexpr int64_t kLeastOwn = 16384, kLeastOwnCrowded = 2048;
// Between hosts: the largest transfer of an NFS client, and Lustre's usual stripe.
constexpr int64_t kLeastOwnOfHosts = 1 << 20;
// With fewer data the rounds would move mostly holes.
constexpr int64_t kMostSparseExchange = 64;

}  // namespace

void Transfer::SystemCall::work() noexcept {
  result = (transfer->*body)();
  core::Progress& rings = *progress;
  done.store(true, std::memory_order_release);
  rings.wake();
}

Transfer::Transfer(Shared& shared, const Collective& call, bool background)
    : shared_(shared),
      call_(call),
      type_(call.memory.data().type),
      background_(background),
      range_(shared.meeting, shared.service) {
  job_.progress = &shared.meeting.communicator().channel().progress;
  if (background_) worker_ = Worker::shared();
  task_ = run();
}

Transfer::Wait Transfer::meet(const Card& card) noexcept {
  shared_.meeting.post(card);
  return {*this, &Transfer::met};
}

Transfer::Wait Transfer::in_worker(Failure (Transfer::*body)() noexcept) noexcept {
  job_.transfer = this;
  job_.body = body;
  job_.done.store(false, std::memory_order_relaxed);
  // The worker makes no call of the CUDA driver, and the stage is host memory.
  const bool calls_driver = body == &Transfer::move_own && !call_.memory.on_host();
  if (background_ && !calls_driver && worker_->add(job_)) return {*this, &Transfer::worked};
  job_.result = (this->*body)();
  return {*this, nullptr};
}

bool Transfer::agreed() noexcept {
  const Meeting& meeting = shared_.meeting;
  if (meeting.failed()) {
    failed_ = meeting.failed();
    (void)shared_.fate.end(failed_);
    return false;
  }
  if (meeting.result().code != 0) failed_ = meeting.result().error();
  return !failed_;
}

bool Transfer::compared(CallCheck* check) noexcept {
  Meeting& meeting = shared_.meeting;
  if (meeting.failed()) return agreed();
  check->take(meeting.result());
  if (check->failed()) meeting.end(check->failed());
  return !check->over() || agreed();
}

bool Transfer::compares_ranges() const noexcept {
  return shared_.overlaps && call_.writes && !call_.atomic && !call_.ordered &&
         (agreed_.flags & Card::kInterleaved) != 0;
}

Card Transfer::own_card() const noexcept {
  Card card;
  card.set_error(call_.failed);
  if (shared_.meeting.communicator().process().node.oversubscribed) card.flags |= Card::kCrowded;
  if (shared_.raw.system().caches) card.flags |= Card::kCaches;
  // The hints of ranks may differ after MPI_File_set_info.
  const Exchanging hint = shared_.hints.exchanging(call_.writes);
  if (hint == Exchanging::kNever) card.flags |= Card::kNoExchange;
  if (hint == Exchanging::kAlways) card.flags |= Card::kExchange;
  if (call_.failed || call_.span.bytes == 0) return card;
  const View& view = *call_.view;
  const auto bytes = static_cast<int64_t>(call_.span.bytes);
  card.bytes = bytes;
  if (call_.ordered) return card;
  card.first = view.at(call_.span.first);
  card.last = view.end_of(call_.span.first, bytes);
  card.blocks =
      view.dense() ? 1 : std::max<int64_t>(1, bytes / std::max<int64_t>(1, view.mean_block()));
  card.bits = view.alignment_bits() | static_cast<uint64_t>(call_.span.first) |
              static_cast<uint64_t>(bytes);
  if (!overwrites(card.last)) card.flags |= Card::kNoOverwrite;
  if (!view.rises(call_.span.first, bytes) || call_.atomic) card.flags |= Card::kNoExchange;
  return card;
}

/// Small blocks inside the file: each rank copies into a mapping of cached pages, without another
/// copy and without the lock of the file.
bool Transfer::overwrites(int64_t end) const noexcept {
  const FileSystem& system = shared_.raw.system();
  int64_t size = 0;
  return call_.writes && system.maps && system.faults_fast && shared_.hints.maps() &&
         !shared_.raw.size(&size) && end <= size;
}

bool Transfer::exchanges() const noexcept {
  const Card& all = agreed_;
  const Meeting& meeting = shared_.meeting;
  if ((all.flags & Card::kNoExchange) != 0 || shared_.stage_refused ||
      meeting.communicator().size() == 1 || all.bytes == 0 || call_.ordered)
    return false;
  if ((all.flags & Card::kExchange) != 0) return true;
  if (call_.writes && (all.flags & Card::kNoOverwrite) == 0) return false;
  const int64_t least = !meeting.on_one_host()              ? kLeastOwnOfHosts
                        : (all.flags & Card::kCrowded) != 0 ? kLeastOwnCrowded
                                                            : kLeastOwn;
  return (all.flags & Card::kInterleaved) != 0 && all.bytes / all.blocks < least &&
         (all.last - all.first) / all.bytes < kMostSparseExchange;
}

StageShape Transfer::stage_shape() const noexcept {
  const Hosts& hosts = shared_.meeting.hosts();
  return {shared_.hints.buffer() * hosts.fewest(), static_cast<int>(hosts.aggregators().size()),
          shared_.raw.system().stripe};
}

Card Transfer::offer_stage() noexcept {
  Card card;
  Meeting& meeting = shared_.meeting;
  try {
    if (meeting.is_leader()) {
      shared_.stage.make(stage_shape());
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

Card Transfer::open_stage() noexcept {
  Card card;
  card.flags = shared_.meeting.result().flags & Card::kNoExchange;
  if (shared_.stage.valid() || card.flags != 0) return card;
  const int leader = shared_.meeting.locals().front();
  try {
    shared_.stage.open(shared_.meeting.card(leader).offer, leader, stage_shape());
  } catch (const std::bad_alloc&) {
    card.flags = Card::kNoExchange;
  } catch (const Error&) {
    card.flags = Card::kNoExchange;
  }
  return card;
}

bool Transfer::owns_pages() const noexcept {
  return shared_.meeting.is_leader() || shared_.meeting.hosts().own_domain() >= 0;
}

Failure Transfer::flush_pages() noexcept { return owns_pages() ? shared_.raw.sync() : Failure{}; }

Failure Transfer::drop_pages() noexcept { return owns_pages() ? shared_.raw.refresh() : Failure{}; }

void Transfer::hand_out_places() noexcept {
  const Meeting& meeting = shared_.meeting;
  const int self = meeting.communicator().rank();
  int64_t before = 0, all = 0;
  for (const int rank : meeting.locals()) {
    if (rank == self) before = all;
    all += meeting.card(rank).bytes;
  }
  const int64_t etype = std::max<int64_t>(1, call_.view->etype_bytes());
  call_.span.first = before;
  if (self != 0) return;
  int64_t first = 0;
  if (Failure failed = shared_.pointers.add_shared(all / etype, &first)) first = -1;
  Board& board = *meeting.board(0);
  board.first_etype.store(first, std::memory_order_relaxed);
  board.ordered.store(meeting.number(), std::memory_order_release);
  meeting.wake_locals();
}

bool Transfer::range_taken() noexcept {
  if (failed_ || call_.span.bytes == 0) return true;
  return range_.take({call_.view->at(call_.span.first),
                      call_.view->end_of(call_.span.first, static_cast<int64_t>(call_.span.bytes)),
                      call_.writes});
}

void Transfer::take_place() noexcept {
  const int64_t first = shared_.meeting.board(0)->first_etype.load(std::memory_order_relaxed);
  if (first < 0) note(failure(MPI_ERR_ARG, "the shared file pointer would exceed 2^56 etypes"));
  call_.span.first += std::max<int64_t>(first, 0) * call_.view->etype_bytes();
}

bool Transfer::ordered() noexcept {
  // After the end of rank 0 the closing meeting fails.
  return shared_.meeting.finds_end_of(0) ||
         shared_.meeting.board(0)->ordered.load(std::memory_order_acquire) ==
             shared_.meeting.number();
}

void Transfer::note_exchange() noexcept {
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
             static_cast<long long>(agreed_.bytes / std::max<int64_t>(1, agreed_.blocks))));
  } catch (const std::bad_alloc&) {
  }
}

Failure Transfer::load() noexcept {
  const int domain = shared_.meeting.hosts().own_domain();
  return domain < 0 ? Failure{} : shared_.stage.load(rounds_, round_, domain, shared_.raw);
}

Failure Transfer::flush() noexcept {
  const int domain = shared_.meeting.hosts().own_domain();
  if (domain < 0) return {};
  return shared_.stage.flush(rounds_, round_, domain, shared_.raw, shared_.window,
                             shared_.hints.ways(), !failed_);
}

Failure Transfer::check_own() const noexcept {
  return call_.view->check(call_.span.first, static_cast<int64_t>(call_.span.bytes));
}

Part Transfer::own_part() const noexcept {
  Ways ways = shared_.hints.ways();
  if ((agreed_.flags & Card::kNoOverwrite) == 0)
    ways.maps_below = std::max(ways.maps_below, FileSystem::kLeastOverwrite);
  return {shared_.raw, shared_.window, *call_.view, call_.span.first, ways};
}

Failure Transfer::move_own() noexcept {
  if (failed_ || call_.span.bytes == 0) return {};
  if (!background_)
    io::note(own_part(), shared_.meeting.communicator().process(), call_.writes, call_.span.bytes);
  return io::move(own_part(), call_.memory, call_.span.bytes, call_.writes, &moved_);
}

void Transfer::start_device() noexcept {
  core::Progress& progress = shared_.meeting.communicator().channel().progress;
  moving_.reset(new (std::nothrow) DeviceTransfer(own_part(), call_.memory, call_.span.bytes,
                                                  call_.writes, &progress, worker_));
  if (moving_ == nullptr) note(failure(MPI_ERR_NO_MEM, "no memory for a collective transfer"));
}

void Transfer::end_device() noexcept {
  if (moving_ == nullptr) return;
  moved_ = moving_->failed() && call_.writes ? 0 : moving_->moved();
  note(moving_->failed());
  moving_.reset();
}

Transfer::Wait Transfer::exchange_hosts() noexcept {
  if (on_one_host()) return {*this, nullptr};
  shared_.host_exchange->begin(rounds_, round_, call_.writes, !failed_);
  return {*this, &Transfer::exchanged};
}

void Transfer::fill_stage() noexcept {
  const auto bytes = call_.span.bytes;
  if (call_.writes)
    note(shared_.stage.fill(rounds_, round_, *call_.view, call_.span.first, call_.memory, bytes));
  if (call_.writes || !on_one_host())
    shared_.stage.mark(rounds_, round_, *call_.view, call_.span.first, bytes);
}

void Transfer::empty_stage() noexcept {
  if (!failed_ && !call_.writes)
    note(shared_.stage.take(rounds_, round_, *call_.view, call_.span.first, call_.memory,
                            call_.span.bytes, &moved_));
}

bool Transfer::exchanged() noexcept {
  if (!shared_.host_exchange->advance()) return false;
  note(shared_.host_exchange->failed());
  return true;
}

Card Transfer::error_card() const noexcept {
  Card card;
  card.set_error(failed_);
  return card;
}

bool Transfer::goes_on() noexcept {
  if (shared_.meeting.failed()) return agreed();
  note(shared_.meeting.result().error());
  return true;
}

Task Transfer::run() {
  if (shared_.checks_calls) {
    CallCheck check(call_.called, shared_.meeting.communicator().rank(),
                    shared_.raw.name().c_str());
    while (!check.over()) {
      co_await meet(check.card(call_.failed));
      if (!compared(&check)) co_return;
    }
  }
  co_await meet(own_card());
  if (!agreed()) co_return;
  agreed_ = shared_.meeting.result();
  if (agreed_.bytes == 0) co_return;
  if (compares_ranges()) {
    shared_.overlaps->begin(*call_.view, call_.span, call_.called.place);
    co_await Wait{*this, &Transfer::ranges_compared};
  }
  bool exchange = exchanges();
  if (call_.ordered) {
    hand_out_places();
    co_await Wait{*this, &Transfer::ordered};
    if (shared_.meeting.failed() && !agreed()) co_return;
    take_place();
  }
  if (exchange && !shared_.stage.valid()) {
    co_await meet(offer_stage());
    if (!agreed()) co_return;
    co_await meet(open_stage());
    if (!agreed()) co_return;
    shared_.stage_refused = (shared_.meeting.result().flags & Card::kNoExchange) != 0;
    shared_.stage.close_offer();
    exchange = !shared_.stage_refused;
  }
  if (!exchange) {
    note(check_own());
    if (call_.atomic) co_await Wait{*this, &Transfer::range_taken};
    note(range_.failed());
    if (!failed_ && copies_in_progress()) {
      start_device();
      if (!failed_) co_await Wait{*this, &Transfer::moved_device};
      end_device();
    } else {
      co_await in_worker(&Transfer::move_own);
    }
    if (call_.atomic) co_await Wait{*this, &Transfer::range_released};
  } else {
    rounds_ = shared_.stage.plan(agreed_.first, agreed_.last, agreed_.bits);
    note_exchange();
    if (shares_pages()) {
      co_await in_worker(&Transfer::flush_pages);
      co_await meet(error_card());
      if (!goes_on()) co_return;
      co_await in_worker(&Transfer::drop_pages);
    }
    for (round_ = 0; round_ < rounds_.count(); ++round_) {
      if (!call_.writes) co_await in_worker(&Transfer::load);
      fill_stage();
      co_await meet(error_card());
      // After an error of any rank no rank writes.
      if (!goes_on()) co_return;
      co_await exchange_hosts();
      if (call_.writes) {
        co_await in_worker(&Transfer::flush);
      } else if (!on_one_host()) {
        co_await meet(error_card());
        if (!goes_on()) co_return;
      }
      empty_stage();
    }
    if (shares_pages() && call_.writes) {
      co_await in_worker(&Transfer::flush_pages);
      co_await meet(error_card());
      if (!goes_on()) co_return;
      co_await in_worker(&Transfer::drop_pages);
    }
    if (call_.writes && !failed_) moved_ = call_.span.bytes;
  }
  co_await meet(error_card());
  failed_ = {};
  if (!agreed() && call_.writes) moved_ = 0;
}

void Transfer::describe(WaitReport* report) const {
  if (waits_for_ == &Transfer::range_taken || waits_for_ == &Transfer::range_released)
    range_.describe(report);
  else if (waits_for_ == &Transfer::ranges_compared)
    shared_.overlaps->describe(report);
  else if (waits_for_ == &Transfer::exchanged)
    shared_.host_exchange->describe(report);
  else if (waits_for_ == &Transfer::worked || waits_for_ == &Transfer::moved_device)
    report->words +=
        strf("system calls of a collective transfer of %s", shared_.raw.name().c_str());
  else
    shared_.meeting.describe(report);
}

CollectiveCall::CollectiveCall(core::Object& file, core::Channel& in, Shared& shared,
                               const Collective& call)
    : FileRequest(file, in), transfer_(shared, call, true) {}

bool CollectiveCall::advance() noexcept {
  while (!transfer_.done()) {
    if (!transfer_.ready()) return false;
    transfer_.resume();
  }
  outcome.bytes = static_cast<MPI_Count>(transfer_.moved());
  if (transfer_.failed()) take_error(transfer_.failed());
  complete();
  return true;
}

}  // namespace tern::io
