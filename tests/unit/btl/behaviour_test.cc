// SPDX-License-Identifier: Apache-2.0
// The promises of btl.hpp over every transport. A new transport is a row of kRows.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cctype>
#include <cstring>
#include <deque>
#include <functional>
#include <numeric>
#include <string_view>
#include <thread>
#include <vector>

#include "boot/fake.hpp"
#include "btl/address_book.hpp"
#include "btl/claims.hpp"
#include "btl/transport.hpp"
#include "core/peer.hpp"
#include "core/process.hpp"

namespace tern::btl {
namespace {

struct Row {
  const char* name;
  int ranks;
  bool has_rdma = false;
  const char* provider = "";
};

constexpr Row kRows[] = {
    {"self", 1},      {"sm", 2},        {"sm", 3},        {"ucx", 2, true},
    {"ucx", 3, true}, {"ofi", 2, true}, {"ofi", 3, true}, {"ofi", 2, true, "tcp;ofi_rxm"}};

std::unique_ptr<Btl> make(const char* name, core::Process& process, Sink& sink, AddressBook& book) {
  for (const Transport* transport : transports())
    if (std::string_view(transport->name) == name) return transport->make(process, sink, book);
  return nullptr;
}

bool is_here(std::string_view name) {
  if (name == "self" || name == "sm") return true;
  for (const Trial& trial : try_transports())
    if (trial.name == name) return trial.works;
  return false;
}

std::vector<std::byte> pattern(uint32_t number, size_t bytes) {
  std::vector<std::byte> made(bytes);
  constexpr size_t kPeriod = 256;
  for (size_t i = 0; i < std::min(bytes, kPeriod); ++i)
    made[i] = static_cast<std::byte>(number * 7 + i);
  for (size_t at = kPeriod; at < bytes; at *= 2)  // TSan sees each byte that a loop writes
    std::memcpy(&made[at], made.data(), std::min(at, bytes - at));
  return made;
}

class Collector final : public Sink {
 public:
  void arrived(Endpoint& from, const Frame& frame) noexcept override {
    const auto expected = pattern(frame.header.context, frame.bytes);
    if (frame.bytes > 0)
      damaged += std::memcmp(frame.payload, expected.data(), expected.size()) != 0;
    misplaced += frame.header.context != frames || frame.header.source != from.to.peer.rank;
    ++frames;
  }
  void done(Operation& operation) noexcept override { *static_cast<bool*>(operation.owner) = true; }
  uint32_t frames = 0;
  int damaged = 0, misplaced = 0;
};

struct Rank {
  core::Process& process;
  Btl& btl;
  Collector& collector;
  Endpoint& right;
  uint32_t sent = 0;

