# SPDX-License-Identifier: Apache-2.0
# The machine: src/topo/README.md.
libtern_la_SOURCES += src/topo/cpus.cc src/topo/cpus.hpp
