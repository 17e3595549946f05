// SPDX-License-Identifier: Apache-2.0
#include "stream/comm_stream.hpp"

#include <utility>

#include "base/error.hpp"
#include "coll/coll.hpp"

namespace tern::stream {

CommStream* of(const core::Communicator& communicator) noexcept {
  auto* const attached = static_cast<Attached*>(communicator.stream.get());
  return attached == nullptr ? nullptr : attached->shared.get();
}

CommStream::CommStream(core::Communicator& communicator, core::Communicator& shadow,
                       core::Ref<Stream> stream, size_t chunk, const Board& board, Backlog* backlog)
    : communicator_(communicator),
      shadow_(shadow),
      stream_(std::move(stream)),
      chunk_(chunk),
      earlier_error_(communicator, shadow, backlog == nullptr ? nullptr : backlog->raise),
      team_(coll::StreamCollectives::team_of(shadow)),
      device_calls_(shadow, team_) {
  if (stream_ && stream_->on_gpu())
    calls_.emplace(communicator, *stream_, board, *backlog, earlier_error_);
}

CommStream::~CommStream() {
  if (Board spare; take_spare(&spare)) calls_->backlog().boards.give_back(stream_->device(), spare);
}

bool CommStream::take_spare(Board* board) noexcept {
  *board = std::exchange(spare_, {});
  return board->mail.here != nullptr;
}

void CommStream::end_board() noexcept {
  if (Board spare; take_spare(&spare)) calls_->backlog().boards.give_back(stream_->device(), spare);
  calls_->end_board();
}

void CommStream::set_islands(std::unique_ptr<Islands> islands) noexcept {
  islands_ = std::move(islands);
  watch_.store(&islands_->watch, std::memory_order_release);
}

void CommStream::be_part_of(const std::shared_ptr<CommStream>& whole) noexcept {
  whole_ = whole;
  earlier_error_.be_part_of({whole, &whole->earlier_error_});
}

void CommStream::abandon(const std::string& why) noexcept {
  if (team_ != nullptr) team_->abandoned.end(failure(MPI_ERR_OTHER, "%s", why.c_str()));
  if (islands_ != nullptr) islands_->here->abandon(why);
}

int CommStream::enqueue(std::shared_ptr<Call> call) noexcept {
  bool admitted = false;
  const int code = earlier_error_.take();
  return code == MPI_SUCCESS ? put(std::move(call), &admitted) : code;
}

int CommStream::put(std::shared_ptr<Call> call, bool* admitted) noexcept {
  if (call->passes == 0) return MPI_SUCCESS;
  if (calls_) return calls_->put(std::move(call), admitted);
  const int64_t begin_ns = trace::is_on() ? trace::now() : 0;
  const int code = run_now(communicator_.channel().progress, *call, chunk_);
  if (trace::is_on()) trace::record_run(trace::enqueued(), begin_ns);
  return code;
}

void CommStream::put_end() noexcept {
  if (calls_) calls_->put_end();
  if (islands_ == nullptr) return;
  islands_->here->put_end();
  islands_->across->put_end();
}

// The proxy watches islands before taking the next pass, because an earlier kernel may have given
// up.
int CommStream::look() noexcept {
  int events = device_calls_.look();
  if (events != 0) calls_->backlog().count_outstanding(stream_->device(), -events);
  events += calls_->advance();
  const uint32_t number = calls_->mail();
  const auto whole = whole_.lock();
  IslandWatch* const watch = (whole != nullptr ? *whole : *this).watch_.load();
  if (watch != nullptr) watch->watch();
  if (number == 0) return events;
  calls_->take(number);
  return events + 1;
}

bool CommStream::has_work() const noexcept {
  if (calls_->has_mail() || calls_->has_ended_flight() || device_calls_.has_passed()) return true;
  IslandWatch* const watch = watch_.load();
  return watch != nullptr && watch->is_due();
}

bool CommStream::over() noexcept {
  return closed_.load(std::memory_order_acquire) && calls_->none_alive() && device_calls_.over();
}

void CommStream::close() noexcept {
  device_calls_.close();
  closed_.store(true, std::memory_order_release);
  shadow_.free();
  if (islands_ == nullptr) return;
  islands_->watch.close();
  islands_->here->close();
  islands_->across->close();
}

}  // namespace tern::stream
