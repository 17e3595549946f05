// SPDX-License-Identifier: Apache-2.0
// The costs of CUDA driver calls in a model, in microseconds.
// Why: `tern_coll simulate` and the software driver's ledger price calls from one table. Nothing
// is measured; tests/softcuda/README.md names the source of each figure.
#pragma once

namespace tern::coll {

struct DriverCosts {
  double ask = 0.2;     // processor: a call that asks for something, or selects a context
  double call = 2.5;    // processor: any other call
  double sync = 5;      // processor, more: a call that waits for the device
  double copy = 8;      // device: the start of a copy or a memset
  double kernel = 2.5;  // device: the start of a kernel
  double wait = 5;      // device: a stream's wait for a word
};

}  // namespace tern::coll
