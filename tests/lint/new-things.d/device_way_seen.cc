// SPDX-License-Identifier: Apache-2.0
// Lists the device transports, and makes each.
#include <cstdio>

#include "btl/device.hpp"
#include "core/process.hpp"

int main() {
  tern::core::Process process;
  for (const tern::btl::DeviceTransportRow* row : tern::btl::device_transports())
    std::printf("%s %s\n", row->name, row->make(process) != nullptr ? "made" : "refused");
}
