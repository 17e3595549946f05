// SPDX-License-Identifier: Apache-2.0
// Calls: the numbered calls of a communicator in its GPU stream, and the board, the pinned memory
// that GPU stream and proxy share for the calls. Order: all calls share the board's halves and
// words, in stream order. A number is reused after its call; a captured call keeps its number until
// the graph ends. Lifetime: of a CommStream with a GPU stream. Threads: the caller's part by any,
// the proxy's part by the proxy.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "base/fate.hpp"
#include "core/communicator.hpp"
#include "stream/backlog.hpp"
#include "stream/board.hpp"
#include "stream/call.hpp"
#include "stream/earlier_error.hpp"
#include "stream/stream.hpp"

namespace tern::stream {

class Calls {
 public:
  Calls(core::Communicator& communicator, const Stream& stream, const Board& board,
        Backlog& backlog, EarlierError& error)
      : communicator_(communicator),
        stream_(stream),
        board_(board),
        backlog_(backlog),
        error_(error) {}
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls();

  /// If *admitted, other ranks may be in the call and must learn of the failure; else all ranks
  /// refuse the call.
  [[nodiscard]] int put(std::shared_ptr<Call> call, bool* admitted) noexcept;
  /// put_end() enqueues the last call. The board is free when the stream has passed this call.
  void put_end() noexcept;
  /// Once `fate` is dead, the stream lacks words, and no further call is enqueued.
  Fate fate;

  /// stop_calls() locks out other calls while devices work alone; the board's first half is free
  /// meanwhile.
  [[nodiscard]] std::unique_lock<std::mutex> stop_calls() {
    return std::unique_lock<std::mutex>(enqueuing_);
  }
  [[nodiscard]] const Board& board() const noexcept { return board_; }
  [[nodiscard]] Backlog& backlog() const noexcept { return backlog_; }
  /// keep_board() requires stop_calls().
  void keep_board() noexcept { keeps_board_ = true; }

  // The following functions are the proxy's.
  [[nodiscard]] bool has_mail() const noexcept {
    return board_.mail.here->load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] int advance() noexcept;
  /// mail() is 0 if no call has data for its next pass.
  [[nodiscard]] uint32_t mail() noexcept;
  void take(uint32_t number) noexcept;
  [[nodiscard]] bool under_way() const noexcept { return !flights_.empty(); }
  [[nodiscard]] bool has_ended_flight() const noexcept;
  [[nodiscard]] uint64_t moves() const noexcept { return moves_; }
  [[nodiscard]] bool none_alive() noexcept;
  /// leave() ends a call. The communicator may end here.
  void leave(uint32_t number) noexcept;
  /// end_board() ends captured calls when MPI ends, perhaps before their graphs.
  void end_board() noexcept;
  void describe(WaitReport* report) const;

 private:
  struct ActiveCall {
    std::shared_ptr<Call> call;  // shared with put(), because the call may end before put() returns
    int next = 0;
    int ended = 0;
    int code = 0;
    int64_t begin_ns = 0;  // of the first pass, for records
    bool captured = false;
    // Guarded by mutex_:
    int cut = 0;     // passes in the stream if a failure cut the call
    int heard = 0;   // of `cut`, passes with a wait
    int poison = 0;  // error class; the stream's data is incomplete
  };
  struct Flight {
    uint32_t number;
    Pass pass;
  };
  [[nodiscard]] uint32_t enter(std::shared_ptr<Call> call, bool captured);
  [[nodiscard]] int put_into_stream(Call& call, uint32_t number, bool* told) noexcept;
  void poison(uint32_t number) noexcept;
  void lack_words(const Call& call, uint32_t number, int pairs, bool* told) noexcept;
  [[nodiscard]] bool end(Flight& flight) noexcept;
  void finish(const Flight& flight, int code) noexcept;

  core::Communicator& communicator_;
  const Stream& stream_;
  const Board board_;
  Backlog& backlog_;
  EarlierError& error_;
  bool keeps_board_ = false;
  std::mutex enqueuing_;  // keeps the parts of a call together in the stream
  std::mutex mutex_;      // guards the members below; never held in a driver call
  std::deque<ActiveCall> entries_;
  std::vector<uint32_t> free_;
  std::shared_ptr<Call> last_;  // the call's last copy may still run
  size_t alive_ = 0;
  uint64_t moves_ = 0;
  std::vector<Flight> flights_;
};

}  // namespace tern::stream
