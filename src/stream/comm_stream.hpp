// SPDX-License-Identifier: Apache-2.0
// CommStream: the stream of a communicator of MPIX_Stream_comm_create, the calls in the stream, and
// the devices' team.
// Order: collectives run on a communicator of their own, the shadow, so that their numbers differ
// from those of ordinary collectives.
// Lifetime: shared by the communicator and the proxy, until the communicator has ended and nothing
// is enqueued or captured. Threads: any thread enqueues; the proxy calls look() and the functions
// below it. See: src/stream/README.md.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "coll/gpu/device_calls.hpp"
#include "core/communicator.hpp"
#include "stream/calls.hpp"
#include "stream/earlier_error.hpp"
#include "stream/islands.hpp"
#include "stream/started.hpp"
#include "stream/stream.hpp"

namespace tern::stream {

struct Islands;

class CommStream {
 public:
  /// `chunk`: bytes of a half, the same on all ranks. A rank without a GPU's stream needs neither
  /// a board nor a backlog.
  CommStream(core::Communicator& communicator, core::Communicator& shadow, core::Ref<Stream> stream,
             size_t chunk, const Board& board, Backlog* backlog);
  CommStream(const CommStream&) = delete;
  CommStream& operator=(const CommStream&) = delete;
  ~CommStream();

  [[nodiscard]] core::Communicator& communicator() const noexcept { return communicator_; }
  [[nodiscard]] core::Communicator& shadow() const noexcept { return shadow_; }
  /// Null for MPIX_STREAM_NULL.
  [[nodiscard]] Stream* stream() const noexcept { return stream_.get(); }
  /// Null where a call is over on return.
  [[nodiscard]] const Stream* gpu() const noexcept { return calls_ ? stream_.get() : nullptr; }
  /// Null without a GPU's stream.
  [[nodiscard]] Calls* calls() noexcept { return calls_ ? &*calls_ : nullptr; }
  [[nodiscard]] size_t chunk() const noexcept { return chunk_; }
  /// The devices that do collectives alone; null without them.
  [[nodiscard]] coll::GpuTeam* team() const noexcept { return team_.get(); }
  [[nodiscard]] EarlierError& earlier_error() noexcept { return earlier_error_; }
  [[nodiscard]] Started& started() noexcept { return started_; }

  /// Returns the error of an earlier call, or puts the call into the stream. An error class with
  /// fail() text.
  [[nodiscard]] int enqueue(std::shared_ptr<Call> call) noexcept;
  /// The same, and the error of an earlier call stays. *admitted: as Calls::put().
  [[nodiscard]] int put(std::shared_ptr<Call> call, bool* admitted) noexcept;
  /// This rank takes no part in a collective: the devices do no further one.
  void forsake(const std::string& why) noexcept;

  /// Parts of the ranks do large collectives. Before the first call; no team.
  void set_islands(std::unique_ptr<Islands> islands) noexcept;
  [[nodiscard]] Islands* islands() const noexcept { return islands_.get(); }
  /// The shadow has some ranks of the whole, and does parts of the collectives.
  void be_part_of(const std::shared_ptr<CommStream>& whole) noexcept;
  [[nodiscard]] bool is_part() const noexcept { return !whole_.expired(); }

  /// A board for the first duplicate, which may be made while streams wait.
  void keep_spare(const Board& board) noexcept { spare_ = board; }
  /// False: another duplicate has the spare board, or it was not made.
  [[nodiscard]] bool take_spare(Board* board) noexcept;
  /// The user frees the communicator: nothing is put behind the end.
  void put_end() noexcept;
  /// The communicator has ended. Under the lock of the channel, also the shadow's.
  void close() noexcept;

  // The proxy's part, with a GPU's stream:
  /// Ends complete passes and begins the pass that the stream has reached: the number of events.
  int look() noexcept;
  /// Whether look() has something to do.
  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] coll::DeviceCalls& device_calls() noexcept { return device_calls_; }
  /// Nothing is enqueued or captured, and nothing will be.
  [[nodiscard]] bool over() noexcept;
  /// MPI ends: calls of graphs end, too.
  void end_board() noexcept;

 private:
  core::Communicator& communicator_;
  core::Communicator& shadow_;
  const core::Ref<Stream> stream_;
  const size_t chunk_;
  Board spare_;
  EarlierError earlier_error_;
  std::optional<Calls> calls_;
  const std::shared_ptr<coll::GpuTeam> team_;
  coll::DeviceCalls device_calls_;
  Started started_;
  std::unique_ptr<Islands> islands_;
  std::atomic<IslandWatch*> watch_{nullptr};  // of islands_, for the proxy
  std::weak_ptr<CommStream> whole_;           // empty: no part of another communicator
  std::atomic<bool> closed_{false};
};

/// Parts of a communicator: the ranks of the own island, and the ranks with the own place in all
/// islands. Each part has a shadow and a board.
struct Islands {
  Islands(CommStream& whole, IslandMap of, std::shared_ptr<CommStream> within,
          std::shared_ptr<CommStream> between)
      : map(std::move(of)),
        here(std::move(within)),
        across(std::move(between)),
        watch(whole.communicator(), whole.earlier_error(), *here->team(), here->device_calls(),
              across->shadow(), *across->calls()) {}

  const IslandMap map;
  const std::shared_ptr<CommStream> here, across;
  IslandWatch watch;
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
