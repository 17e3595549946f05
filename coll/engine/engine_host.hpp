// SPDX-License-Identifier: Apache-2.0
// Execution: a schedule bound to buffers, run by progress over the pml. Up to
// Schedule::at_once passes (chunks) overlap, each with separate scratch. Device work is a step in
// flight, like a message, so progress does not wait for a device. If no device can do a step alone
// (a user-defined operation, no kernels), the host waits for the device and does the step.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "coll/engine/bound.hpp"
#include "coll/engine/cache.hpp"
#include "coll/engine/check.hpp"
#include "coll/engine/coll_request.hpp"
#include "coll/engine/operation.hpp"
#include "coll/engine/refusal.hpp"
#include "core/device_copy.hpp"
#include "core/process.hpp"
#include "core/request.hpp"
#include "pml/pml.hpp"

namespace tern::coll {

class Execution;

class ExecutionOwner {
 public:
  [[nodiscard]] core::Channel& channel() const noexcept { return channel_; }
  [[nodiscard]] core::Process& process() const noexcept { return channel_.process; }
  [[nodiscard]] pml::Pml& pml() const noexcept { return *channel_.pml; }
  [[nodiscard]] core::Datatype* byte_type() const noexcept { return byte_; }
  [[nodiscard]] Refusals& refusals() const noexcept { return refusals_; }
  virtual void go(Execution& execution) noexcept = 0;
  virtual void release(Execution& execution) noexcept = 0;

 protected:
  ExecutionOwner(core::Channel& channel, Refusals& refusals) noexcept;
  ~ExecutionOwner() = default;

  core::Channel& channel_;
  Refusals& refusals_;
  core::Datatype* byte_;
};

class Execution final : public CollRequest {
 public:
  explicit Execution(ExecutionOwner& owner) noexcept;

  void bind(const Operation& operation, const Algorithm& algorithm, CachedSchedule& cached,
            std::shared_ptr<CachedSchedule> own = {});
  void check(std::unique_ptr<CallCheck> check) noexcept { check_ = std::move(check); }
  /// After refused(), the next advance() abandons the execution.
  TERN_COLD void refused(const Failure& why) noexcept;
  void launch() noexcept;
  /// After advance() returns true, the execution may be freed.
  bool advance(int& events) noexcept;
  void go() noexcept override { owner_.go(*this); }
  void describe(WaitReport* report) const override;

 private:
  struct Flight {
    int32_t step;
    core::Request* request;
    core::DeviceWork* work = nullptr;
    bool cancelled = false;
    [[nodiscard]] bool done() const noexcept {
      return TERN_LIKELY(work == nullptr) ? request->done() : work->done();
    }
  };
  struct LaneRun {
    int32_t issued = 0;
    std::vector<Flight> flights;
    [[nodiscard]] int32_t complete() const noexcept {
      return flights.empty() ? issued : flights.front().step;
    }
  };
  struct PassRun {
    bool active = false;
    MPI_Count number = 0;
    std::byte* scratch = nullptr;
    std::vector<LaneRun> lanes;
  };

  void bind_passes();
  void copy_aside(bool back) noexcept;

  bool abandon(int& events) noexcept;
  bool advance_pass(PassRun& pass, int& events) noexcept;
  bool advance_lane(PassRun& pass, int lane, int& events) noexcept;
  [[nodiscard]] bool ready(const PassRun& pass, int lane, const Step& step) const noexcept;
  int retire(LaneRun& lane) noexcept;
  void issue(PassRun& pass, int lane, int32_t index, const Step& step) noexcept;
  void message(PassRun& pass, int lane, int32_t index, const Step& step) noexcept;
  [[nodiscard]] int begin_message(const pml::Buffer& buffer, const pml::Envelope& envelope,
                                  bool sends, core::Request** request) noexcept;
  void copy(PassRun& pass, int lane, int32_t index, const Step& step) noexcept;
  void reduce(PassRun& pass, int lane, int32_t index, const Step& step) noexcept;
  [[nodiscard]] std::unique_ptr<core::DeviceWork> new_work(bool on_device) noexcept;
  void fly(LaneRun& lane, int32_t index, std::unique_ptr<core::DeviceWork> work) noexcept;
  void land(const Flight& flight) noexcept;
  void begin_passes() noexcept;
  void next_pass(PassRun& pass) noexcept;
  void finish() noexcept;
  void unbind() noexcept override;
  void pool() noexcept override { owner_.release(*this); }
  void note_error(int code, const char* text) noexcept;
  TERN_COLD void refuse(int code) noexcept;
  void note(const Failure& why) noexcept;
  [[nodiscard]] int tag(const PassRun& pass, int low) const noexcept;

  ExecutionOwner& owner_;
  Bound bound_;
  const Schedule* schedule_ = nullptr;
  std::vector<PassRun> runs_;
  size_t run_count_ = 0;
  MPI_Count next_pass_ = 0;
  size_t active_passes_ = 0;
  std::unique_ptr<CallCheck> check_;
  bool checking_ = false;
  bool broken_ = false;
};

}  // namespace tern::coll
