# SPDX-License-Identifier: Apache-2.0
# Topology of the machine: src/topo/README.md.
topo_sources += \
  src/topo/attribute.cc src/topo/attribute.hpp \
  src/topo/core_hold.cc src/topo/core_hold.hpp \
  src/topo/cpus.cc src/topo/cpus.hpp \
  src/topo/direct_rdma.cc src/topo/direct_rdma.hpp \
  src/topo/hwloc_library.cc src/topo/hwloc_library.hpp \
  src/topo/islands.cc src/topo/islands.hpp \
  src/topo/machine.cc src/topo/machine.hpp \
  src/topo/network_cards.cc src/topo/network_cards.hpp \
  src/topo/nvml.cc src/topo/nvml.hpp src/topo/nvml_api.hpp \
  src/topo/pci.cc src/topo/pci.hpp \
  src/topo/pci_tree.cc src/topo/pci_tree.hpp \
  src/topo/tree.cc src/topo/tree.hpp \
  src/topo/xgmi.cc src/topo/xgmi.hpp
