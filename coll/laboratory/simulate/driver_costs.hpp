// SPDX-License-Identifier: Apache-2.0
// Modelled costs of CUDA driver calls, in microseconds. Why: `tern_coll simulate` and the software
// driver's ledger share one table. Nothing is measured; tests/softcuda/README.md cites sources.
// is measured; tests/softcuda/README.md names the source of each figure.
#pragma once

namespace tern::coll {

struct DriverCosts {
  double ask = 0.2;     // processor: a query, or a context switch
  double call = 2.5;    // processor: any other call
  double sync = 5;      // processor, extra: a call that waits for the device
  double copy = 8;      // device: start of a copy or memset
  double kernel = 2.5;  // device: start of a kernel
  double wait = 5;      // device: a stream's wait for a semaphore
};

}  // namespace tern::coll
