# SPDX-License-Identifier: Apache-2.0
# The machine: src/topo/README.md.
libtern_la_SOURCES += \
  src/topo/cpus.cc src/topo/cpus.hpp \
  src/topo/hwloc_library.cc src/topo/hwloc_library.hpp \
  src/topo/tree.cc src/topo/tree.hpp
