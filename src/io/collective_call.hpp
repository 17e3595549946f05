// SPDX-License-Identifier: Apache-2.0
// CollectiveCall: one collective transfer, as a coroutine.
#pragma once

#include <utility>

#include "io/collective.hpp"
#include "io/device_transfer.hpp"
#include "io/exchange.hpp"
#include "io/range_lock.hpp"
#include "io/requests.hpp"
#include "io/task.hpp"

namespace tern::io {

class Transfer {
 public:
  /// `background`: system calls run in the worker.
  Transfer(Shared& shared, const Collective& call, bool background);
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  /// False without memory.
  [[nodiscard]] bool valid() const noexcept { return task_.valid(); }
  [[nodiscard]] bool done() const noexcept { return task_.done(); }
  void resume() noexcept { task_.resume(); }
  /// Whether the condition of the last wait is true. Requires the channel's lock.
  [[nodiscard]] bool ready() noexcept { return waits_for_ == nullptr || (this->*waits_for_)(); }
  void describe(WaitReport* report) const;
  [[nodiscard]] const Failure& failed() const noexcept { return failed_; }
  [[nodiscard]] size_t moved() const noexcept { return moved_; }

 private:
  struct Wait {
    Transfer& transfer;
    bool (Transfer::*condition)() noexcept;
    [[nodiscard]] bool await_ready() const noexcept { return condition == nullptr; }
    void await_suspend(std::coroutine_handle<>) noexcept { transfer.waits_for_ = condition; }
    void await_resume() noexcept {
      transfer.waits_for_ = nullptr;
      transfer.note(std::exchange(transfer.job_.result, {}));
    }
  };
  using Body = Failure(Transfer&) noexcept;
  struct Calls;  // the bodies
  class SystemCall final : public Job {
   public:
    void work() noexcept override;
    Transfer* transfer = nullptr;
    Body* body = nullptr;
    Failure result;
    core::Progress* progress = nullptr;
    std::atomic<bool> done{false};
  };

  [[nodiscard]] Task run();
  [[nodiscard]] Wait meet(const Card& card) noexcept;
  [[nodiscard]] bool met() noexcept { return shared_.meeting.over(); }
  /// Runs the function in the worker if this is a background transfer, else here.
  [[nodiscard]] Wait in_worker(Body* body, bool calls_driver = false) noexcept;
  [[nodiscard]] bool worked() noexcept { return job_.done.load(std::memory_order_acquire); }
  [[nodiscard]] bool exchanged() noexcept;
  [[nodiscard]] bool ordered() noexcept;
  [[nodiscard]] bool range_taken() noexcept;
  [[nodiscard]] bool range_released() noexcept { return range_.release(); }
  [[nodiscard]] bool moved_device() noexcept { return moving_->advance(); }
  /// Whether progress copies device memory beside the worker's system calls.
  [[nodiscard]] bool copies_in_progress() const noexcept {
    return background_ && DeviceTransfer::suits(call_.memory, call_.span.bytes);
  }
  void start_device() noexcept;
  void end_device() noexcept;
  /// Keeps the error of the last meeting. Returns false after an error.
  [[nodiscard]] bool agreed() noexcept;
  /// The same, but false only if no meeting follows.
  [[nodiscard]] bool goes_on() noexcept;

  /// Takes the result of a meeting of TERN_CHECK=collective. Returns false after an error.
  [[nodiscard]] bool compared(CallCheck* check) noexcept;
  /// Whether TERN_CHECK=files compares the ranges of ranks.
  [[nodiscard]] bool compares_ranges() const noexcept;
  [[nodiscard]] bool ranges_compared() noexcept { return shared_.overlaps->advance(); }
  [[nodiscard]] Card own_card() const noexcept;
  [[nodiscard]] Card error_card() const noexcept;
  [[nodiscard]] bool overwrites(int64_t end) const noexcept;
  [[nodiscard]] Failure check_own() const noexcept;
  [[nodiscard]] Part own_part() const noexcept;
  [[nodiscard]] Failure move_own() noexcept;
  /// Gives each rank its part behind the shared pointer.
  void hand_out_places() noexcept;
  void take_place() noexcept;
  void note(Failure failure) noexcept {
    if (failure && !failed_) failed_ = std::move(failure);
  }

  Shared& shared_;
  Collective call_;
  const core::Ref<core::Datatype> type_;
  bool background_;
  Card agreed_;  // of the first meeting
  Exchange exchange_;
  Failure failed_;
  size_t moved_ = 0;
  bool (Transfer::*waits_for_)() noexcept = nullptr;
  RangeLock range_;
  SystemCall job_;
  std::shared_ptr<Worker> worker_;
  std::unique_ptr<DeviceTransfer> moving_;
  Task task_;
};

class CollectiveCall final : public FileRequest {
 public:
  CollectiveCall(core::Object& file, core::Channel& in, Shared& shared, const Collective& call);
  void describe(WaitReport* report) const override { transfer_.describe(report); }
  /// Continues as far as possible. Returns true at the end.
  [[nodiscard]] bool advance() noexcept;
  [[nodiscard]] bool valid() const noexcept { return transfer_.valid(); }

 private:
  void finish() noexcept;
  Transfer transfer_;
};

}  // namespace tern::io
