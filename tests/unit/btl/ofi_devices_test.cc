// SPDX-License-Identifier: Apache-2.0
// Device memory at libfabric: the attributes of registrations, in a domain of the test.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "base/environment.hpp"
#include "btl/ofi/library.hpp"
#include "btl/ofi/regions.hpp"

namespace tern::btl::ofi {
namespace {

struct Seen {
  fi_mr_attr attributes{};
  iovec memory{};
  uint64_t flags = 0;
  int calls = 0, closed = 0;
  int result = 0;
};
Seen seen;

int register_with_attributes(fid*, const fi_mr_attr* attributes, uint64_t flags, fid_mr** made) {
  ++seen.calls;
  seen.attributes = *attributes;
  seen.memory = *attributes->mr_iov;
  seen.flags = flags;
  if (seen.result != 0) return seen.result;
  static fi_ops region_ops = {
      .size = sizeof(fi_ops),
      .close =
          [](fid* region) {
            ++seen.closed;
            delete reinterpret_cast<fid_mr*>(region);
            return 0;
          },
      .bind = nullptr,
      .control = nullptr,
      .ops_open = nullptr,
      .tostr = nullptr,
      .ops_set = nullptr,
  };
  auto* const region = new fid_mr{};
  region->fid.ops = &region_ops;
  region->key = 77;
  *made = region;
  return 0;
}

class OfiDevices : public testing::Test {
 protected:
  OfiDevices() {
    seen = {};
    mr_.size = sizeof mr_;
    mr_.regattr = register_with_attributes;
    domain_.mr = &mr_;
    attributes_.mr_mode = FI_MR_HMEM | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY;
    info_.domain_attr = &attributes_;
    library_.major = 1;
    library_.minor = 17;
  }
  static cuda::Memory memory() {
    cuda::Memory memory;
    memory.kind = cuda::MemoryKind::kDevice;
    memory.base = 0x7000'0000;
    memory.bytes = 3 << 20;
    memory.device = 5;
    return memory;
  }
  fi_ops_mr mr_{};
  fid_domain domain_{};
  fi_domain_attr attributes_{};
  fi_info info_{};
  Library library_;
};

TEST_F(OfiDevices, ARegistrationNamesCudaAndTheDevice) {
  Regions regions(library_, info_, &domain_, nullptr);
  fid_mr* region = nullptr;
  ASSERT_EQ(regions.open_device(memory(), &region), 0);
  EXPECT_EQ(seen.attributes.iface, FI_HMEM_CUDA);
  EXPECT_EQ(seen.attributes.device.cuda, 5);
  EXPECT_EQ(seen.memory.iov_base, reinterpret_cast<void*>(0x7000'0000));
  EXPECT_EQ(seen.memory.iov_len, size_t{3} << 20);
  EXPECT_EQ(seen.attributes.access, FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
  EXPECT_EQ(seen.flags, 0u);
  EXPECT_EQ(::fi_mr_key(region), 77u);
  regions.close(region);
  EXPECT_EQ(seen.closed, 1);
}

TEST_F(OfiDevices, ARefusalIsReturned) {
  Regions regions(library_, info_, &domain_, nullptr);
  fid_mr* region = nullptr;
  seen.result = -FI_ENOSYS;
  EXPECT_EQ(regions.open_device(memory(), &region), -FI_ENOSYS);
  EXPECT_EQ(region, nullptr);
}

TEST_F(OfiDevices, OpenRegionsEndWithThePort) {
  Regions regions(library_, info_, &domain_, nullptr);
  fid_mr* region = nullptr;
  ASSERT_EQ(regions.open_device(memory(), &region), 0);
  regions.close_all();
  EXPECT_EQ(seen.closed, 1);
  regions.close(region);
  EXPECT_EQ(seen.closed, 1);
}

// libfabric registers device memory only after initialising CUDA.
TEST(OfiPresets, LibfabricInitialisesCudaIfTheProgramHas) {
  for (const bool has_gpus : {false, true}) {
    EnvironmentPresets presets;
    preset(&presets, 2, has_gpus);
    EXPECT_STREQ(::getenv("FI_HMEM"), has_gpus ? "system;cuda" : "system");
  }
}

}  // namespace
}  // namespace tern::btl::ofi
