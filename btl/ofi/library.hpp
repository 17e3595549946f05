// SPDX-License-Identifier: Apache-2.0
// Library: libfabric, opened when the first job needs it.
// Why: a program that stays on one host pays nothing for it, and a build with it runs where it is
// not installed. It is never closed: its providers hook the allocator and start threads.
// Threads: any. See: TERN_OFI_LIBRARY in tern(7).
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

#include <string>

namespace tern::btl::ofi {

/// All that is called by name; the rest are functions of libfabric's objects.
#define TERN_OFI_FUNCTIONS(X) \
  X(fi_getinfo) X(fi_freeinfo) X(fi_dupinfo) X(fi_fabric) X(fi_version) X(fi_strerror)

struct Library {
#define TERN_OFI_DECLARE(name) decltype(&::name) name = nullptr;
  TERN_OFI_FUNCTIONS(TERN_OFI_DECLARE)
#undef TERN_OFI_DECLARE
  unsigned major = 0, minor = 0;
};

/// The interface that is asked for: 1.17.
inline constexpr uint32_t kApi = FI_VERSION(1, 17);

/// Null with the reason where it cannot be opened.
/// `file`: TERN_OFI_LIBRARY; empty: where the system has it. The first call opens it.
[[nodiscard]] const Library* library(const std::string& file, std::string* why);

/// Throws Error unless `result`, which is 0 or a negative number of libfabric's, says success.
void require(const Library& fi, ssize_t result, const char* what);

}  // namespace tern::btl::ofi
