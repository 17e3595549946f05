// SPDX-License-Identifier: Apache-2.0
// Part: the bytes of a transfer in a file.
#pragma once

#include <cstdint>

#include "io/file_window.hpp"
#include "io/raw_file.hpp"
#include "io/view.hpp"

namespace tern::io {

/// Ways permitted by parameters and hints.
struct Ways {
  bool maps = true, sieves = true;
  int64_t maps_below = 0;           // bytes of a block; 0: the file system's limit
  int64_t sieve_bytes = INT64_MAX;  // bytes of a read with the bytes between blocks
};

struct Part {
  const RawFile& file;
  FileWindow& window;
  const View& view;
  int64_t first;  // packed byte of the view
  Ways ways = {};
};

}  // namespace tern::io
