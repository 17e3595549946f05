// SPDX-License-Identifier: Apache-2.0
#include "stream/board.hpp"

#include <algorithm>
#include <atomic>
#include <new>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::stream {
namespace {

constexpr size_t kPage = 4096, kWords = 256, kLine = 64;  // bytes; words are a cache line apart

}  // namespace

Boards::~Boards() {
  for (const Page& page : pages_) {
    if (page.device->gone()) continue;
    const cuda::Current current(*page.device);
    (void)page.device->driver.cuMemFreeHost(page.here);
  }
}

bool Boards::add_page(cuda::Device& device, std::string* why) {
  const cuda::Driver& driver = device.driver;
  const cuda::Current current(device);
  void* here = nullptr;
  CUdeviceptr at = 0;
  CUresult result =
      driver.cuMemHostAlloc(&here, kPage, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
  if (result != CUDA_SUCCESS) {
    *why = cuda::words_of("cuMemHostAlloc", result);
    return false;
  }
  result = driver.cuMemHostGetDevicePointer_v2(&at, here, 0);
  if (result != CUDA_SUCCESS) {
    *why = cuda::words_of("cuMemHostGetDevicePointer", result);
    (void)driver.cuMemFreeHost(here);
    return false;
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  pages_.push_back({&device, static_cast<std::byte*>(here), at});
  for (size_t begin = 0; begin < kPage; begin += kWords) {
    Words words{&device, {}};
    Word* const each[] = {&words.board.mail, &words.board.done[0], &words.board.done[1]};
    size_t offset = begin;
    for (Word* word : each) {
      word->here = new (static_cast<std::byte*>(here) + offset) std::atomic<uint32_t>(0);
      word->at = at + offset;
      offset += kLine;
    }
    idle_.push_back(words);
  }
  return true;
}

Failure Boards::make(cuda::Device& device, size_t chunk, Board* board) noexcept {
  try {
    std::string why;
    const auto find = [&] {
      const std::lock_guard<std::mutex> guard(mutex_);
      const auto found = std::find_if(idle_.begin(), idle_.end(),
                                      [&](const Words& one) { return one.device == &device; });
      if (found == idle_.end()) return false;
      *board = found->board;
      idle_.erase(found);
      return true;
    };
    if (!find() && (!add_page(device, &why) || !find()))
      return failure(MPI_ERR_NO_MEM, "no pinned memory for a stream's semaphores: %s", why.c_str());
    const cuda::Current current(device);
    for (size_t i = 0; i < board->halves.size(); ++i) {
      board->bytes[i] = chunk;
      CUresult error = CUDA_SUCCESS;
      board->halves[i] = device.blocks.acquire(cuda::Store::kPinned, &board->bytes[i], &error);
      if (board->halves[i] != nullptr) continue;
      give_back(device, *board);
      return failure(MPI_ERR_NO_MEM, "no pinned memory of %zu bytes for a stream: %s", chunk,
                     cuda::words_of("cuMemHostAlloc", error).c_str());
    }
    return {};
  } catch (const std::bad_alloc&) {
    return failure(MPI_ERR_NO_MEM, "no memory for a stream");
  }
}

void Boards::give_back(cuda::Device& device, const Board& board) noexcept {
  for (size_t i = 0; i < board.halves.size(); ++i)
    if (board.halves[i] != nullptr && !device.gone())
      device.blocks.release(cuda::Store::kPinned, board.halves[i], board.bytes[i]);
  Words words{&device, board};
  words.board.halves = {};
  const std::lock_guard<std::mutex> guard(mutex_);
  try {
    idle_.push_back(words);
  } catch (const std::bad_alloc&) {  // the words stay unused until MPI ends
  }
}

void Boards::prepare(const core::Datatype& type) noexcept {
  std::vector<cuda::Device*> devices;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    try {
      for (const Page& page : pages_)
        if (std::find(devices.begin(), devices.end(), page.device) == devices.end())
          devices.push_back(page.device);
    } catch (const std::bad_alloc&) {
      return;
    }
  }
  for (cuda::Device* device : devices)
    if (!device->gone()) prepare_type(*device, type);
}

}  // namespace tern::stream
