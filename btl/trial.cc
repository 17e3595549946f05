// SPDX-License-Identifier: Apache-2.0
// Trying all transports of the table.
#include "btl/trial.hpp"

#include "btl/transport.hpp"

namespace tern::btl {

std::vector<Trial> try_transports() {
  std::vector<Trial> trials;
  for (const Transport* transport : transports())
    for (Trial& trial : transport->try_here()) trials.push_back(std::move(trial));
  return trials;
}

}  // namespace tern::btl