  void idle() {
    if (btl.progress() == 0) std::this_thread::yield();
  }
  Header header(size_t bytes) {
    return {0,    1,  static_cast<uint16_t>(bytes),
            sent, -1, static_cast<uint32_t>(process.world_rank)};
  }
  void send(size_t bytes) {
    const auto payload = pattern(sent, bytes);
    while (!right.send(header(bytes), payload.data())) idle();
    ++sent;
  }
  void send_in_place(size_t bytes) {
    std::byte* room;
    while ((room = right.begin(bytes)) == nullptr) idle();
    const auto payload = pattern(sent, bytes);
    if (bytes > 0) std::memcpy(room, payload.data(), bytes);
    right.commit(header(bytes));
    ++sent;
  }
  void send_uncopied(ZeroCopy& zero_copy, size_t prefix, const std::vector<size_t>& lengths) {
    struct Part {
      std::vector<std::byte> bytes;
      Operation operation;
      bool told = false;
      Start begun = Start::kNoRoom;
    };
    std::deque<Part> parts;
    for (const size_t length : lengths) {
      Part& part = parts.emplace_back();
      part.bytes = pattern(sent, prefix + length);
      part.operation.owner = &part.told;
      auto head = part.bytes;
      while ((part.begun = zero_copy.start_send(header(0), {head.data(), prefix},
                                                {part.bytes.data() + prefix, length},
                                                part.operation)) == Start::kNoRoom)
        idle();
      std::fill(head.begin(), head.end(), std::byte{});
      ++sent;
    }
    for (Part& part : parts) {
      while (part.begun == Start::kStarted && !part.told) idle();
      EXPECT_EQ(part.operation.left, 0U);
      std::fill(part.bytes.begin(), part.bytes.end(), std::byte{});
    }
  }
  void put(const RemoteKey& key, std::byte* to, const std::vector<std::byte>& from) {
    Rdma& rdma = *right.caps.rdma;
    bool told = false;
    Operation operation;
    operation.owner = &told;
    const size_t piece = from.size() / 3 + 1;
    const auto began = [&](Start start) {
      if (start == Start::kNoRoom) idle();
      return start != Start::kNoRoom;
    };
    for (size_t at = 0; at < from.size(); at += piece) {
      const iovec part{const_cast<std::byte*>(from.data()) + at, std::min(piece, from.size() - at)};
      while (!began(rdma.start_put(key, reinterpret_cast<uint64_t>(to + at), part, operation)))
        continue;
    }
    while (!began(rdma.start_flush(operation))) continue;
    while (operation.left != 0) idle();
  }
  void get(const RemoteKey& key, const std::byte* from, std::vector<std::byte>* into) {
    Operation operation;
    bool told = false;
    operation.owner = &told;
    const iovec part{into->data(), into->size()};
    const auto address = reinterpret_cast<uint64_t>(from);
    while (right.caps.rdma->start_get(key, address, part, operation) == Start::kNoRoom) idle();
    while (operation.left != 0) idle();
  }
  void settle() {
    while (collector.frames < sent) idle();
    EXPECT_EQ(collector.damaged, 0);
    EXPECT_EQ(collector.misplaced, 0);
  }
};

class Behaviour : public testing::TestWithParam<Row> {
 protected:
  void SetUp() override {
    if (!is_here(GetParam().name)) GTEST_SKIP() << GetParam().name << " cannot serve here";
  }
  void run(const std::function<void(Rank&)>& body) {
    const boot::FakeJob job(GetParam().ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < GetParam().ranks; ++rank)
      threads.emplace_back([&, rank] { run_rank(job, rank, body); });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  static void run_rank(const boot::FakeJob& job, int rank, const std::function<void(Rank&)>& body) {
    core::Process process;
    Collector collector;
    const std::unique_ptr<boot::Boot> boot = job.boot(rank);
    process.boot = boot.get();
    process.world_rank = rank;
    process.world_size = process.node.ranks = GetParam().ranks;
    process.node.oversubscribed = true;
    process.params.transport = GetParam().name;
    process.params.ofi_provider = GetParam().provider;
    AddressBook book(process);
    const auto btl = make(GetParam().name, process, collector, book);
    ASSERT_NE(btl, nullptr);
    ConnectionInfo info = book.own();
    if (const std::string address = btl->address(); !address.empty())
      book.list(info, btl->name(), 0, address);
    boot->put_connection_info(boot::connection_info_of(info));
    boot->fence();
    const auto right = static_cast<uint32_t>((rank + 1) % GetParam().ranks);
    Endpoint* endpoint = btl->connect(process.peer(right), 0);
    ASSERT_NE(endpoint, nullptr);
    Rank self{process, *btl, collector, *endpoint};
    body(self);
    self.settle();
    while (!btl->is_quiet() || !btl->is_met()) self.idle();
    boot->start_fence();  // peers may need this rank's progress
    while (!boot->fence_over()) self.idle();
    boot->end_fence();
  }
};

TEST_P(Behaviour, FramesOfEveryLengthArriveInOrderAndWhole) {
  run([](Rank& rank) {
    for (size_t bytes = 0; bytes <= rank.right.max_payload(); bytes += bytes < 200 ? 1 : bytes / 7)
      bytes % 2 == 0 ? rank.send(bytes) : rank.send_in_place(bytes);
    rank.send(rank.right.max_payload());
    rank.send_in_place(rank.right.max_payload());
  });
}

TEST_P(Behaviour, FramesSentFromWhereTheirDataLiesKeepTheirPlace) {
  run([](Rank& rank) {
    if (rank.right.caps.zero_copy == nullptr) return;
    ZeroCopy& zero_copy = *rank.right.caps.zero_copy;
    const size_t most = zero_copy.max_bytes;
    for (const size_t prefix : {size_t{0}, size_t{16}, ZeroCopy::kMostPrefix})
      for (const size_t length : {size_t{0}, size_t{1}, size_t{1000}, most / 2 + 1, most}) {
        rank.send(7);
        rank.send_uncopied(zero_copy, prefix, {length});
        rank.send_in_place(300);
      }
    rank.send_uncopied(zero_copy, 16, std::vector<size_t>(100, most));
    rank.send_uncopied(zero_copy, 0, std::vector<size_t>(1000, 1025));
  });
}

TEST_P(Behaviour, AFullTransportRefusesAndLosesNothing) {
  run([](Rank& rank) {
    for (int i = 0; i < 8000; ++i) rank.send(static_cast<size_t>(i) % 300);
  });
}

TEST_P(Behaviour, FragmentsAreAtMostWhatAFrameHolds) {
  run([](Rank& rank) {
    EXPECT_LE(rank.right.fragment_bytes(), rank.right.max_payload());
    for (int i = 0; i < 100; ++i) {
      const size_t bytes = rank.right.fragment_bytes();
      std::byte* room;
      while ((room = rank.right.begin_fragment(bytes)) == nullptr) rank.idle();
      const auto payload = pattern(rank.sent, bytes);
      std::memcpy(room, payload.data(), bytes);
      rank.right.commit(rank.header(bytes));
      ++rank.sent;
    }
  });
}

TEST_P(Behaviour, ConnectingAgainGivesTheSameEndpoint) {
  run([](Rank& rank) {
    const int right = (rank.process.world_rank + 1) % rank.process.world_size;
    EXPECT_EQ(rank.btl.connect(rank.process.peer(static_cast<uint32_t>(right)), 0), &rank.right);
    EXPECT_NE(rank.right.transport(), nullptr);
  });
}

TEST_P(Behaviour, OneSidedCopiesReachThePeersMemory) {
  run([](Rank& rank) {
    PeerCopy* const copy = rank.right.caps.peer_copy;
    if (copy == nullptr || !copy->works()) GTEST_SKIP() << "no one-sided copies";
    std::vector<int> theirs(1000), mine(1000);
    std::iota(theirs.begin(), theirs.end(), 5);
    const iovec local[] = {{mine.data(), 400}, {mine.data() + 100, 3600}};
    const iovec remote[] = {{theirs.data(), 4000}};
    EXPECT_EQ(copy->get(local, 2, remote, 1), 0);
    EXPECT_EQ(mine, theirs);
    std::fill(theirs.begin(), theirs.end(), 0);
    EXPECT_EQ(copy->put(local, 2, remote, 1), 0);
    EXPECT_EQ(mine, theirs);
  });
}

struct Offered {
  std::vector<std::byte> memory;
  std::unique_ptr<MemoryRegion> region;
  std::atomic<bool> ready{false}, used{false};
};

void put_and_get(Rank& rank, const Offered& theirs, size_t bytes) {
  // The ranks share an address space, so the test reads the peer's memory directly.
  const auto mine = pattern(77 + static_cast<uint32_t>(rank.process.world_rank), bytes);
  EXPECT_LE(theirs.region->key().size(), MemoryRegion::kMostKey);
  const auto opened = rank.right.caps.rdma->import_key(theirs.region->key());
  ASSERT_NE(opened, nullptr);
  rank.put(*opened, const_cast<std::byte*>(theirs.memory.data()), mine);
  EXPECT_TRUE(theirs.memory == mine) << bytes << " bytes";
  std::vector<std::byte> back(bytes);
  rank.get(*opened, theirs.memory.data(), &back);
  EXPECT_TRUE(back == mine) << bytes << " bytes";
}

TEST_P(Behaviour, WhatWasPutIsThereAfterAFlushAndCanBeGot) {
  constexpr size_t kSizes[] = {1, 4096, 3 << 20};
  std::array<std::array<Offered, 3>, std::size(kSizes)> offers;
  run([&](Rank& rank) {
    ASSERT_EQ(rank.right.caps.rdma != nullptr, GetParam().has_rdma);
    if (!GetParam().has_rdma) return;
    Rdma& rdma = *rank.right.caps.rdma;
    const auto self = static_cast<size_t>(rank.process.world_rank);
    for (size_t i = 0; i < std::size(kSizes); ++i) {
      Offered& own = offers[i][self];
      Offered& theirs = offers[i][rank.right.to.peer.rank];
      own.memory.resize(kSizes[i]);
      own.region = rdma.register_memory(own.memory.data(), kSizes[i]);
      ASSERT_NE(own.region, nullptr);
      own.ready = true;
      while (!theirs.ready) rank.idle();
      put_and_get(rank, theirs, kSizes[i]);
      theirs.used = true;
      while (!own.used) rank.idle();
      own.region.reset();
    }
    EXPECT_EQ(rdma.import_key({}), nullptr);
  });
}

TEST_P(Behaviour, ClaimsAreGivenBackAndNeverShared) {
  run([](Rank& rank) {
    if (rank.right.caps.claims == nullptr) return;
    Claims& pairs = *rank.right.caps.claims;
    std::vector<uint32_t> names;
    for (int round = 0; round < 3; ++round) {
      uint32_t name = 0;
      while (SharedClaims* claims = pairs.open(&name)) {
        EXPECT_NE(name, 0U);
        EXPECT_EQ(claims->claim_front(2), 0U);
        EXPECT_EQ(claims->claim_back(2), 1U);
        EXPECT_EQ(claims->claim_front(2), SharedClaims::kNone);
        names.push_back(name);
      }
      EXPECT_EQ(name, 0U);
      for (const uint32_t open : names) pairs.close(open);
      names.clear();
    }
    EXPECT_EQ(pairs.find(0), nullptr);
    EXPECT_EQ(pairs.find(1U << 30), nullptr);
  });
}

INSTANTIATE_TEST_SUITE_P(Every, Behaviour, testing::ValuesIn(kRows), [](const auto& row) {
  std::string name = row.param.name + ("_of_" + std::to_string(row.param.ranks));
  for (const char* at = row.param.provider; *at != '\0'; ++at)
    name += std::isalnum(static_cast<unsigned char>(*at)) != 0 ? *at : '_';
  return name;
});

}  // namespace
}  // namespace tern::btl
