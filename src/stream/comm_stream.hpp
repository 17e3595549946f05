// SPDX-License-Identifier: Apache-2.0
// CommStream: a communicator's stream (MPIX_Stream_comm_create), calls, and GPU team.
// Order: collectives run on a shadow communicator, to keep their numbers apart from ordinary
// collectives.
// Lifetime: shared by communicator and proxy, until the communicator has ended and nothing is
// enqueued or captured. Threads: any thread enqueues; the proxy calls look() and the functions
// below.
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
  /// `chunk` is the bytes of a half of the board, the same on all ranks. Without a GPU stream
  /// neither board nor backlog is needed.
  CommStream(core::Communicator& communicator, core::Communicator& shadow, core::Ref<Stream> stream,
             size_t chunk, const Board& board, Backlog* backlog);
  CommStream(const CommStream&) = delete;
  CommStream& operator=(const CommStream&) = delete;
  ~CommStream();

  [[nodiscard]] core::Communicator& communicator() const noexcept { return communicator_; }
  [[nodiscard]] core::Communicator& shadow() const noexcept { return shadow_; }
  [[nodiscard]] Stream* stream() const noexcept { return stream_.get(); }
  [[nodiscard]] const Stream* gpu() const noexcept { return calls_ ? stream_.get() : nullptr; }
  [[nodiscard]] Calls* calls() noexcept { return calls_ ? &*calls_ : nullptr; }
  [[nodiscard]] size_t chunk() const noexcept { return chunk_; }
  [[nodiscard]] coll::GpuTeam* team() const noexcept { return team_.get(); }
  [[nodiscard]] EarlierError& earlier_error() noexcept { return earlier_error_; }
  [[nodiscard]] Started& started() noexcept { return started_; }

  [[nodiscard]] int enqueue(std::shared_ptr<Call> call) noexcept;
  /// put() keeps an earlier error. *admitted: as Calls::put().
  [[nodiscard]] int put(std::shared_ptr<Call> call, bool* admitted) noexcept;
  /// Records that this rank refuses a collective: devices run no further collective.
  void abandon(const std::string& why) noexcept;

  /// set_islands() lets islands run large collectives. The call must precede all others, on
  /// a communicator without a team.
  void set_islands(std::unique_ptr<Islands> islands) noexcept;
  [[nodiscard]] Islands* islands() const noexcept { return islands_.get(); }
  /// A part of `whole` has a shadow communicator with some ranks of `whole`, and runs steps of
  /// collectives.
  void be_part_of(const std::shared_ptr<CommStream>& whole) noexcept;
  [[nodiscard]] bool is_part() const noexcept { return !whole_.expired(); }

  /// The first duplicate, which may be made while streams wait, gets the spare board.
  void keep_spare(const Board& board) noexcept { spare_ = board; }
  [[nodiscard]] bool take_spare(Board* board) noexcept;
  void put_end() noexcept;
  /// close() runs when the communicator has ended, under the channel's lock.
  void close() noexcept;

  // look() returns the number of events.
  int look() noexcept;
  [[nodiscard]] bool has_work() const noexcept;
  [[nodiscard]] coll::DeviceCalls& device_calls() noexcept { return device_calls_; }
  /// over() is true if nothing is, or will be, enqueued or captured.
  [[nodiscard]] bool over() noexcept;
  /// end_board() ends the calls of graphs when MPI ends.
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
  std::atomic<IslandWatch*> watch_{nullptr};
  std::weak_ptr<CommStream> whole_;
  std::atomic<bool> closed_{false};
};

/// Islands: the parts of a communicator: the ranks of this group of GPUs with peer access, and the
/// ranks with the same place in all groups. Each of the two parts has its own shadow communicator
/// and board.
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

struct Attached final : core::StreamState {
  explicit Attached(std::shared_ptr<CommStream> of) noexcept : shared(std::move(of)) {}
  ~Attached() override { shared->close(); }
  const std::shared_ptr<CommStream> shared;
};

[[nodiscard]] CommStream* of(const core::Communicator& communicator) noexcept;

}  // namespace tern::stream
