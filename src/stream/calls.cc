// SPDX-License-Identifier: Apache-2.0
// Calls: the caller's part (put).
#include "stream/calls.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "base/error.hpp"
#include "mpix.h"

namespace tern::stream {

Calls::~Calls() {
  if (!keeps_board_) backlog_.boards.give_back(stream_.device(), board_);
}

// The driver may report the end of a graph late, and a program may keep a graph, so end_board()
// ends captured calls.
void Calls::end_board() noexcept {
  backlog_.boards.give_back(stream_.device(), board_);
  keeps_board_ = true;
  const auto is_held = [this](uint32_t number) {
    const std::lock_guard<std::mutex> guard(mutex_);
    return entries_[number - 1].captured && entries_[number - 1].call != nullptr;
  };
  for (uint32_t number = 1; number <= entries_.size(); ++number)
    if (is_held(number)) leave(number);
}

int Calls::put(std::shared_ptr<Call> call, bool* admitted) noexcept {
  const std::lock_guard<std::mutex> guard(enqueuing_);
  *admitted = fate.dead();
  if (fate.dead()) return fate.fail();
  const Capture capture = [&] {
    const cuda::Current current(stream_.device());
    return capture_of(stream_);
  }();
  *admitted = capture.unknown;
  if (capture.unknown)
    return fail(MPIX_ERR_STREAM, "the driver cannot tell whether the stream is being captured");
  if (capture.broken)
    return fail(MPIX_ERR_STREAM,
                "the stream's capture was invalidated: nothing more can be recorded "
                "in this capture");
  if (const int code = call->admit(capture); code != MPI_SUCCESS) return code;
  *admitted = true;
  if (trace::is_on()) call->traced = trace::enqueued();
  try {
    const uint32_t number = enter(call, capture.active);
    bool told = capture.active;
    if (capture.active) backlog_.give_to_graph(stream_, capture, *this, number);
    const int code = put_into_stream(*call, number, &told);
    if (code != MPI_SUCCESS && !told) leave(number);
    return code;
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory to enqueue an operation");
  }
}

// If the last call cannot be enqueued, the board stays allocated until MPI ends.
void Calls::put_end() noexcept {
  class EndCall final : public Call {
   public:
    EndCall() noexcept : Call("MPI_Comm_free") {}
    int begin(int, std::byte*, std::vector<core::Request*>*) override { return MPI_SUCCESS; }
  };
  const std::lock_guard<std::mutex> guard(enqueuing_);
  bool told = false;
  try {
    const cuda::Current current(stream_.device());
    if (!fate.dead() && !capture_of(stream_).active) {
      const auto end = std::make_shared<EndCall>();
      const uint32_t number = enter(end, false);
      if (put_into_stream(*end, number, &told) != MPI_SUCCESS && !told) leave(number);
    }
  } catch (const std::bad_alloc&) {
    told = false;
  }
  if (!told) keeps_board_ = true;
}

uint32_t Calls::enter(std::shared_ptr<Call> call, bool captured) {
  uint32_t number = 0;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (free_.empty()) {
      free_.reserve(entries_.size() + 1);
      entries_.emplace_back();
      free_.push_back(static_cast<uint32_t>(entries_.size()));
    }
    number = free_.back();
    free_.pop_back();
    ActiveCall& entry = entries_[number - 1];
    entry = {};
    entry.call = std::move(call);
    entry.captured = captured;
    ++alive_;
  }
  {
    const core::ChannelLock lock(communicator_.channel().progress);
    ++communicator_.pending;
  }
  if (captured)
    backlog_.count_captured(1);
  else
    backlog_.count_outstanding(stream_.device(), 1);
  return number;
}

// The communicator may end in leave() and call close().
void Calls::leave(uint32_t number) noexcept {
  std::shared_ptr<Call> ended;
  bool captured = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ActiveCall& entry = entries_[number - 1];
    ended = std::exchange(last_, std::move(entry.call));
    captured = entry.captured;
    free_.push_back(number);
  }
  if (captured)
    backlog_.count_captured(-1);
  else
    backlog_.count_outstanding(stream_.device(), -1);
  {
    const core::ChannelLock lock(communicator_.channel().progress);
    ended.reset();  // may free a request, under that lock
    communicator_.operation_ended();
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  --alive_;
}

// With overlap, the stream copies the next pass in before waiting for this pass. After a failed
// copy the proxy's part fails.
int Calls::put_into_stream(Call& call, uint32_t number, bool* told) noexcept {
  Track track(stream_);
  const auto tell = [&](int pass) {
    call.copy_in(track, pass, board_.half(pass));
    if (TERN_UNLIKELY(track.failed())) poison(number);
    track.wait(board_.mail, 0);
    track.write(board_.mail, number);
  };
  const auto hear = [&](int pass) {
    const Word& done = board_.done_of(pass);
    track.wait(done, 1);
    track.write(done, 0);
    call.copy_out(track, pass, board_.half(pass));
  };
  tell(0);
  for (int pass = 1; pass < call.passes; ++pass) {
    if (call.overlaps) tell(pass);
    hear(pass - 1);
    if (!call.overlaps) tell(pass);
  }
  hear(call.passes - 1);
  track.flush();
  if (TERN_UNLIKELY(track.lacks_words()))
    lack_words(call, number, track.words() / 2, told);
  else
    *told = true;
  if (TERN_LIKELY(!track.failed())) return MPI_SUCCESS;
  return fail(MPIX_ERR_STREAM, "enqueuing %s on the stream failed: %s", call.name,
              track.failure().c_str());
}

void Calls::poison(uint32_t number) noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  entries_[number - 1].poison = MPIX_ERR_STREAM;
}

// `pairs` counts enqueued pairs of wait and write, in the order of put_into_stream(). A graph's
// call ends with the graph.
void Calls::lack_words(const Call& call, uint32_t number, int pairs, bool* told) noexcept {
  if (pairs == 0) return;
  fate.end(failure(MPIX_ERR_STREAM,
                   "an earlier operation was enqueued only in part; create a new "
                   "communicator with MPIX_Stream_comm_create"));
  if (*told) return;
  *told = true;
  bool over = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    ActiveCall& entry = entries_[number - 1];
    entry.cut = call.overlaps ? std::min(call.passes, pairs / 2 + 1) : (pairs + 1) / 2;
    entry.heard = pairs - entry.cut;
    over = entry.ended == entry.cut;
  }
  if (over) leave(number);
}

}  // namespace tern::stream
