// SPDX-License-Identifier: Apache-2.0
// Library: UCX, opened at first need, and never closed, because UCX hooks the allocator.
// Threads: any. See: TERN_UCX_LIBRARY in tern(7).
#pragma once

#include <ucp/api/ucp.h>

#include <string>

namespace tern::btl::ucx {

/// UCX 1.13 has all these functions.
// clang-format off
#define TERN_UCX_FUNCTIONS(X)                                                                  \
  X(ucp_get_version) X(ucp_init_version) X(ucp_config_read)                                    \
  X(ucp_config_release) X(ucp_cleanup) X(ucp_context_query) X(ucp_worker_create)               \
  X(ucp_worker_destroy)                                                                        \
  X(ucp_worker_query) X(ucp_worker_release_address) X(ucp_worker_progress)                     \
  X(ucp_worker_set_am_recv_handler) X(ucp_worker_flush_nbx) X(ucp_worker_arm)                  \
  X(ucp_worker_get_efd) X(ucp_ep_create) X(ucp_ep_close_nbx) X(ucp_ep_flush_nbx)               \
  X(ucp_ep_print_info) X(ucp_context_print_info)                                               \
  X(ucp_am_send_nbx) X(ucp_request_free) X(ucp_request_check_status) X(ucp_mem_map)            \
  X(ucp_mem_unmap) X(ucp_rkey_pack) X(ucp_rkey_buffer_release) X(ucp_ep_rkey_unpack)           \
  X(ucp_rkey_destroy) X(ucp_get_nbx) X(ucp_put_nbx) X(ucs_status_string)
// clang-format on

struct Library {
#define TERN_UCX_DECLARE(name) decltype(&::name) name = nullptr;
  TERN_UCX_FUNCTIONS(TERN_UCX_DECLARE)
#undef TERN_UCX_DECLARE
  unsigned major = 0, minor = 0;
};

/// library() returns null with the reason on failure.
[[nodiscard]] const Library* library(const std::string& file, std::string* why);

}  // namespace tern::btl::ucx
