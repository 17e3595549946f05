// SPDX-License-Identifier: Apache-2.0
// Requests of files. Errors are raised on the file.
// Threads: the worker completes an independent request; all counted references change in threads
// that call MPI.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "core/process.hpp"
#include "core/request.hpp"
#include "io/conversion.hpp"
#include "io/device_transfer.hpp"
#include "io/transfer.hpp"
#include "io/worker.hpp"

namespace tern::io {

class FileRequest : public core::Request {
 public:
  /// Makes a handle. Throws Error, std::bad_alloc.
  FileRequest(core::Object& file, core::Channel& in);
  [[nodiscard]] core::Object* raised_on() noexcept override { return file_.get(); }
  void destroy() noexcept override;
  /// A read in another representation is converted when the user sees the completion.
  void convert_with(std::shared_ptr<Conversion> conversion, bool writes) noexcept {
    conversion_ = std::move(conversion);
    writes_converted_ = writes;
  }
  [[nodiscard]] int deliver(bool last) noexcept override;
  /// With TERN_CHECK=leaks: the calls that made the file's requests, not yet freed. Throws
  /// std::bad_alloc.
  [[nodiscard]] static std::vector<core::CallPlace> live_of(const core::Object& file);

 protected:
  void take_error(Failure why) noexcept;

 private:
  core::Ref<core::Object> file_;
  std::shared_ptr<Conversion> conversion_;
  bool writes_converted_ = false;
  const bool tracked_;  // TERN_CHECK=leaks
  std::string text_;
};

/// A transfer of one rank. The worker moves host memory.
class IndependentRequest final : public FileRequest, public Job {
 public:
  IndependentRequest(core::Object& file, core::Channel& in, const RawFile& raw, FileWindow& window,
                     const Ways& ways, std::shared_ptr<const View> view, int64_t first,
                     const Memory& memory, size_t bytes, bool writes);
  void work() noexcept override;
  [[nodiscard]] bool on_device() const noexcept { return !memory_.on_host(); }
  /// The caller of begin_on_device() and advance() holds the channel's lock. Throws std::bad_alloc.
  void begin_on_device(std::shared_ptr<Worker> worker);
  /// Continues a transfer of device memory. Returns true at the end.
  [[nodiscard]] bool advance() noexcept;
  void describe(WaitReport* report) const override;
  /// done() precedes the worker's last use of the object.
  [[nodiscard]] bool left() const noexcept { return left_.load(std::memory_order_acquire); }

 private:
  void finish(size_t done, Failure failed) noexcept;
  const RawFile& raw_;
  FileWindow& window_;
  const Ways ways_;
  const std::shared_ptr<const View> view_;
  const int64_t first_;
  const Memory memory_;
  const core::Ref<core::Datatype> type_;
  const size_t bytes_;
  const bool writes_;
  std::unique_ptr<DeviceTransfer> moving_;
  std::atomic<bool> left_{false};
};

/// A request, complete from the start.
class CompletedRequest final : public FileRequest {
 public:
  CompletedRequest(core::Object& file, core::Channel& in, MPI_Count bytes, Failure why);
};

/// The requests under way of a file.
class Requests {
 public:
  explicit Requests(core::Progress& progress) noexcept : progress_(progress) {}
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;
  ~Requests();
  /// The worker runs the request, or the caller if the worker cannot; progress moves device
  /// memory. Throws std::bad_alloc.
  void start(core::Ref<IndependentRequest> request);
  /// Waits for all requests under way, and returns the number of these requests.
  size_t finish() noexcept;

 private:
  static int poll(void* self) noexcept;
  int advance() noexcept;
  void start_on_device(core::Ref<IndependentRequest> request);
  void drop_complete() noexcept;

  core::Progress& progress_;
  std::mutex mutex_;
  std::shared_ptr<Worker> worker_;
  std::vector<core::Ref<IndependentRequest>> running_;
  // Under the channel's lock.
  std::vector<core::Ref<IndependentRequest>> on_devices_;
  bool polled_ = false;
};

}  // namespace tern::io
