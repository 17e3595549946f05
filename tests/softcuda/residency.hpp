// SPDX-License-Identifier: Apache-2.0
// The running kernels of a device. Each resident block has a place. Processes share places under
// MPS, and take turns otherwise.
#pragma once

namespace softcuda {

/// Blocks per multiprocessor, for cuOccupancy functions.
constexpr unsigned kBlocksEach = 2;
/// Of a device.
unsigned places_of_device();

/// The multiprocessors of a device for a kernel.
struct Processors {
  int physical;
  unsigned first, count;
};

/// Runs a kernel on this thread during its lifetime. Without MPS, the constructor waits for kernels
/// of other processes.
class KernelTurn {
 public:
  KernelTurn(const Processors& on, const char* kernel);
  KernelTurn(const KernelTurn&) = delete;
  KernelTurn& operator=(const KernelTurn&) = delete;
  ~KernelTurn();
};

/// For this thread's kernel: 1 if a block got a place.
int take_place();
void give_place();
/// The arrival order of the kernel's stores to an address, numbered as in launch.h.
int arrival_at(const void* bytes);

}  // namespace softcuda
