// SPDX-License-Identifier: Apache-2.0
// Compiler attributes: printf formats, cold functions, likely branches.
#pragma once

#define TERN_PRINTF(fmt_index, first_arg) __attribute__((format(printf, fmt_index, first_arg)))
#define TERN_COLD __attribute__((cold, noinline))
#define TERN_LIKELY(x) __builtin_expect(!!(x), 1)
#define TERN_UNLIKELY(x) __builtin_expect(!!(x), 0)
