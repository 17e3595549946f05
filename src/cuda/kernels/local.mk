# SPDX-License-Identifier: Apache-2.0
# Kernels, and the host's part of them.
libtern_la_SOURCES += src/cuda/kernels/reduce_plan.cc
