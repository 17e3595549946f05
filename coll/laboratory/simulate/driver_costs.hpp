// SPDX-License-Identifier: Apache-2.0
// Modelled costs of CUDA driver calls, in microseconds, also for the software driver's ledger. Not
// measured; tests/softcuda/README.md cites sources.
#pragma once

namespace tern::coll {

struct DriverCosts {
  double ask = 0.2;     // processor: a query, or a context switch
  double call = 2.5;    // processor: any other call
  double sync = 5;      // processor, extra: waiting for the device
  double copy = 8;      // device: start of a copy or memset
  double kernel = 2.5;  // device: start of a kernel
  double wait = 5;      // device: a wait for a semaphore
};

}  // namespace tern::coll
