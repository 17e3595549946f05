// SPDX-License-Identifier: Apache-2.0
#include "btl/cuda_ipc/opening.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "btl/cuda_ipc/opened.hpp"
#include "cuda/mapping.hpp"

namespace tern::btl::cuda_ipc {
namespace {

constexpr uint64_t kLeastWindow = 128 << 20;

bool fail_with(Failure* failure, const char* function, CUresult result) {
  *failure = failure_of(function, result);
  return false;
}

// Fabric handles are not retried if the driver lacks a fabric channel.
bool import_by_fabric(const cuda::Driver& driver, const Row& row, bool* worth_trying,
                      CUmemGenericAllocationHandle* handle, Failure* failure) {
  CUmemFabricHandle words;
  std::memcpy(&words, row.handle, sizeof words);
  const CUresult result =
      driver.cuMemImportFromShareableHandle(handle, &words, CU_MEM_HANDLE_TYPE_FABRIC);
  *worth_trying = result != CUDA_ERROR_NOT_PERMITTED && result != CUDA_ERROR_NOT_SUPPORTED &&
                  result != CUDA_ERROR_INVALID_VALUE;
  return result == CUDA_SUCCESS ||
         fail_with(failure, "cuMemImportFromShareableHandle of a fabric handle", result);
}

// The row is checked again, because the owner may have closed and reused the descriptor number.
bool import_by_descriptor(const PeerLedger* ledger, Descriptors& descriptors,
                          const ChainPiece& piece, const Window& window,
                          CUmemGenericAllocationHandle* handle, Failure* failure) {
  const Fd descriptor = descriptors.take(
      {window.owner, piece.row.descriptor, ledger->number(), piece.number, piece.row.stamp},
      &failure->why);
  if (!descriptor.valid()) return false;
  if (!ledger->has_descriptor(piece.number, piece.row.stamp, piece.row.descriptor)) {
    failure->why = "the owner has withdrawn the memory";
    return false;
  }
  const CUresult result = window.device->driver.cuMemImportFromShareableHandle(
      handle, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor.get())),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  return result == CUDA_SUCCESS || fail_with(failure, "cuMemImportFromShareableHandle", result);
}

bool import_piece(const PeerLedger* ledger, Descriptors& descriptors, const ChainPiece& piece,
                  const Window& window, bool* fabric, CUmemGenericAllocationHandle* handle,
                  Failure* failure) {
  failure->why = "the owner shares the memory in an unknown form";
  if ((piece.row.forms & Row::kFabric) != 0 && *fabric &&
      import_by_fabric(window.device->driver, piece.row, fabric, handle, failure))
    return true;
  return ledger != nullptr && (piece.row.forms & Row::kDescriptor) != 0 &&
         import_by_descriptor(ledger, descriptors, piece, window, handle, failure);
}

}  // namespace

bool open_legacy(const MemoryHandle& handle, cuda::Device& device, Import* import,
                 Failure* failure) {
  *import = {&device, nullptr, handle.buffer_id, handle.bytes, 0};
  import->base = handle.base;
  import->here = Opened::instance().open(handle, device, failure);
  return import->here != 0;
}

// A window is at least twice the block, or only the block if addresses are scarce.
bool reserve(const MemoryHandle& handle, cuda::Device& device, Window* window, Failure* failure) {
  const cuda::Driver& driver = device.driver;
  if (!cuda::can_map(driver) || driver.cuMemImportFromShareableHandle == nullptr) {
    failure->why = cuda::lacks_in_words(driver, "cuMemImportFromShareableHandle");
    return false;
  }
  if (handle.bytes <= uint64_t{1} << 46) {
    const uint64_t half = std::bit_ceil(std::max(handle.bytes, kLeastWindow / 2));
    *window = {&device, owner_of(handle), handle.base / half * half, 2 * half, 0};
    if (driver.cuMemAddressReserve(&window->here, window->bytes, 0, 0, 0) == CUDA_SUCCESS)
      return true;
  }
  *window = {&device, owner_of(handle), handle.base, handle.bytes, 0};
  const CUresult result = driver.cuMemAddressReserve(&window->here, window->bytes, 0, 0, 0);
  return result == CUDA_SUCCESS || fail_with(failure, "cuMemAddressReserve", result);
}

bool map_piece(const PeerLedger* ledger, Descriptors& descriptors, const ChainPiece& piece,
               Window& window, bool* fabric, Import* import, Failure* failure) {
  const cuda::Driver& driver = window.device->driver;
  const Row& row = piece.row;
  CUmemGenericAllocationHandle handle = 0;
  if (!import_piece(ledger, descriptors, piece, window, fabric, &handle, failure)) return false;
  *import = {
      window.device, &window,  row.buffer_id, row.bytes, window.here + (row.base - window.base),
      piece.number,  row.stamp};
  const CUresult result = driver.cuMemMap(import->here, row.bytes, 0, handle, 0);
  (void)driver.cuMemRelease(handle);
  if (result != CUDA_SUCCESS) return fail_with(failure, "cuMemMap", result);
  ++window.imports;
  return true;
}

bool allow(cuda::Device& device, CUdeviceptr at, size_t bytes, Failure* failure) {
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, device.ordinal};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  const CUresult result = device.driver.cuMemSetAccess(at, bytes, &access, 1);
  return result == CUDA_SUCCESS || fail_with(failure, "cuMemSetAccess", result);
}

bool unmap(const Import& import) noexcept {
  if (import.window == nullptr)
    return Opened::instance().close(*import.device, import.base, import.buffer_id, import.here);
  if (import.device->gone()) return true;
  const cuda::Current current(*import.device);
  return import.device->driver.cuMemUnmap(import.here, import.bytes) == CUDA_SUCCESS;
}

void unreserve(const Window& window) noexcept {
  if (window.device->gone()) return;
  const cuda::Current current(*window.device);
  (void)window.device->driver.cuMemAddressFree(window.here, window.bytes);
}

}  // namespace tern::btl::cuda_ipc
