// SPDX-License-Identifier: Apache-2.0
// Multicast objects: addresses behind which the same memory of several devices lies. Only the
// kernels' multimem instructions can use them; a copy or a plain access is an error.
//
// An object is a file without a name, as memory is; what is bound to it lies in its first page, for
// all processes that have imported it.
#pragma once
#include "space.hpp"

namespace softcuda {

bool supports_multicast();
/// Null where there are more than eight devices, or no memory.
StoragePtr make_multicast(unsigned devices, size_t bytes);
/// The bytes of all devices behind a multicast address, as the kernels reach them; how many.
int copies_behind(const void* bytes, void** copies, int most);

}  // namespace softcuda
