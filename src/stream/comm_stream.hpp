// SPDX-License-Identifier: Apache-2.0
// CommStream: what a communicator of MPIX_Stream_comm_create has: its stream, the pinned memory and
// words by which stream and proxy take turns, and the operations that are enqueued on it.
//
// Words: `mail` holds the number of the call whose next pass the stream has come to; the proxy
// takes it, and resets it. `done` of a half is set by the proxy; the stream waits for it, and
// resets it. No value depends on how often an operation was done, so graphs may replay what they
// captured, with calls in between. Order: operations of one communicator use the same halves and
// words, one after the other as the stream comes to them. Collectives run on a communicator of
// their own, the shadow: they are numbered apart from ordinary ones. Lifetime: shared by the
// communicator and the proxy; ends when the communicator has ended and nothing is enqueued or
// captured any more. Threads: enqueue() from any; look() and what it calls are the proxy's. See:
// src/stream/README.md.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "coll/engine/operation.hpp"
#include "coll/gpu/device_calls.hpp"
#include "core/communicator.hpp"
#include "stream/call.hpp"
#include "stream/started.hpp"
#include "stream/stream.hpp"

namespace tern::stream {

class Proxy;
class Islands;

/// What stream and proxy share, in pinned memory.
struct Board {
  Word mail;
  std::array<Word, 2> done;
  std::array<std::byte*, 2> halves{};
  std::array<size_t, 2> bytes{};  // of each
};

class CommStream {
 public:
  /// `chunk`: bytes of a half, the same on all ranks. A rank without a GPU's stream has no board.
  CommStream(core::Communicator& communicator, core::Communicator& shadow, core::Ref<Stream> stream,
             size_t chunk, const Board& board);
  CommStream(const CommStream&) = delete;
  CommStream& operator=(const CommStream&) = delete;
  ~CommStream();

  [[nodiscard]] core::Communicator& communicator() const noexcept { return communicator_; }
  [[nodiscard]] core::Communicator& shadow() const noexcept { return shadow_; }
  /// Null for MPIX_STREAM_NULL.
  [[nodiscard]] Stream* stream() const noexcept { return stream_.get(); }
  /// Null where operations are done when their call returns.
  [[nodiscard]] const Stream* gpu() const noexcept {
    return stream_ && stream_->on_gpu() ? stream_.get() : nullptr;
  }
  [[nodiscard]] size_t chunk() const noexcept { return chunk_; }
  /// Words are missing in the stream: nothing can be enqueued any more.
  [[nodiscard]] bool broken() const noexcept { return broken_.load(std::memory_order_acquire); }
  /// Collectives are work of the devices alone, where these can do them.
  [[nodiscard]] bool between_devices() const noexcept { return team_ != nullptr; }

  /// Moves and reductions.
  [[nodiscard]] bool takes_all_kinds() const noexcept {
    return team_ != nullptr && team_->kernels.on_all_ranks();
  }

  /// Puts an operation into the stream, or does it. An error class with fail() text: its own, or
  /// that of an earlier one.
  [[nodiscard]] int enqueue(std::shared_ptr<Call> call) noexcept;
  /// The same, and the error of an earlier one stays for the next call. *admitted: what failed is
  /// the way into the stream, on this rank alone.
  [[nodiscard]] int put(std::shared_ptr<Call> call, bool* admitted) noexcept;
  /// Puts a collective into the stream as work of the devices alone, where that can be. *taken: it
  /// did. The same.
  [[nodiscard]] int enqueue_between_streams(const coll::Operation& operation, bool* taken) noexcept;
  /// This rank takes no part in a collective: what the devices would do is over.
  void forsake(const std::string& why) noexcept;
  /// What is done by islands of ranks: null where that does not serve. Before the first call.
  void set_islands(std::unique_ptr<Islands> islands) noexcept;
  /// A board that the first duplicate takes, which may be made while streams wait.
  void keep_spare(const Board& board) noexcept { spare_ = board; }
  /// False: another duplicate has it, or it was not made.
  [[nodiscard]] bool take_spare(Board* board) noexcept;
  [[nodiscard]] Islands* islands() const noexcept { return islands_.get(); }
  /// It does parts of the collectives of another, on a shadow of some of its ranks.
  void be_part_of(const std::shared_ptr<CommStream>& whole) noexcept { whole_ = whole; }
  [[nodiscard]] Started& started() noexcept { return started_; }
  /// The error of an operation that has ended, once.
  [[nodiscard]] int earlier_error() noexcept;
  /// The communicator has ended.
  void close() noexcept;

  /// The last operation: when the stream has passed it, it uses the board no more.
  void put_end() noexcept;

