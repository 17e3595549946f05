// SPDX-License-Identifier: Apache-2.0
// threads_main_ends.c where the first threads have exchanged large data before.
// ranks: 2 3
// args: late
#include "threads_main_ends.c"
