// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/pools.hpp"

#include <cstring>

namespace tern::btl::cuda_ipc {

class Pools::Use final : public MappedPeerMemory {
 public:
  Use(Pools& pools, Pointer& pointer, uint64_t offset) noexcept : pools_(pools), pointer_(pointer) {
    ++pointer_.uses;
    address = reinterpret_cast<std::byte*>(pointer_.here + offset);
  }
  ~Use() override {
    if (--pointer_.uses == 0) pools_.free(pointer_);
  }

 private:
  Pools& pools_;
  Pointer& pointer_;
};

Pools::~Pools() {
  while (!pointers_.empty()) free(pointers_.front());
  for (const PeerPool& pool : pools_) destroy(pool);
}

std::unique_ptr<MappedPeerMemory> Pools::map(const PeerLedger& ledger, Descriptors& descriptors,
                                             const ChainPiece& piece, const MemoryHandle& handle,
                                             cuda::Device& device, Failure* failure) {
  const cuda::Driver& driver = device.driver;
  if (driver.cuMemPoolImportFromShareableHandle == nullptr ||
      driver.cuMemPoolImportPointer == nullptr || driver.cuMemPoolDestroy == nullptr ||
      driver.cuMemPoolSetAccess == nullptr || driver.cuMemFreeAsync == nullptr) {
    failure->why = cuda::lacks_in_words(driver, "cuMemPoolImportFromShareableHandle");
    return nullptr;
  }
  const cuda::Current current(device);
  PeerPool* const pool = pool_of(ledger, descriptors, piece.row.next, handle, device, failure);
  if (pool == nullptr) return nullptr;
  Pointer* const pointer = pointer_of(*pool, piece, failure);
  if (pointer == nullptr) return nullptr;
  return std::make_unique<Use>(*this, *pointer, handle.address - handle.base);
}

// The pool's own device has access; other devices must request access.
Pools::PeerPool* Pools::pool_of(const PeerLedger& ledger, Descriptors& descriptors, uint32_t number,
                                const MemoryHandle& handle, cuda::Device& device,
                                Failure* failure) {
  const Row row = ledger.read(number);
  for (PeerPool& known : pools_)
    if (known.process == handle.process && known.row == number && known.stamp == row.stamp &&
        known.device == &device)
      return &known;
  failure->why = "the owner has withdrawn the pool";
  if (row.stamp == 0 || (row.forms & Row::kPool) == 0) return nullptr;
  const Fd descriptor = descriptors.take(
      {owner_of(handle), row.descriptor, ledger.number(), number, row.stamp}, &failure->why);
  if (!descriptor.valid() || !ledger.has_descriptor(number, row.stamp, row.descriptor))
    return nullptr;
  PeerPool fresh{handle.process, number, row.stamp, &device};
  const CUresult imported = device.driver.cuMemPoolImportFromShareableHandle(
      &fresh.handle, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor.get())),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  if (imported != CUDA_SUCCESS) {
    *failure = failure_of("cuMemPoolImportFromShareableHandle", imported);
    return nullptr;
  }
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.ordinal};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const bool own = handle.device == device.uuid;
  const CUresult allowed =
      own ? CUDA_SUCCESS : device.driver.cuMemPoolSetAccess(fresh.handle, &access, 1);
  if (allowed == CUDA_SUCCESS) return &pools_.emplace_back(fresh);
  *failure = failure_of("cuMemPoolSetAccess", allowed);
  destroy(fresh);
  return nullptr;
}

Pools::Pointer* Pools::pointer_of(PeerPool& pool, const ChainPiece& piece, Failure* failure) {
  for (Pointer& known : pointers_)
    if (known.pool == &pool && known.stamp == piece.row.stamp) return &known;
  CUmemPoolPtrExportData words;
  static_assert(sizeof words == sizeof piece.row.handle);
  std::memcpy(&words, piece.row.handle, sizeof words);
  Pointer fresh{&pool, piece.row.stamp, 0, 0};
  const CUresult result =
      pool.device->driver.cuMemPoolImportPointer(&fresh.here, pool.handle, &words);
  if (result != CUDA_SUCCESS) {
    *failure = failure_of("cuMemPoolImportPointer", result);
    return nullptr;
  }
  ++pool.pointers;
  return &pointers_.emplace_back(fresh);
}

// free() waits in a separate stream, because the owner may free the memory afterwards.
void Pools::free(Pointer& pointer) noexcept {
  PeerPool& pool = *pointer.pool;
  if (!pool.device->gone()) {
    const cuda::Driver& driver = pool.device->driver;
    cuda::Job job(*pool.device);
    const cuda::Current current(*pool.device);
    job.mark();
    if (job.failed() || driver.cuMemFreeAsync(pointer.here, job.stream()) != CUDA_SUCCESS)
      (void)driver.cuMemFree_v2(pointer.here);
    (void)job.finish();
  }
  --pool.pointers;
  pointers_.remove_if([&](const Pointer& one) { return &one == &pointer; });
}

void Pools::drop_withdrawn(uint64_t process, const PeerLedger* ledger) noexcept {
  pools_.remove_if([&](const PeerPool& pool) {
    const bool gone = pool.process == process && pool.pointers == 0 &&
                      (ledger == nullptr || !ledger->is(pool.row, pool.stamp));
    if (gone) destroy(pool);
    return gone;
  });
}

void Pools::destroy(const PeerPool& pool) noexcept {
  if (!pool.device->gone()) (void)pool.device->driver.cuMemPoolDestroy(pool.handle);
}

}  // namespace tern::btl::cuda_ipc
