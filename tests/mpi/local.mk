# SPDX-License-Identifier: Apache-2.0
# Tests of several processes: tests/mpi/run finds all *.c, *.cc and *.sh without a list.
