// SPDX-License-Identifier: Apache-2.0
// HandleTable: words of handles.
#include "core/handle.hpp"

#include <cstdlib>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::core {

HandleTable::HandleTable()
    : chunks_(static_cast<std::atomic<Chunk*>*>(std::calloc(kChunks, sizeof *chunks_))) {
  if (chunks_ == nullptr) throw Error(MPI_ERR_NO_MEM, "no memory for the table of handles");
}

HandleTable::~HandleTable() {
  for (Object* object : predefined_)
    if (object != nullptr) object->release();
  for (uint32_t index = kPredefined; index < next_ + kChunk; index += kChunk)
    delete chunks_[index / kChunk].load(std::memory_order_relaxed);
  std::free(chunks_);
}

uintptr_t HandleTable::insert(Object& object) {
  const std::lock_guard<std::mutex> guard(mutex_);
  uint32_t index;
  if (!free_.empty()) {
    index = free_.back();
    free_.pop_back();
  } else {
    index = next_;
    if (index > kIndexMask)
      throw Error(MPI_ERR_NO_MEM, strf("all %u handles are in use; free some objects", kIndexMask));
    ++next_;
  }
  std::atomic<Chunk*>& chunk = chunks_[index / kChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr)
    chunk.store(new Chunk, std::memory_order_release);
  HandleEntry& slot = *entry(index);
  const uintptr_t word =
      word_of(object.kind(), index, slot.generation.load(std::memory_order_relaxed));
  object.set_handle(word);
  object.made_at = current_call;
  slot.object.store(&object, std::memory_order_release);
  return word;
}

void HandleTable::set_predefined(uintptr_t abi_value, Object& object) {
  TERN_ASSERT(abi_value != 0 && abi_value < kConstants && predefined_[abi_value] == nullptr);
  object.set_handle(abi_value);
  predefined_[abi_value] = &object;
}

void HandleTable::erase(Object& object) noexcept {
  const uintptr_t word = object.handle();
  if (word == 0) return;
  if (word < kPredefined) {
    predefined_[word] = nullptr;
    return;
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  const uint32_t index = static_cast<uint32_t>(word) & kIndexMask;
  HandleEntry& slot = *entry(index);
  slot.object.store(nullptr, std::memory_order_release);
  slot.generation.store(generation_of(word) + 1, std::memory_order_relaxed);
  object.set_handle(0);
  free_.push_back(index);
}

// renew() leaves the entry unwritten, because neighbours share its cache line.
uintptr_t HandleTable::renew(Object& object) noexcept {
  const uintptr_t before = object.handle();
  const uint32_t index = static_cast<uint32_t>(before) & kIndexMask;
  const uintptr_t word = word_of(object.kind(), index, generation_of(before) + 1);
  object.set_handle(word);
  return word;
}

uintptr_t HandleTable::from_int(int value) const noexcept {
  if (value < 0) return 0;
  const uint32_t low = static_cast<uint32_t>(value);
  if (low < kPredefined) return low;
  const HandleEntry* found = entry(low & kIndexMask);
  if (found == nullptr) return 0;
  const Object* object = found->object.load(std::memory_order_acquire);
  if (object == nullptr || static_cast<uint32_t>(object->handle()) != low) return 0;
  return object->handle();
}

std::vector<Object*> HandleTable::live(Kind kind) const {
  std::vector<Object*> found;
  for (uint32_t index = kPredefined; index < next_; ++index) {
    const HandleEntry* slot = entry(index);
    Object* object = slot == nullptr ? nullptr : slot->object.load(std::memory_order_acquire);
    if (object != nullptr && object->kind() == kind) found.push_back(object);
  }
  return found;
}

}  // namespace tern::core
