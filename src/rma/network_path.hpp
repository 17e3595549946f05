// SPDX-License-Identifier: Apache-2.0
// NetworkPath: puts and gets by RDMA, in registered memory of ranks on other hosts.
// Choice: carrier() leaves accumulates, devices, small pieces, and targets without a usable key to
// Messages. Operations refer to the user's buffers until finish(). Threads: any; each call locks
// the channel, except poll().
#pragma once

#include <memory>
#include <vector>

#include "rma/messages.hpp"
#include "rma/path.hpp"
#include "rma/remote_parts.hpp"

namespace tern::rma {

class NetworkPath final : public Path {
 public:
  /// The address of a rank's part is in addresses[rank].
  NetworkPath(Targets& targets, Messages& rest, RemoteParts parts, std::vector<uint64_t> addresses,
              bool emulated);
  ~NetworkPath() override;

  Path& carrier(const core::Data* moved, const TargetData& at, const Reached& reached) override;
  int put(const core::Data& origin, const TargetData& to, const Reached& reached,
          OpRequest* request) override;
  int get(const core::Data& origin, const TargetData& from, const Reached& reached,
          OpRequest* request) override;
  int accumulate(const core::Data* origin, const core::Data* result, const TargetData& at,
                 const Reached& reached, const Element& element, OpRequest* request) override;
  int compare_and_swap(const void* origin, const void* compare, void* result, const TargetData& at,
                       const Reached& reached) override;

  /// Waits for operations to the target (-1: all): gets, and puts in the target's memory, or only
  /// until the buffers are free (`local`).
  [[nodiscard]] int finish(int target, bool local) noexcept;
  /// Begins what finish() awaits.
  void begin_flush(int target) noexcept;
  /// Other ranks access this rank's part no more.
  void withdraw() noexcept;

 private:
  struct Link {
    btl::Rdma* rdma = nullptr;
    std::unique_ptr<btl::RemoteKey> key;  // null: Messages
    // The first part never ends, so the transport reports no end.
    btl::Operation operation{.left = 1};
    uint32_t requests = 0;
    bool unflushed = false;  // puts since the last flush
    bool listed = false;     // in used_
    [[nodiscard]] bool idle() const noexcept { return operation.left == 1 && requests == 0; }
  };
  /// An operation with a request; the second part ends when all pieces are started.
  struct Tracked {
    btl::Operation operation{.left = 2};
    int target;
    core::Ref<OpRequest> whole;
  };
  enum class Way : uint8_t { kPut, kGet };
  struct Piece {
    iovec near;
    uint64_t far;
  };

  [[nodiscard]] Link& link(int target) noexcept { return *links_[static_cast<size_t>(target)]; }
  [[nodiscard]] bool reaches(int target);
  [[nodiscard]] std::unique_ptr<Link> connect(int target);
  [[nodiscard]] core::Data part(const TargetData& at, const Reached& reached) const noexcept;
  [[nodiscard]] int move(Way way, const core::Data& here, const TargetData& at,
                         const Reached& reached, OpRequest* request);
  [[nodiscard]] int send(Way way, int target, const Piece& piece, OpRequest* request);
  [[nodiscard]] bool start(Way way, int target, const iovec& here, uint64_t there,
                           btl::Operation& operation);
  [[nodiscard]] Tracked& track(int target, OpRequest& request);
  [[nodiscard]] bool is_over(int target, bool local) noexcept;
  [[nodiscard]] int settle(int target) noexcept;
  int poll() noexcept;
  void let_go() noexcept;
  [[nodiscard]] int loss_of(int target, btl::Operation& operation) noexcept;
  void describe(int target, WaitReport* report);

  Targets& targets_;
  core::Communicator& communicator_;
  pml::Pml& pml_;
  Messages& rest_;
  RemoteParts parts_;
  const std::vector<uint64_t> addresses_;
  const bool emulated_;
  std::vector<std::unique_ptr<Link>> links_;  // by target; null before the first access
  size_t contacts_ = 0;
  std::vector<int> used_;  // targets accessed since the last flush
  std::vector<std::unique_ptr<Tracked>> tracked_;
};

}  // namespace tern::rma
