// SPDX-License-Identifier: Apache-2.0
// The ledger: driver calls by kind, and sums of modelled time
// (coll/laboratory/simulate/driver_costs.hpp). The driver spends no modelled time.
#pragma once

namespace softcuda {

/// The parts of a piece of work that start on the device.
struct Starts {
  unsigned copies = 0, kernels = 0, waits = 0;
};

/// Work enters a stream.
void charge(const Starts& starts);
/// Writes to the place in SOFTCUDA_LEDGER.
void write_ledger();

}  // namespace softcuda
