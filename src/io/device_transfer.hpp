// SPDX-License-Identifier: Apache-2.0
// DeviceTransfer: a transfer of device memory through pinned chunks.
// Why: the device copies the next chunk while the system moves the last one. move() serves blocking
// calls. In a nonblocking transfer, the worker makes the system calls, and progress starts and
// polls the copies, because the worker makes no call of the driver.
// Threads: one at a time, except work().
#pragma once

#include <atomic>
#include <memory>

#include "core/progress.hpp"
#include "io/transfer.hpp"
#include "io/worker.hpp"
#include "pml/bounce.hpp"

namespace tern::io {

class DeviceTransfer final : public Job {
 public:
  /// Without a worker, advance() makes the system calls.
  DeviceTransfer(const Part& part, const Memory& memory, size_t bytes, bool writes,
                 core::Progress* progress = nullptr, std::shared_ptr<Worker> worker = nullptr);
  DeviceTransfer(const DeviceTransfer&) = delete;
  DeviceTransfer& operator=(const DeviceTransfer&) = delete;
  /// advance() has returned true.
  ~DeviceTransfer();

  /// Whether chunks serve this transfer better than a copy of all bytes.
  [[nodiscard]] static bool suits(const Memory& memory, size_t bytes) noexcept {
    return !memory.on_host() && bytes > cuda::Stream::kRoom;
  }
  /// Continues as far as possible. Returns true at the end. With a worker: under the channel's
  /// lock.
  [[nodiscard]] bool advance() noexcept;
  [[nodiscard]] const Failure& failed() const noexcept { return failed_; }
  /// The bytes in front of the first error or the end of the file.
  [[nodiscard]] size_t moved() const noexcept { return moved_; }
  void work() noexcept override;

 private:
  void open() noexcept;
  /// Finds the next chunk. Returns false while the device copies.
  [[nodiscard]] bool find_chunk() noexcept;
  void call() noexcept;
  void end_call() noexcept;
  [[nodiscard]] bool drained() noexcept;
  void note_device(const pml::Bounce& bounce) noexcept;

  const Part part_;
  const Memory memory_;
  const size_t bytes_;
  const bool writes_;
  core::Progress* const progress_;
  const std::shared_ptr<Worker> worker_;
  std::unique_ptr<pml::BounceOut> out_;
  std::unique_ptr<pml::BounceIn> in_;
  size_t moved_ = 0;
  Failure failed_;
  bool ended_ = false;
  // The system call: of `some_` bytes at `chunk_`, and the bytes it has moved.
  bool calling_ = false;
  std::byte* chunk_ = nullptr;
  size_t some_ = 0, got_ = 0;
  Failure result_;
  std::atomic<bool> called_{false};
};

/// Writes or reads the first `bytes` of the memory, in the caller. *done < bytes at the end of the
/// file, or after an error.
[[nodiscard]] Failure move(const Part& part, const Memory& memory, size_t bytes, bool writes,
                           size_t* done) noexcept;

}  // namespace tern::io
