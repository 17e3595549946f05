// SPDX-License-Identifier: Apache-2.0
// Multicast objects: addresses that map memory of several devices. Only the kernels' multimem
// instructions may use them.
// An object is an unnamed file. Its first page lists the bound memory for all importing
// processes.
#pragma once
#include "space.hpp"

namespace softcuda {

bool supports_multicast();
/// Null for more than eight devices, or without memory.
StoragePtr make_multicast(unsigned devices, size_t bytes);
/// The host addresses of all copies behind a multicast address. Returns their number.
int copies_behind(const void* bytes, void** copies, int most);

}  // namespace softcuda
