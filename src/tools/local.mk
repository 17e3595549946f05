# SPDX-License-Identifier: Apache-2.0
# The programs that users run: mpirun and the compiler wrappers.
