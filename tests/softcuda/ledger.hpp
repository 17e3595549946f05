// SPDX-License-Identifier: Apache-2.0
// The ledger: driver calls by kind, and modelled time (coll/laboratory/simulate/driver_costs.hpp).
#pragma once

namespace softcuda {

struct Starts {
  unsigned copies = 0, kernels = 0, waits = 0;
};

void charge(const Starts& starts);
void write_ledger();

}  // namespace softcuda
