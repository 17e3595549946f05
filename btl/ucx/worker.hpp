// SPDX-License-Identifier: Apache-2.0
// Context, Worker: UCX's objects: one context per process, one worker per channel. Errors:
// constructors throw Error.
#pragma once

#include <memory>
#include <string>

#include "btl/net/blocks.hpp"
#include "btl/net/device_cache.hpp"
#include "btl/net/interfaces.hpp"
#include "btl/net/options.hpp"
#include "btl/net/ports.hpp"
#include "btl/net/sockets.hpp"
#include "btl/ucx/directs.hpp"
#include "btl/ucx/lanes.hpp"
#include "btl/ucx/library.hpp"

namespace tern::btl::ucx {

inline constexpr unsigned kFrameId = 0;

class UcpContext {
 public:
  struct Job {
    size_t ranks, ranks_here;
    bool several_workers;
  };
  UcpContext(const Library& library, const Params& params, const net::Choice& choice,
             const Job& job);
  UcpContext(const UcpContext&) = delete;
  UcpContext& operator=(const UcpContext&) = delete;
  ~UcpContext();
  [[nodiscard]] ucp_context_h get() const noexcept { return context_; }
  [[nodiscard]] net::Served served() const;
  /// Why UCX takes no device memory, with the cure; empty if UCX does.
  [[nodiscard]] std::string why_no_devices() const;
  const Library& ucp;
  const int64_t timeout_us;
  const net::Choice choice;
  const std::vector<net::Option> options;

 private:
  ucp_context_h context_ = nullptr;
  Lanes resources_;
};

class Worker {
 public:
  explicit Worker(std::shared_ptr<UcpContext> context);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// All endpoints are closed before ~Worker().
  ~Worker();

  [[nodiscard]] ucp_worker_h get() const noexcept { return worker_; }
  /// address() covers network devices only.
  [[nodiscard]] std::string address() const;
  void receive_frames(ucp_am_recv_callback_t callback, void* context);
  unsigned progress() noexcept { return ucp.ucp_worker_progress(worker_); }
  [[nodiscard]] int descriptor() const noexcept;

  void count_send() noexcept { dirty_ = true; }
  [[nodiscard]] bool is_quiet() noexcept;

  Operation pulses{.left = 1};  // its end is never reported
  bool has_failures = false;
  bool sink_gone = false;

  const std::shared_ptr<UcpContext> context;
  const Library& ucp;
  net::SocketWatch sockets;
  std::shared_ptr<net::DeviceCache> devices;
  static constexpr size_t kPayload = kMostPayload;
  static constexpr size_t kBlocks = 128;
  static constexpr size_t kMaxZeroCopy = 128 << 10;
  static constexpr size_t kDirects = 256;
  FrameBuffers blocks{kBlocks, kPayload};
  Directs directs{kDirects};
  [[nodiscard]] bool has_under_way() const noexcept {
    return blocks.away() != 0 || directs.away() != 0;
  }

 private:
  ucp_worker_h worker_ = nullptr;
  bool dirty_ = false;
  void* flush_ = nullptr;
};

void require(const Library& ucp, ucs_status_t status, const char* what);

}  // namespace tern::btl::ucx
