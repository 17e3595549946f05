// SPDX-License-Identifier: Apache-2.0
// Context, Worker: UCX's objects: one context for a process, one worker for a channel.
// Lifetime: Ucx; the context with the last worker. Threads: a worker under its channel's lock.
// Errors: constructors throw Error.
#pragma once

#include <memory>
#include <string>

#include "btl/net/blocks.hpp"
#include "btl/ucx/directs.hpp"
#include "btl/ucx/library.hpp"

namespace tern::btl::ucx {

/// The one kind of active message.
inline constexpr unsigned kFrameId = 0;

class Context {
 public:
  /// For a job of so many ranks, so many of them on this host. `workers`: more than one.
  Context(const Library& library, size_t ranks, size_t ranks_here, bool workers);
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  ~Context();
  [[nodiscard]] ucp_context_h get() const noexcept { return context_; }
  const Library& ucp;

 private:
  ucp_context_h context_ = nullptr;
};

class Worker {
 public:
  explicit Worker(std::shared_ptr<Context> context);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// What is under way is given up: endpoints are closed before.
  ~Worker();

  [[nodiscard]] ucp_worker_h get() const noexcept { return worker_; }
  /// Of the network only, as bytes.
  [[nodiscard]] std::string address() const;
  void receive_frames(ucp_am_recv_callback_t callback, void* context);
  unsigned progress() noexcept { return ucp.ucp_worker_progress(worker_); }
  /// The descriptor that tells of events, where UCX has one; else -1.
  [[nodiscard]] int descriptor() const noexcept;

  /// Something was sent: not quiet before a flush has ended that began later.
  void count_send() noexcept { dirty_ = true; }
  /// Whether all that was sent is where it can no longer be lost by leaving. To be asked again
  /// after progress until it is.
  [[nodiscard]] bool is_quiet() noexcept;

  /// See Rdma::offloaded.
  bool offloads_puts = false;
  /// An endpoint has failed, and nothing has been done about it yet.
  bool has_failures = false;
  /// What ends from now on is told to no sink.
  bool sink_gone = false;

  const std::shared_ptr<Context> context;
  const Library& ucp;
  static constexpr size_t kPayload = kMostPayload;
  static constexpr size_t kBlocks = 128;
  static constexpr size_t kMaxZeroCopy = 128 << 10;
  static constexpr size_t kDirects = 256;
  Blocks blocks{kBlocks, kPayload};
  Directs directs{kDirects};
  [[nodiscard]] bool has_under_way() const noexcept {
    return blocks.away() != 0 || directs.away() != 0;
  }

 private:
  ucp_worker_h worker_ = nullptr;
  bool dirty_ = false;
  void* flush_ = nullptr;  // under way
};

/// Throws Error unless `status` says success.
void require(const Library& ucp, ucs_status_t status, const char* what);

}  // namespace tern::btl::ucx
