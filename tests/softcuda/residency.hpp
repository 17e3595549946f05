// SPDX-License-Identifier: Apache-2.0
// Which kernels run on a device now: a place for each resident block, shared by processes under
// MPS; without it the kernels of one process at a time.
#pragma once

namespace softcuda {

/// Blocks of any kernel that a multiprocessor holds; what cuOccupancy... tells.
constexpr unsigned kBlocksEach = 2;
/// Of a device.
unsigned places_of_device();

/// The multiprocessors of a device that a kernel may run on.
struct Processors {
  int physical;
  unsigned first, count;
};

/// While it lives this thread runs a kernel on some of them. Where processes share the device
/// without MPS it waits until no kernel of another process runs.
class KernelTurn {
 public:
  KernelTurn(const Processors& on, const char* kernel);
  KernelTurn(const KernelTurn&) = delete;
  KernelTurn& operator=(const KernelTurn&) = delete;
  ~KernelTurn();
};

/// For the kernel that this thread runs: 1 where a block has got a place.
int take_place();
void give_place();
/// How its stores to an address arrive, as launch.h numbers it.
int arrival_at(const void* bytes);

}  // namespace softcuda
