// SPDX-License-Identifier: Apache-2.0
// A new protocol needs two halves and a row. Large messages take the new row, refused messages take
// others, and a late failure at either end fails both requests.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <vector>

#include "core/peer.hpp"
#include "pml/p2p/p2p.hpp"
#include "pml/protocol.hpp"
#include "pml/protocols/chunks.hpp"
#include "tests/unit/world.hpp"

namespace tern::pml {
namespace {

using core::Process;
using test::World;

constexpr auto kInvertedWay = static_cast<wire::Way>(77);
constexpr size_t kLeast = 100000, kFailing = 300000;  // bytes: viable, failing

std::atomic<int> sent_inverted{0}, received_inverted{0};

struct InvertedSource {
  const Buffer& buffer;
  static size_t ready(const ByteRange& range) { return std::min<size_t>(range.length, 5000); }
  void fill(std::byte* room, const ByteRange& range) const {
    for (size_t i = 0; i < range.length; ++i) room[i] = ~buffer.first()[range.offset + i];
  }
  static void sent(size_t /*bytes*/) {}
};

class InvertedSender final : public SenderHalf {
 public:
  explicit InvertedSender(SendRequest& request)
      : request_(request),
        source_{request.buffer},
        chunks_(request.transfer.bytes, FrameMover<InvertedSource>::most(*request.peer->endpoint)) {
  }
  HalfStep begin(const wire::Go&) noexcept override {
    ++sent_inverted;
    return HalfStep::kAgain;
  }
  HalfStep advance() noexcept override {
    FrameMover<InvertedSource> mover(*request_.peer->endpoint, request_.transfer.partner, source_);
    const HalfStep step = move_next(chunks_, mover);
    if (request_.transfer.bytes == kFailing && chunks_.at() != 0) {
      failure = {MPI_ERR_IO, "the mirror is broken"};
      return HalfStep::kFailed;
    }
    return chunks_.all_moved() ? HalfStep::kDone : step;
  }

 private:
  SendRequest& request_;
  InvertedSource source_;
  Chunks chunks_;
};

class InvertedReceiver final : public ReceiverHalf {
 public:
  InvertedReceiver(ProtocolContext& context, RecvRequest& request)
      : context_(context), request_(request) {}
  HalfStep begin() noexcept override {
    send_go(context_, request_, kInvertedWay);
    return HalfStep::kWait;
  }
  bool takes_data() const noexcept override { return true; }
  HalfStep take(const std::byte* data, size_t bytes) noexcept override {
    auto& transfer = request_.transfer;
    for (size_t i = 0; i < bytes; ++i) request_.buffer.first()[transfer.moved + i] = ~data[i];
    transfer.moved += bytes;
    if (transfer.moved < transfer.bytes) return HalfStep::kWait;
    ++received_inverted;
    return HalfStep::kDone;
  }

 private:
  ProtocolContext& context_;
  RecvRequest& request_;
};

const Protocol kInverted{
    .name = "inverted",
    .way = kInvertedWay,
    .always = true,
    .acknowledged = false,
    .viable_to_send = [](const ProtocolContext&, const SendRequest&) { return true; },
    .send = [](ProtocolContext&, SendRequest& request) -> std::unique_ptr<SenderHalf> {
      return std::make_unique<InvertedSender>(request);
    },
    .viable_to_receive = [](const ProtocolContext&, const RecvRequest& request,
                            const Announced&) { return request.transfer.bytes >= kLeast; },
    .receive = [](ProtocolContext& context, RecvRequest& request,
                  const Announced&) -> std::unique_ptr<ReceiverHalf> {
      return std::make_unique<InvertedReceiver>(context, request);
    }};

class Table {
 public:
  Table() : rows_{&kInverted} {
    rows_.insert(rows_.end(), protocols().begin(), protocols().end());
    sent_inverted = received_inverted = 0;
  }
  struct Result {
    int code = MPI_SUCCESS;
    std::string text;
  };
  std::array<Result, 2> pass(size_t bytes) {
    std::array<Result, 2> results;
    World(2).run([&](Process& process) {
      auto& pml = dynamic_cast<P2p&>(*process.channel(0).pml);
      pml.engine.transfers.use(rows_);
      std::vector<uint8_t> data(bytes);
      for (size_t i = 0; process.world_rank == 0 && i < bytes; ++i)
        data[i] = static_cast<uint8_t>(i * 131);
      const Buffer buffer{data.data(), static_cast<MPI_Count>(bytes),
                          &core::predefined_type(process, MPI_BYTE)};
      const Envelope envelope{process.world, 1 - process.world_rank, 4};
      Result& result = results[static_cast<size_t>(process.world_rank)];
      result.code = process.world_rank == 0 ? pml.send(buffer, envelope, Mode::kStandard)
                                            : pml.recv(buffer, envelope, nullptr);
      if (result.code != MPI_SUCCESS) return void(result.text = take_last_error().text);
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(data[i], static_cast<uint8_t>(i * 131));
    });
    return results;
  }

 private:
  std::vector<const Protocol*> rows_;
};

TEST(ProtocolTable, AProtocolIsOneRow) {
  Table table;
  for (const size_t bytes : {kLeast, size_t{1000001}})
    for (const auto& [code, text] : table.pass(bytes)) EXPECT_EQ(code, MPI_SUCCESS) << text;
  EXPECT_EQ(sent_inverted, 2);
  EXPECT_EQ(received_inverted, 2);
}

TEST(ProtocolTable, WhatItRefusesGoesByTheNextRow) {
  Table table;
  for (const size_t bytes : {size_t{10}, kLeast - 1})
    for (const auto& [code, text] : table.pass(bytes)) EXPECT_EQ(code, MPI_SUCCESS) << text;
  EXPECT_EQ(sent_inverted, 0);
  EXPECT_EQ(received_inverted, 0);
}

TEST(ProtocolTable, AHalfThatFailsLateEndsBothRequests) {
  Table table;
  const auto results = table.pass(kFailing);
  EXPECT_EQ(results[0].code, MPI_ERR_IO);
  EXPECT_EQ(results[0].text, "the mirror is broken");
  EXPECT_EQ(results[1].code, MPI_ERR_IO);
  EXPECT_EQ(results[1].text,
            "rank 0 could not read the 300000 bytes to send; see the error of that rank");
}

TEST(ProtocolTable, EveryProtocolHasANameAndTheLastTakesEverything) {
  std::vector<std::string> names;
  for (const Protocol* protocol : protocols()) names.emplace_back(protocol->name);
  EXPECT_EQ(names, (std::vector<std::string>{"device mapped", "device pieces", "both ends", "get",
                                             "pull", "put", "bounced", "pipeline"}));
  EXPECT_TRUE(protocols().back()->always);
}

}  // namespace
}  // namespace tern::pml
