# SPDX-License-Identifier: Apache-2.0
# Benchmarks: plain MPI programs that compare builds with each mpicc.
