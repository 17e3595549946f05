// SPDX-License-Identifier: Apache-2.0
// Library: libfabric, opened when a job first needs the network and never closed, because providers
// hook the allocator and start threads.
// Why: programs on one host pay nothing, and a build with libfabric runs on hosts without
// libfabric.
// Threads: any. See: TERN_OFI_LIBRARY in tern(7).
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <string>

namespace tern::btl::ofi {

/// All functions looked up by name; others are methods of libfabric's objects.
#define TERN_OFI_FUNCTIONS(X) \
  X(fi_getinfo) X(fi_freeinfo) X(fi_dupinfo) X(fi_fabric) X(fi_version) X(fi_strerror)

struct Library {
#define TERN_OFI_DECLARE(name) decltype(&::name) name = nullptr;
  TERN_OFI_FUNCTIONS(TERN_OFI_DECLARE)
#undef TERN_OFI_DECLARE
  unsigned major = 0, minor = 0;
};

/// Requested API version.
inline constexpr uint32_t kApi = FI_VERSION(1, 17);

/// Returns null and the reason if libfabric cannot be opened. `file`: TERN_OFI_LIBRARY, or empty
/// for the system's library. The first call opens the library.
[[nodiscard]] const Library* library(const std::string& file, std::string* why);

/// Throws Error if `result` is negative.
void require(const Library& fi, ssize_t result, const char* what);

}  // namespace tern::btl::ofi
