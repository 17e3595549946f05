// SPDX-License-Identifier: Apache-2.0
// Multicast objects: addresses of memory on several devices, for multimem instructions only. The
// first page of an object's unnamed file lists the bound memory.
#pragma once
#include "space.hpp"

namespace softcuda {

bool supports_multicast();
/// make_multicast() returns null for more than eight devices.
StoragePtr make_multicast(unsigned devices, size_t bytes);
int copies_behind(const void* bytes, void** copies, int most);

}  // namespace softcuda