  // What follows is the proxy's.
  /// MPI ends: whatever graphs still hold is not done any more.
  void end_board() noexcept;
  /// The graph that has captured the call is no more.
  void leave_graph(uint32_t number) noexcept { leave(number); }
  [[nodiscard]] bool has_mail() const noexcept {
    return board_.mail.here->load(std::memory_order_acquire) != 0;
  }
  /// Begins what the stream has come to, ends what is complete; how much of that there was.
  int look() noexcept;
  [[nodiscard]] bool under_way() const noexcept { return !flights_.empty(); }
  [[nodiscard]] bool has_ended_flight() const noexcept;
  void watch_device() noexcept { device_calls_.watch(); }
  /// How often look() has found something.
  [[nodiscard]] uint64_t moves() const noexcept { return moves_; }
  [[nodiscard]] bool has_given_up() noexcept { return device_calls_.has_given_up(); }
  /// A kernel of the rank's island has given up: all ranks hear of it.
  void lose_island(const coll::GpuTeam& team) noexcept;
  /// Whether look() has something to do for islands.
  [[nodiscard]] bool has_lost_island() const noexcept;
  [[nodiscard]] bool has_passed_device_calls() const noexcept { return device_calls_.has_passed(); }
  /// Calls that the stream has not passed yet; captured ones do not count.
  [[nodiscard]] int outstanding() const noexcept {
    return outstanding_.load(std::memory_order_relaxed);
  }
  /// Nothing is enqueued or captured, and nothing will be.
  [[nodiscard]] bool over() noexcept;
  void describe(WaitReport* report) const;
  /// Of what the devices do alone; false where the stream waits for no other rank.
  bool describe_device(WaitReport* report) const;
  [[nodiscard]] const char* first_name() const noexcept;

 private:
  struct Entry {
    std::shared_ptr<Call> call;  // who enqueues has it, too, as it may be over before the call is
    int next = 0;                // pass to begin
    int ended = 0;               // passes of this execution
    int code = 0;                // of this execution
    bool captured = false;
    // Guarded by mutex_:
    int cut = 0;     // passes that the stream comes to, where a failure left others out
    int heard = 0;   // of these, what it waits for
    int poison = 0;  // what the stream brings in is not whole: an error class
  };
  /// A pass that the proxy has begun.
  struct Flight {
    uint32_t number;
    Call* call;
    int pass;
    std::vector<core::Request*> requests;
  };
  [[nodiscard]] int run_now(Call& call) noexcept;
  [[nodiscard]] uint32_t enter(std::shared_ptr<Call> call, bool captured);
  void leave(uint32_t number) noexcept;
  [[nodiscard]] bool give_to_graph(const Capture& capture, uint32_t number) noexcept;
  [[nodiscard]] int put_into_stream(Call& call, uint32_t number, bool* told) noexcept;
  void poison(uint32_t number) noexcept;
  void lack_words(const Call& call, uint32_t number, int pairs, bool* told) noexcept;
  [[nodiscard]] static int fail_broken() noexcept;
  void take(uint32_t number) noexcept;
  [[nodiscard]] bool advance(Flight& flight) noexcept;
  void finish(Flight& flight, int code) noexcept;
  void keep_error(const Call& call, int code, const std::string& text) noexcept;
  void keep_error(int code, const std::string& words) noexcept;
  void tell_of_part(int code, const std::string& text) noexcept;
  [[nodiscard]] static int begin(Call& call, int pass, std::byte* half,
                                 std::vector<core::Request*>* requests) noexcept;
  [[nodiscard]] static bool all_done(const std::vector<core::Request*>& requests) noexcept;
  [[nodiscard]] static int collect(std::vector<core::Request*>& requests,
                                   core::Outcome* first) noexcept;

  core::Communicator& communicator_;
  core::Communicator& shadow_;
  const core::Ref<Stream> stream_;
  const size_t chunk_;
  const Board board_;
  Board spare_;  // for the first duplicate
  Proxy* const proxy_;
  std::atomic<bool> broken_{false};
  bool keeps_board_ = false;   // the stream may still use it: it stays until MPI ends
  std::mutex enqueuing_;       // what belongs to one operation stands together in the stream
  std::mutex mutex_;           // of what follows; never held in a call of the driver
  std::deque<Entry> entries_;  // of numbers from 1 on
  std::vector<uint32_t> free_;
  std::shared_ptr<Call> last_;  // that has ended: its last copy may be under way
  size_t alive_ = 0;
  bool closed_ = false;
  std::string error_;
  std::atomic<int> error_code_{0};
  std::atomic<int> outstanding_{0};
  const std::shared_ptr<coll::GpuTeam> team_;  // null: none
  Started started_;
  std::unique_ptr<Islands> islands_;
  std::atomic<Islands*> watched_{nullptr};  // the same, for the proxy
  std::weak_ptr<CommStream> whole_;         // none: it is no part
  // The proxy's own:
  uint64_t moves_ = 0;
  bool told_of_part_ = false;
  std::vector<Flight> flights_;
  coll::DeviceCalls device_calls_;
};

/// How a communicator holds it.
struct Attached final : core::StreamState {
  explicit Attached(std::shared_ptr<CommStream> of) noexcept : shared(std::move(of)) {}
  ~Attached() override { shared->close(); }
  const std::shared_ptr<CommStream> shared;
};

/// Of a communicator; null where it has no stream.
[[nodiscard]] CommStream* of(const core::Communicator& communicator) noexcept;

}  // namespace tern::stream
