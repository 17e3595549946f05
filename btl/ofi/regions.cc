// SPDX-License-Identifier: Apache-2.0
// Regions: opening and closing; keys as bytes.
#include "btl/ofi/regions.hpp"

#include <climits>
#include <cstring>

#include "base/error.hpp"
#include "btl/net/options.hpp"
#include "cuda/rdma_memory.hpp"
#include "mpi.h"

namespace tern::btl::ofi {

KeyBytes packed(const KeyAndBase& both) noexcept {
  KeyBytes bytes;
  std::memcpy(bytes.data(), &both, bytes.size());
  return bytes;
}

std::optional<KeyAndBase> unpacked(std::span<const std::byte> key) noexcept {
  KeyAndBase both;
  if (key.size() != sizeof both) return std::nullopt;
  std::memcpy(&both, key.data(), sizeof both);
  return both;
}

namespace {

constexpr size_t kPart = 4;

bool takes_dma_buf(const Library& fi) noexcept {
  constexpr unsigned kLeastMinor = 20;
  return fi.major > 1 || fi.minor >= kLeastMinor;
}

}  // namespace

Regions::Regions(const Library& fi, const fi_info& info, fid_domain* domain, fid_ep* ep) noexcept
    : domain_(domain),
      ep_(ep),
      mode_(info.domain_attr->mr_mode),
      key_bytes_(info.domain_attr->mr_key_size),
      takes_dma_buf_(takes_dma_buf(fi)),
      most_(net::lock_limit().value_or(SIZE_MAX) / kPart) {}

uint64_t Regions::new_key() noexcept {
  if ((mode_ & FI_MR_PROV_KEY) != 0) return 0;
  const uint64_t key = ++last_key_;
  return key_bytes_ == 0 || key_bytes_ >= sizeof key
             ? key
             : key & ((uint64_t{1} << (key_bytes_ * CHAR_BIT)) - 1);
}

int Regions::open(const iovec& memory, uint64_t access, fid_mr** made) noexcept {
  fid_mr* region = nullptr;
  const int result = ::fi_mr_reg(domain_, memory.iov_base, memory.iov_len, access, 0, new_key(), 0,
                                 &region, nullptr);
  return result != 0 ? result : enlist(region, made);
}

int Regions::enlist(fid_mr* region, fid_mr** made) noexcept {
  int result = 0;
  if ((mode_ & FI_MR_ENDPOINT) != 0) {
    result = ::fi_mr_bind(region, &ep_->fid, 0);
    if (result == 0) result = ::fi_mr_enable(region);
  }
  if (result != 0) {
    ::fi_close(&region->fid);
    return result;
  }
  open_.emplace(region, 0);
  *made = region;
  return 0;
}

namespace {

constexpr uint64_t kDeviceAccess = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

fi_mr_attr attributes_of(const cuda::Memory& memory, uint64_t key) noexcept {
  fi_mr_attr attributes{};
  attributes.iov_count = 1;
  attributes.access = kDeviceAccess;
  attributes.requested_key = key;
  attributes.iface = FI_HMEM_CUDA;
  attributes.device.cuda = memory.device;
  return attributes;
}

}  // namespace

int Regions::open_device(const cuda::Memory& memory, fid_mr** made) noexcept {
  if (takes_dma_buf_ && open_dma_buf(memory, made) == 0) return 0;
  fid_mr* region = nullptr;
  const iovec where{reinterpret_cast<void*>(memory.base), memory.bytes};
  fi_mr_attr attributes = attributes_of(memory, new_key());
  attributes.mr_iov = &where;
  const int result = ::fi_mr_regattr(domain_, &attributes, 0, &region);
  return result != 0 ? result : enlist(region, made);
}

// Headers before 1.20 lack dma-buf, and a provider may refuse the flag.
int Regions::open_dma_buf(const cuda::Memory& memory, fid_mr** made) noexcept {
#ifdef FI_MR_DMABUF
  const cuda::DmaBuf exported = cuda::export_dma_buf(memory);
  if (!exported.descriptor.valid()) return -FI_ENOSYS;
  fi_mr_dmabuf dma_buf{};
  dma_buf.fd = exported.descriptor.get();
  dma_buf.offset = exported.offset;
  dma_buf.len = memory.bytes;
  dma_buf.base_addr = reinterpret_cast<void*>(memory.base - exported.offset);
  fi_mr_attr attributes = attributes_of(memory, new_key());
  attributes.dmabuf = &dma_buf;
  fid_mr* region = nullptr;
  const int result = ::fi_mr_regattr(domain_, &attributes, FI_MR_DMABUF, &region);
  return result != 0 ? result : enlist(region, made);
#else
  (void)memory, (void)made;
  return -FI_ENOSYS;
#endif
}

int Regions::open_within_limit(const iovec& memory, uint64_t access, fid_mr** made) noexcept {
  if (memory.iov_len > most_ - used_) return -FI_ENOMEM;
  const int result = open(memory, access, made);
  if (result != 0) return result;
  open_[*made] = memory.iov_len;
  used_ += memory.iov_len;
  return 0;
}

void Regions::close(fid_mr* region) noexcept {
  const auto found = open_.find(region);
  if (found == open_.end()) return;
  used_ -= found->second;
  open_.erase(found);
  ::fi_close(&region->fid);
}

void Regions::close_all() noexcept {
  for (const auto& [region, bytes] : open_) ::fi_close(&region->fid);
  open_.clear();
}

std::unique_ptr<MemoryRegion> register_device(const Fabric& fabric,
                                              const std::shared_ptr<Regions>& regions,
                                              const cuda::Memory& memory) {
  if (const std::string why = fabric.why_no_devices(); !why.empty())
    throw Error(MPI_ERR_OTHER, why);
  fid_mr* region = nullptr;
  require(fabric.fi, regions->open_device(memory, &region), "fi_mr_regattr of device memory");
  const KeyAndBase both{::fi_mr_key(region),
                        regions->base_of(reinterpret_cast<const void*>(memory.base))};
  auto made = std::make_unique<OfiRegion>(regions, region, both);
  if (both.key == FI_KEY_NOTAVAIL) throw Error(MPI_ERR_OTHER, "libfabric gives no key");
  return made;
}

// A registration makes libfabric's cache drop the 64 MiB, which libfabric's own buffers may need.
void require_lockable_memory(const Fabric& fabric, Regions& regions) {
  const bool locks = (fabric.info()->domain_attr->mr_mode & (FI_MR_LOCAL | FI_MR_ALLOCATED)) != 0;
  if (!locks || !fabric.has_rdma()) return;
  net::require_lockable_memory(
      [&](const iovec& memory) {
        fid_mr* region = nullptr;
        require(fabric.fi, regions.open(memory, FI_REMOTE_READ | FI_REMOTE_WRITE, &region),
                "fi_mr_reg");
        regions.close(region);
      },
      "TERN_TRANSPORT=ofi TERN_OFI_PROVIDER=net (tcp from libfabric 1.18 on) for TCP");
  constexpr size_t kPage = 4096;
  const auto page = std::make_unique<std::byte[]>(kPage);
  fid_mr* region = nullptr;
  if (regions.open({page.get(), kPage}, FI_READ, &region) == 0) regions.close(region);
}

}  // namespace tern::btl::ofi
