// SPDX-License-Identifier: Apache-2.0
// Memory pools for cuMemAllocAsync.
#pragma once
#include "memory.hpp"

/// A pool is never freed, so a stale handle is an error.
struct CUmemPoolHandle_st {
  int physical = 0;
  unsigned long long types = 0;
  bool is_default = false;
  bool imported = false;
  bool alive = true;
  softcuda::StoragePtr card;
  uint64_t threshold = 0;
  size_t used = 0;
  std::map<int, unsigned long long> access;
};
