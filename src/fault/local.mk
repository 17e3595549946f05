# SPDX-License-Identifier: Apache-2.0
# Agreement among ranks that may die: src/fault/README.md.
fault_sources += \
  src/fault/agreement.cc src/fault/agreement.hpp \
  src/fault/board.cc src/fault/board.hpp \
  src/fault/host_memory.cc src/fault/host_memory.hpp \
  src/fault/hosts.cc src/fault/hosts.hpp \
  src/fault/word.cc src/fault/word.hpp
