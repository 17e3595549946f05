// SPDX-License-Identifier: Apache-2.0
// All kernels in a single translation unit: one fatbin, and one compiler pass per architecture.
#include "cuda/kernels/exchange.cu"
#include "cuda/kernels/interpret.cu"
#include "cuda/kernels/mail.cu"
#include "cuda/kernels/multicast.cu"
#include "cuda/kernels/pack.cu"
#include "cuda/kernels/push.cu"
#include "cuda/kernels/reduce.cu"
