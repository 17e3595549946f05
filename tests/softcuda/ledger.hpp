// SPDX-License-Identifier: Apache-2.0
// The ledger: driver calls by kind, and modelled time (coll/laboratory/simulate/driver_costs.hpp).
// The driver never sleeps for the model.
#pragma once

namespace softcuda {

/// The parts of a piece of work that start on the device.
struct Starts {
  unsigned copies = 0, kernels = 0, waits = 0;
};

/// Counts work on entry into a stream.
void charge(const Starts& starts);
void write_ledger();

}  // namespace softcuda
