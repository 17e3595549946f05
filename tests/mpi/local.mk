# SPDX-License-Identifier: Apache-2.0
# Multi-process tests: tests/mpi/run finds *.c, *.cc and *.sh by itself; nothing need be listed here.
