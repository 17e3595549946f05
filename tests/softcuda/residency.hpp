// SPDX-License-Identifier: Apache-2.0
// Places of running blocks on a device. Processes share places under MPS, and take turns otherwise.
#pragma once

namespace softcuda {

/// resident blocks of a multiprocessor
constexpr unsigned kBlocksEach = 2;
unsigned places_of_device();

struct Processors {
  int physical;
  unsigned first, count;
};

/// Without MPS, a KernelTurn waits for kernels of other processes.
class KernelTurn {
 public:
  KernelTurn(const Processors& on, const char* kernel);
  KernelTurn(const KernelTurn&) = delete;
  KernelTurn& operator=(const KernelTurn&) = delete;
  ~KernelTurn();
};

/// take_place() returns 1 if a block got a place.
int take_place();
void give_place();
int arrival_at(const void* bytes);

}  // namespace softcuda
