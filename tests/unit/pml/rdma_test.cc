// SPDX-License-Identifier: Apache-2.0
// Rendezvous by RDMA on a bad network: gets, puts if the sender offers no key, and fragments if an
// end refuses memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "core/datatype_build.hpp"
#include "pml/pml.hpp"
#include "tests/unit/world.hpp"

namespace tern::test::rdma {
namespace {

using core::Process;
using pml::Buffer;
using pml::Envelope;
using pml::Mode;

constexpr size_t kLarge = 3000001;

pml::Pml& pml_of(Process& process) { return *process.channel(0).pml; }
Envelope with(Process& process, int tag) { return {process.world, 1 - process.world_rank, tag}; }
Buffer bytes_of(Process& process, std::vector<uint8_t>& data) {
  return {data.data(), static_cast<MPI_Count>(data.size()),
          &core::predefined_type(process, MPI_BYTE)};
}
// Blocks of 4096 bytes differ in their first two, middle and last. TSan sees each byte that a loop
// writes.
std::vector<uint8_t> pattern(size_t bytes, size_t seed) {
  constexpr size_t kBlock = 4096;
  std::vector<uint8_t> data(bytes);
  for (size_t i = 0; i < std::min(bytes, kBlock); ++i)
    data[i] = static_cast<uint8_t>(i * 131 + seed);
  for (size_t at = kBlock; at < bytes; at += kBlock) {
    std::memcpy(&data[at], data.data(), std::min(kBlock, bytes - at));
    data[at] = static_cast<uint8_t>(at / kBlock + seed);
    if (at + 1 < bytes) data[at + 1] = static_cast<uint8_t>(at / kBlock / 256 + seed);
    for (const size_t mark : {at + kBlock / 2, at + kBlock - 1})
      if (mark < bytes) data[mark] = static_cast<uint8_t>(mark / kBlock * 7 + seed);
  }
  return data;
}
int end_of(Process& process, core::Request* request) {
  process.channel(0).progress.wait([request] { return request->done(); },
                                   [request](WaitReport* report) { request->describe(report); });
  const int error = request->outcome.error;
  if (!request->persistent()) request->release();
  return error;
}
pml::Statistics figures_of(Process& process) {
  pml::Statistics figures;
  pml_of(process).add_up(nullptr, &figures);
  return figures;
}

class Rdma : public testing::TestWithParam<unsigned> {
 protected:
  Rdma() : world_(2) { world_.use(GetParam()); }
  Network& network() { return world_.between(); }
  void run(const World::Rank& body) {
    world_.run([&](Process& process) {
      body(process);
      EXPECT_EQ(process.registrations.bytes, 0u);
    });
  }
  void send(Process& process, const Buffer& data, Mode mode = Mode::kStandard) {
    ASSERT_EQ(pml_of(process).send(data, with(process, 1), mode), MPI_SUCCESS);
  }
  World world_;
};

TEST_P(Rdma, EverySizeIsReadWhole) {
  const std::vector<size_t> sizes = {262144, 1 << 20, (1 << 20) + 1, kLarge, 6 << 20};
  run([&](Process& process) {
    for (const size_t size : sizes) {
      auto data = pattern(size, 1);
      if (process.world_rank == 0) {
        send(process, bytes_of(process, data),
             size % 2 == 0 ? Mode::kStandard : Mode::kSynchronous);
        continue;
      }
      std::vector<uint8_t> in(size);
      ASSERT_EQ(pml_of(process).recv(bytes_of(process, in), with(process, 1), nullptr), 0);
      EXPECT_TRUE(in == data) << size;
    }
    const pml::Statistics figures = figures_of(process);
    EXPECT_EQ(figures.read_by_rdma, process.world_rank == 0 ? sizes.size() : 0);
    EXPECT_EQ(figures.written_by_rdma + figures.in_fragments, 0u);
  });
  size_t sum = 0;
  for (const size_t size : sizes) sum += size;
  EXPECT_EQ(network().moved_by_get, sum);
}

TEST_P(Rdma, AReceiverWithHolesReadsInPieces) {
  const std::vector<size_t> counts = {500001, 130001, 22000};
  run([&](Process& process) {
    for (const size_t blocks : counts) {
      auto data = pattern(blocks * 12, 2);
      if (process.world_rank == 0) {
        send(process, bytes_of(process, data));
        continue;
      }
      const auto type = core::TypeBuilder().hvector(
          static_cast<MPI_Count>(blocks), 1, 17,
          *core::TypeBuilder().contiguous(12, core::predefined_type(process, MPI_BYTE)));
      std::vector<uint8_t> in(blocks * 17, 0xee);
      ASSERT_EQ(pml_of(process).recv({in.data(), 1, type.get()}, with(process, 1), nullptr), 0);
      for (size_t i = 0; i + 5 < in.size(); ++i)
        ASSERT_EQ(in[i], i % 17 < 12 ? data[i / 17 * 12 + i % 17] : 0xee) << i;
    }
  });
  EXPECT_EQ(network().moved_by_get, (counts[0] + counts[1] + counts[2]) * 12);
}

TEST_P(Rdma, ASenderWithHolesUsesFragments) {
  constexpr MPI_Count kBlocks = 50001;
  run([&](Process& process) {
    std::vector<uint8_t> data(kBlocks * 17, 5), in(kBlocks * 12);
    const auto type = core::TypeBuilder().hvector(
        kBlocks, 1, 17,
        *core::TypeBuilder().contiguous(12, core::predefined_type(process, MPI_BYTE)));
    if (process.world_rank == 0) return send(process, {data.data(), 1, type.get()});
    ASSERT_EQ(pml_of(process).recv(bytes_of(process, in), with(process, 1), nullptr), 0);
    EXPECT_EQ(in, std::vector<uint8_t>(in.size(), 5));
  });
  EXPECT_EQ(network().moved_by_get, 0u);
}

TEST_P(Rdma, TruncationReadsWhatFits) {
  run([&](Process& process) {
    for (const size_t room : {size_t{0}, size_t{7}, size_t{1500001}}) {
      auto data = pattern(kLarge, room);
      if (process.world_rank == 0) {
        send(process, bytes_of(process, data));
        continue;
      }
      std::vector<uint8_t> in(room);
      EXPECT_EQ(pml_of(process).recv(bytes_of(process, in), with(process, 1), nullptr),
                MPI_ERR_TRUNCATE);
      data.resize(room);
      EXPECT_TRUE(in == data);
    }
  });
  EXPECT_EQ(network().moved_by_get, 1500001u);
}

TEST_P(Rdma, RefusedMemoryLosesNoData) {
  constexpr int kMessages = 12;
  for (const auto& [memory, starts] :
       {std::pair{1u, 0u}, std::pair{2u, 0u}, std::pair{0u, 1u}, std::pair{0u, 3u}, {3u, 4u}}) {
    World world(2);
    world.use(GetParam());
    world.between().refuses_memory = memory;
    world.between().refuses_starts = starts;
    uint64_t refused = 0;
    world.run([&](Process& process) {
      for (int i = 0; i < kMessages; ++i) {
        auto data = pattern(i % 4 == 3 ? 100000 : kLarge, static_cast<size_t>(i));
        if (process.world_rank == 0) {
          send(process, bytes_of(process, data), i % 2 == 0 ? Mode::kStandard : Mode::kSynchronous);
          continue;
        }
        std::vector<uint8_t> in(data.size());
        ASSERT_EQ(pml_of(process).recv(bytes_of(process, in), with(process, 1), nullptr), 0);
        EXPECT_TRUE(in == data) << i;
      }
      EXPECT_EQ(process.registrations.bytes, 0u);
      if (process.world_rank == 1) return;
      refused = process.registrations.refused;
      const pml::Statistics figures = figures_of(process);
      const uint64_t by_rdma = figures.read_by_rdma + figures.written_by_rdma;
      EXPECT_TRUE((memory != 1 && starts != 1) || by_rdma == 0);
      EXPECT_TRUE(memory != 2 || by_rdma != 0);
    });
    EXPECT_EQ(refused != 0, memory != 0);
  }
}

TEST_P(Rdma, BothWaysAtOnceAndPersistent) {
  run([&](Process& process) {
    auto out = pattern(kLarge, static_cast<size_t>(process.world_rank));
    std::vector<uint8_t> in(kLarge);
    core::Request *send = nullptr, *receive = nullptr;
    ASSERT_EQ(
        pml_of(process).send_init(bytes_of(process, out), with(process, 4), Mode::kStandard, &send),
        0);
    ASSERT_EQ(pml_of(process).recv_init(bytes_of(process, in), with(process, 4), &receive), 0);
    for (int round = 0; round < 3; ++round) {
      in.assign(kLarge, 0);
      ASSERT_EQ(receive->start(), 0);
      ASSERT_EQ(send->start(), 0);
      EXPECT_EQ(end_of(process, receive), 0);
      EXPECT_EQ(end_of(process, send), 0);
      EXPECT_TRUE(in == pattern(kLarge, static_cast<size_t>(1 - process.world_rank)));
    }
    send->release();
    receive->release();
  });
  EXPECT_EQ(network().moved_by_get, 6 * kLarge);
}

TEST_P(Rdma, AProbedMessageIsRead) {
  run([&](Process& process) {
    auto data = pattern(kLarge, 3);
    if (process.world_rank == 0) return send(process, bytes_of(process, data));
    pml::Matched* matched = nullptr;
    core::Outcome outcome;
    ASSERT_EQ(pml_of(process).mprobe(with(process, 1), &matched, &outcome), 0);
    EXPECT_EQ(outcome.bytes, static_cast<MPI_Count>(kLarge));
    std::vector<uint8_t> in(kLarge);
    core::Request* request = nullptr;
    ASSERT_EQ(pml_of(process).imrecv(bytes_of(process, in), *matched, &request), 0);
    EXPECT_EQ(end_of(process, request), 0);
    EXPECT_TRUE(in == data);
  });
  EXPECT_EQ(network().moved_by_get, kLarge);
}

TEST_P(Rdma, ACancelledMessageIsNotRead) {
  run([&](Process& process) {
    auto data = pattern(kLarge, 3), other = pattern(kLarge, 4);
    if (process.world_rank == 1) {
      std::vector<uint8_t> in(kLarge);
      ASSERT_EQ(pml_of(process).recv(bytes_of(process, in), with(process, 2), nullptr), 0);
      EXPECT_TRUE(in == other);
      return;
    }
    core::Request* request = nullptr;
    ASSERT_EQ(
        pml_of(process).isend(bytes_of(process, data), with(process, 1), Mode::kStandard, &request),
        0);
    request->retain();
    EXPECT_TRUE(request->cancel());
    EXPECT_EQ(end_of(process, request), 0);
    EXPECT_TRUE(request->outcome.cancelled);
    request->release();
    ASSERT_EQ(pml_of(process).send(bytes_of(process, other), with(process, 2), Mode::kStandard), 0);
  });
  EXPECT_EQ(network().moved_by_get, kLarge);
}

// A failed receive ends after the last write of the network to the buffer.
TEST_P(Rdma, ALinkIsCutBetweenPieces) {
  for (unsigned rounds = 0; rounds < 60; rounds += 3) {
    World world(2);
    world.use(GetParam() * 100 + rounds);
    world.run([&](Process& process) {
      const auto sent = pattern(6 << 20, rounds);
      auto data = process.world_rank == 0 ? sent : std::vector<uint8_t>(sent.size());
      core::Request* request = nullptr;
      pml::Pml& pml = pml_of(process);
      if (process.world_rank == 0)
        ASSERT_EQ(pml.isend(bytes_of(process, data), with(process, 3), Mode::kStandard, &request),
                  0);
      else
        ASSERT_EQ(pml.irecv(bytes_of(process, data), with(process, 3), &request), 0);
      for (unsigned round = 0; round < rounds && !request->done(); ++round)
        process.channel(0).progress.poll();
      if (process.world_rank == static_cast<int>(rounds % 2)) world.between().cut(0, 1);
      const int error = end_of(process, request);
      EXPECT_TRUE(error == MPI_SUCCESS || error == MPI_ERR_PROC_ABORTED) << error;
      EXPECT_TRUE(error != MPI_SUCCESS || data == sent);
      EXPECT_EQ(process.registrations.bytes, 0u);
    });
  }
}

TEST_P(Rdma, AnInterruptedReceiveEndsAfterItsReads) {
  std::atomic<bool> ended = false;
  run([&](Process& process) {
    std::vector<uint8_t> data(6 << 20);
    core::Request* request = nullptr;
    pml::Pml& pml = pml_of(process);
    if (process.world_rank == 0) {
      ASSERT_EQ(pml.isend(bytes_of(process, data), with(process, 3), Mode::kStandard, &request), 0);
      while (!ended && !request->done()) process.channel(0).progress.poll();
    } else {
      ASSERT_EQ(pml.irecv(bytes_of(process, data), with(process, 3), &request), 0);
      while (network().moved_by_get == 0) process.channel(0).progress.poll();
    }
    pml.interrupt(*process.world, {MPI_ERR_OTHER, "interrupted"});
    const int error = end_of(process, request);
    EXPECT_TRUE(error == MPI_ERR_OTHER || error == MPI_SUCCESS) << error;
    ended = true;
  });
}

INSTANTIATE_TEST_SUITE_P(Networks, Rdma, testing::Values(1u, 2u, 3u));

}  // namespace
}  // namespace tern::test::rdma
