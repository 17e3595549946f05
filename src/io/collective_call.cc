// SPDX-License-Identifier: Apache-2.0
#include "io/collective_call.hpp"

#include <algorithm>
#include <new>

namespace tern::io {

void Transfer::SystemCall::work() noexcept {
  result = body(*transfer);
  core::Progress& rings = *progress;
  done.store(true, std::memory_order_release);
  rings.wake();
}

Transfer::Transfer(Shared& shared, const Collective& call, bool background)
    : shared_(shared),
      call_(call),
      type_(call.memory.data().type),
      background_(background),
      exchange_(shared, call_),
      range_(shared.meeting, shared.service) {
  job_.progress = &shared.meeting.communicator().channel().progress;
  if (background_) worker_ = Worker::shared();
  task_ = run();
}

Transfer::Wait Transfer::meet(const Card& card) noexcept {
  shared_.meeting.post(card);
  return {*this, &Transfer::met};
}

Transfer::Wait Transfer::in_worker(Body* body, bool calls_driver) noexcept {
  job_.transfer = this;
  job_.body = body;
  job_.done.store(false, std::memory_order_relaxed);
  if (background_ && !calls_driver && worker_->add(job_)) return {*this, &Transfer::worked};
  job_.result = body(*this);
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
  if (view.dense() || !overwrites(card.last)) card.flags |= Card::kNoOverwrite;
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

struct Transfer::Calls {
  static Failure move_own(Transfer& one) noexcept { return one.move_own(); }
  static Failure flush_pages(Transfer& one) noexcept { return one.exchange_.flush_pages(); }
  static Failure drop_pages(Transfer& one) noexcept { return one.exchange_.drop_pages(); }
  static Failure load(Transfer& one) noexcept { return one.exchange_.load(); }
  static Failure flush(Transfer& one) noexcept { return one.exchange_.flush(!one.failed_); }
};

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
  bool exchange = exchange_.serves(agreed_);
  if (call_.ordered) {
    hand_out_places();
    co_await Wait{*this, &Transfer::ordered};
    if (shared_.meeting.failed() && !agreed()) co_return;
    take_place();
  }
  if (exchange && exchange_.lacks_stage()) {
    co_await meet(exchange_.offer());
    if (!agreed()) co_return;
    co_await meet(exchange_.open());
    if (!agreed()) co_return;
    exchange = exchange_.has_stage();
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
      // The worker makes no call of the CUDA driver.
      co_await in_worker(&Calls::move_own, !call_.memory.on_host());
    }
    if (call_.atomic) co_await Wait{*this, &Transfer::range_released};
  } else {
    const bool shares_pages = (agreed_.flags & Card::kCaches) != 0;
    exchange_.begin(agreed_);
    if (shares_pages) {
      co_await in_worker(&Calls::flush_pages);
      co_await meet(error_card());
      if (!goes_on()) co_return;
      co_await in_worker(&Calls::drop_pages);
    }
    for (; exchange_.has_round(); exchange_.next_round()) {
      if (!call_.writes) co_await in_worker(&Calls::load);
      note(exchange_.fill());
      co_await meet(error_card());
      // After an error of any rank no rank writes.
      if (!goes_on()) co_return;
      if (exchange_.between_hosts()) {
        exchange_.start_between_hosts(!failed_);
        co_await Wait{*this, &Transfer::exchanged};
      }
      if (call_.writes) {
        co_await in_worker(&Calls::flush);
        continue;
      }
      if (exchange_.between_hosts()) {
        co_await meet(error_card());
        if (!goes_on()) co_return;
      }
      if (!failed_) note(exchange_.take(&moved_));
    }
    if (shares_pages && call_.writes) {
      co_await in_worker(&Calls::flush_pages);
      co_await meet(error_card());
      if (!goes_on()) co_return;
      co_await in_worker(&Calls::drop_pages);
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
