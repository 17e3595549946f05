// SPDX-License-Identifier: Apache-2.0
#include "cuda/staging.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

#include "cuda/copy.hpp"
#include "cuda/device.hpp"
#include "cuda/memory.hpp"

namespace tern::cuda {
namespace {

/// The driver reports a range for all memory but pageable.
bool is_pageable(const std::byte* address) noexcept {
  const Memory memory = look_up(address);
  return memory.kind == MemoryKind::kHost && memory.bytes == 0;
}

void copy_on_host(void* of) {
  const Rows& rows = *static_cast<const Rows*>(of);
  for (size_t i = 0; i < rows.count; ++i)
    std::memmove(rows.to + i * rows.to_pitch, rows.from + i * rows.from_pitch, rows.width);
}

void launch(Job& job, const Rows& rows) {
  auto kept = std::make_shared<Rows>(rows);
  void* const argument = kept.get();
  job.keep(std::move(kept));
  job.mark();
  job.note("cuLaunchHostFunc",
           job.device().driver.cuLaunchHostFunc(job.stream(), copy_on_host, argument));
}

void copy_by_driver(Job& job, const Rows& rows) noexcept {
  job.mark();
  job.note("cuMemcpy2DAsync", copy_rows(job.device().driver, rows.to, rows.to_pitch, rows.from,
                                        rows.from_pitch, rows.width, rows.count, job.stream()));
}

void copy_part(Job& job, const Stage& stage, const Rows& part, bool to_pageable) {
  const Rows in{stage.at, part.width, part.from, part.from_pitch, part.width, part.count};
  const Rows out{part.to, part.to_pitch, stage.at, part.width, part.width, part.count};
  if (to_pageable) {
    copy_by_driver(job, in);
    if (!job.failed()) launch(job, out);
  } else {
    launch(job, in);
    if (!job.failed()) copy_by_driver(job, out);
  }
}

}  // namespace

bool copy_staged(Job& job, const Stage& stage, const Rows& rows) noexcept {
  const bool to_pageable = is_pageable(rows.to), from_pageable = is_pageable(rows.from);
  if (!to_pageable && !from_pageable) return false;
  const Current current(job.device());
  try {
    if (!on_device(look_up(to_pageable ? rows.from : rows.to).kind)) {
      launch(job, rows);
      return true;
    }
    const size_t width = std::min(rows.width, stage.bytes), most = stage.bytes / width;
    for (size_t row = 0; row < rows.count; row += most)
      for (size_t done = 0; done < rows.width && !job.failed(); done += width)
        copy_part(job, stage,
                  {rows.to + row * rows.to_pitch + done, rows.to_pitch,
                   rows.from + row * rows.from_pitch + done, rows.from_pitch,
                   std::min(width, rows.width - done), std::min(most, rows.count - row)},
                  to_pageable);
  } catch (const std::bad_alloc&) {
    job.note("cuLaunchHostFunc", CUDA_ERROR_OUT_OF_MEMORY);
  }
  return true;
}

}  // namespace tern::cuda
