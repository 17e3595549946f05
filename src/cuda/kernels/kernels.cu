// SPDX-License-Identifier: Apache-2.0
// All kernels in one translation unit: one fatbin, one pass of the compiler for each architecture.
#include "cuda/kernels/exchange.cu"
#include "cuda/kernels/interpret.cu"
#include "cuda/kernels/mail.cu"
#include "cuda/kernels/multicast.cu"
#include "cuda/kernels/pack.cu"
#include "cuda/kernels/push.cu"
#include "cuda/kernels/reduce.cu"
