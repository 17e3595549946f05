// SPDX-License-Identifier: Apache-2.0
// Regions: opening and closing; keys as bytes.
#include "btl/ofi/regions.hpp"

#include <climits>
#include <cstring>

#include "base/error.hpp"
#include "btl/net/options.hpp"

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

}  // namespace

Regions::Regions(const fi_info& info, fid_domain* domain, fid_ep* ep) noexcept
    : domain_(domain),
      ep_(ep),
      mode_(info.domain_attr->mr_mode),
      key_bytes_(info.domain_attr->mr_key_size),
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
  int result = ::fi_mr_reg(domain_, memory.iov_base, memory.iov_len, access, 0, new_key(), 0,
                           &region, nullptr);
  if (result != 0) return result;
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
