// SPDX-License-Identifier: Apache-2.0
// RDMA of libfabric's TCP provider, in the ways of providers that need more: local registration,
// virtual addresses, small messages, few keys.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <vector>

#include "base/clock.hpp"
#include "boot/fake.hpp"
#include "btl/address_book.hpp"
#include "btl/ofi/ofi.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"

namespace tern::btl::ofi {
namespace {

constexpr size_t kLong = 3 << 20;
constexpr int64_t kPatienceNs = 20'000'000'000;

std::vector<std::byte> numbered(size_t bytes) {
  std::vector<std::byte> made(bytes);
  for (size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(i * 13 + i / 4096);
  return made;
}

class Told final : public Sink {
 public:
  void arrived(Endpoint&, const Frame&) noexcept override {}
  void failed(Endpoint&, const std::string& why) noexcept override { failure = why; }
  void done(Operation& operation) noexcept override { ++*static_cast<int*>(operation.owner); }
  std::string failure;
};

struct Side {
  Side(const boot::FakeJob& job, int rank, const std::shared_ptr<const Fabric>& fabric)
      : boot(job.boot(rank)), book(process) {
    process.boot = boot.get();
    process.world_rank = rank;
    process.world_size = process.node.ranks = 2;
    btl = std::make_unique<Ofi>(process, told, book, fabric, 0);
    ConnectionInfo info = book.own();
    book.list(info, "ofi", 0, btl->address());
    boot->put_connection_info(boot::connection_info_of(info));
  }
  const std::unique_ptr<boot::Boot> boot;
  core::Process process;
  Told told;
  AddressBook book;
  std::unique_ptr<Ofi> btl;
  std::unique_ptr<MemoryRegion> held;  // ends with the process
};

class OfiRdma : public testing::Test {
 protected:
  using Change = void (*)(fi_info&);
  void begin(Change change = [](fi_info&) {}) {
    std::string why;
    const Library* const opened = library("", &why);
    if (opened == nullptr) GTEST_SKIP() << why;
    const auto fabric = std::make_shared<const Fabric>(*opened, "", net::Choice{}, Near{});
    if (!fabric->is_sockets()) GTEST_SKIP() << fabric->provider() << " is not for TCP";
    ASSERT_EQ(fabric->flush_by(), FlushBy::kDelivery);
    change(*fabric->info());
    one_ = std::make_unique<Side>(job_, 0, fabric);
    other_ = std::make_unique<Side>(job_, 1, fabric);
    to_ = one_->btl->connect(one_->process.peer(1), 0);
    ASSERT_NE(to_, nullptr);
    ASSERT_NE(to_->caps.rdma, nullptr);
    Endpoint* const back = other_->btl->connect(other_->process.peer(0), 0);
    theirs_ = back->caps.rdma;
    rdma_ = to_->caps.rdma;
    operation_.owner = &told_done_;
  }
  void progress() {
    one_->btl->progress();
    if (other_ != nullptr) other_->btl->progress();
  }
  /// Whether all begun operations end in time.
  bool ends() {
    for (const int64_t end = now_ns() + kPatienceNs; operation_.left != 0; progress())
      if (now_ns() > end) return false;
    return true;
  }
  void begin_until_started(const std::function<Start()>& begin) {
    const int64_t end = now_ns() + kPatienceNs;
    while (begin() == Start::kNoRoom) {
      progress();
      ASSERT_LT(now_ns(), end);
    }
  }
  void put(const RemoteKey& key, const std::byte* to, const std::vector<std::byte>& from) {
    const iovec all{const_cast<std::byte*>(from.data()), from.size()};
    begin_until_started([&] { return rdma_->start_put(key, address_of(to), all, operation_); });
  }
  void flush() {
    begin_until_started([&] { return rdma_->start_flush(operation_); });
  }
  static uint64_t address_of(const std::byte* to) { return reinterpret_cast<uint64_t>(to); }
  void goes_there_and_back(size_t bytes) {
    const auto mine = numbered(bytes);
    std::vector<std::byte> there(bytes + 2), back(bytes);
    const auto region = theirs_->register_memory(there.data(), there.size());
    ASSERT_NE(region, nullptr);
    const auto key = rdma_->import_key(region->key());
    ASSERT_NE(key, nullptr);
    put(*key, there.data() + 1, mine);
    flush();
    ASSERT_TRUE(ends());
    EXPECT_EQ(std::memcmp(there.data() + 1, mine.data(), bytes), 0) << bytes;
    EXPECT_EQ(there.front(), std::byte{});
    EXPECT_EQ(there.back(), std::byte{});
    const iovec into{back.data(), back.size()};
    begin_until_started(
        [&] { return rdma_->start_get(*key, address_of(there.data() + 1), into, operation_); });
    ASSERT_TRUE(ends());
    EXPECT_EQ(back, mine) << bytes;
    EXPECT_TRUE(one_->btl->is_quiet());
  }

  const boot::FakeJob job_{2};
  std::unique_ptr<Side> one_, other_;
  Endpoint* to_ = nullptr;
  Rdma* rdma_ = nullptr;
  Rdma* theirs_ = nullptr;
  Operation operation_;
  int told_done_ = 0;
};

void small_messages(fi_info& info) { info.ep_attr->max_msg_size = 100'000; }
void registered(fi_info& info) {
  info.domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_PROV_KEY | FI_MR_ALLOCATED;
}
void few_keys(fi_info& info) {
  info.domain_attr->mr_mode = FI_MR_LOCAL;
  info.domain_attr->mr_key_size = 1;
}

TEST_F(OfiRdma, LongPutsAndGetsAreSplit) {
  begin(small_messages);
  if (IsSkipped()) return;
  for (const size_t bytes : {size_t{1}, size_t{100'000}, size_t{100'001}, kLong})
    goes_there_and_back(bytes);
}

TEST_F(OfiRdma, LocalMemoryIsRegisteredAndAddressesAreVirtual) {
  begin(registered);
  if (IsSkipped()) return;
  for (const size_t bytes : {size_t{1}, size_t{4096}, size_t{4097}, kLong})
    goes_there_and_back(bytes);
}

TEST_F(OfiRdma, DataGoesThroughBlocksOnceNothingMoreCanBeRegistered) {
  begin(few_keys);
  if (IsSkipped()) return;
  const auto mine = numbered(kLong);
  std::vector<std::byte> there(kLong), back(kLong);
  const auto region = theirs_->register_memory(there.data(), there.size());
  ASSERT_NE(region, nullptr);
  const auto key = rdma_->import_key(region->key());
  std::vector<std::unique_ptr<MemoryRegion>> kept;
  do kept.push_back(rdma_->register_memory(back.data(), 8));
  while (kept.back() != nullptr && kept.size() < 300);
  ASSERT_EQ(kept.back(), nullptr);
  put(*key, there.data(), mine);
  flush();
  ASSERT_TRUE(ends());
  EXPECT_EQ(there, mine);
  const iovec into{back.data(), back.size()};
  ASSERT_EQ(rdma_->start_get(*key, address_of(there.data()), into, operation_), Start::kStarted);
  ASSERT_TRUE(ends());
  EXPECT_EQ(back, mine);
}

TEST_F(OfiRdma, AFlushWaitsForEarlierPutsOfOthersAlone) {
  begin();
  if (IsSkipped()) return;
  const auto mine = numbered(kLong);
  std::vector<std::byte> there(kLong), later(kLong);
  const auto region = theirs_->register_memory(there.data(), there.size());
  const auto later_region = theirs_->register_memory(later.data(), later.size());
  const auto key = rdma_->import_key(region->key());
  const auto later_key = rdma_->import_key(later_region->key());
  put(*key, there.data(), mine);
  Operation flushes;
  int flushed = 0;
  flushes.owner = &flushed;
  ASSERT_EQ(rdma_->start_flush(flushes), Start::kStarted);
  EXPECT_EQ(flushed, 0);
  for (int i = 0; i < 3; ++i) put(*later_key, later.data(), mine);
  for (const int64_t end = now_ns() + kPatienceNs; flushed == 0 && now_ns() < end;) progress();
  EXPECT_EQ(flushed, 1);
  EXPECT_EQ(there, mine);
  ASSERT_TRUE(ends());
  EXPECT_EQ(later, mine);
  EXPECT_EQ(rdma_->start_flush(flushes), Start::kDone);
}

TEST_F(OfiRdma, AFullPoolRefusesAndLosesNothing) {
  begin();
  if (IsSkipped()) return;
  constexpr size_t kPuts = 2 * Transfers::kTransfers, kEach = 512;
  const auto mine = numbered(kPuts * kEach);
  std::vector<std::byte> there(mine.size());
  const auto region = theirs_->register_memory(there.data(), there.size());
  const auto key = rdma_->import_key(region->key());
  int refused = 0;
  for (size_t at = 0; at < mine.size(); at += kEach) {
    const iovec part{const_cast<std::byte*>(mine.data()) + at, kEach};
    begin_until_started([&] {
      const Start start = rdma_->start_put(*key, address_of(there.data() + at), part, operation_);
      refused += start == Start::kNoRoom;
      return start;
    });
  }
  flush();
  ASSERT_TRUE(ends());
  EXPECT_GT(refused, 0);
  EXPECT_EQ(there, mine);
  EXPECT_TRUE(one_->told.failure.empty()) << one_->told.failure;
}

TEST_F(OfiRdma, KeysOfWrongLengthAreRefused) {
  begin();
  if (IsSkipped()) return;
  std::vector<std::byte> there(100), bytes(MemoryRegion::kMostKey);
  const auto region = theirs_->register_memory(there.data(), there.size());
  ASSERT_NE(region, nullptr);
  for (size_t length = 0; length <= bytes.size(); ++length)
    EXPECT_EQ(rdma_->import_key({bytes.data(), length}) != nullptr, length == region->key().size());
}

TEST_F(OfiRdma, AnUnknownKeyFailsTheEndpointAndEndsItsOperations) {
  begin();
  if (IsSkipped()) return;
  const auto mine = numbered(kLong);
  std::vector<std::byte> there(kLong);
  const auto key = rdma_->import_key(packed({12345, address_of(there.data())}));
  put(*key, there.data(), mine);
  flush();
  EXPECT_TRUE(ends());
  for (const int64_t end = now_ns() + kPatienceNs; one_->told.failure.empty() && now_ns() < end;)
    progress();
  EXPECT_FALSE(one_->told.failure.empty());
  EXPECT_EQ(there, std::vector<std::byte>(kLong));
}

TEST_F(OfiRdma, APeerThatDiesInMidPutEndsAllOperations) {
  begin(small_messages);
  if (IsSkipped()) return;
  const auto mine = numbered(16 * kLong);
  std::vector<std::byte> there(mine.size());
  other_->held = theirs_->register_memory(there.data(), there.size());
  const auto key = rdma_->import_key(other_->held->key());
  put(*key, there.data(), mine);
  flush();
  const std::byte& late = there[kLong + 1];
  for (const int64_t end = now_ns() + kPatienceNs; late == std::byte{} && now_ns() < end;)
    progress();
  ASSERT_NE(operation_.left, 0U);
  other_.reset();
  EXPECT_TRUE(ends());
  EXPECT_EQ(told_done_, 1);
  EXPECT_FALSE(one_->told.failure.empty());
  EXPECT_TRUE(one_->btl->is_quiet());
  const iovec all{there.data(), 1};
  EXPECT_EQ(rdma_->start_put(*key, address_of(there.data()), all, operation_), Start::kDone);
  EXPECT_EQ(rdma_->start_flush(operation_), Start::kDone);
}

}  // namespace
}  // namespace tern::btl::ofi
