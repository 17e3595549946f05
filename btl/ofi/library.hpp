// SPDX-License-Identifier: Apache-2.0
// Library: libfabric, opened at first need, and never closed, because providers hook the allocator
// and start threads.
// Threads: any. See: TERN_OFI_LIBRARY in tern(7).
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>

#include <string>

#include "base/environment.hpp"

namespace tern::btl::ofi {

#define TERN_OFI_FUNCTIONS(X) \
  X(fi_getinfo) X(fi_freeinfo) X(fi_dupinfo) X(fi_fabric) X(fi_version) X(fi_strerror)

struct Library {
#define TERN_OFI_DECLARE(name) decltype(&::name) name = nullptr;
  TERN_OFI_FUNCTIONS(TERN_OFI_DECLARE)
#undef TERN_OFI_DECLARE
  unsigned major = 0, minor = 0;
};

inline constexpr uint32_t kApi = FI_VERSION(1, 17);

/// Tern's settings for a job of `ranks` ranks, until the first Port is open.
void preset(EnvironmentPresets* presets, size_t ranks, bool has_gpus);
/// library() returns null with the reason on failure.
[[nodiscard]] const Library* library(const std::string& file, std::string* why);

void require(const Library& fi, ssize_t result, const char* what);

}  // namespace tern::btl::ofi
