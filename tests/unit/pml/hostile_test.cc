// SPDX-License-Identifier: Apache-2.0
// Frames of a hostile peer are ignored with a message, by the fuzz target's driver.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/fuzz/frames.hpp"

namespace tern::pml {
namespace {

using core::Request;

class Hostile : public testing::Test {
 protected:
  Hostile() {
    pml_ = std::make_unique<P2p>(target_.process.channel(0));
    target_.connect(*pml_);
    pml_->add_context(*target_.process.world);
  }
  ~Hostile() override {
    pml_->remove_context(*target_.process.world);
    pml_.reset();
    target_.process.world->pending = 0;
  }

  Buffer buffer(std::vector<char>& memory) {
    return {memory.data(), static_cast<MPI_Count>(memory.size()),
            &core::predefined_type(target_.process, MPI_BYTE)};
  }
  Envelope with(int rank, int tag) { return {target_.process.world, rank, tag, Plane::kUser}; }
  Request& receive(std::vector<char>& memory, int from, int tag) {
    Request* request = nullptr;
    EXPECT_EQ(pml_->irecv(buffer(memory), with(from, tag), &request), MPI_SUCCESS);
    return *request;
  }
  Request& send(std::vector<char>& memory, int to, Mode mode = Mode::kStandard) {
    Request* request = nullptr;
    EXPECT_EQ(pml_->isend(buffer(memory), with(to, 0), mode, &request), MPI_SUCCESS);
    return *request;
  }
  void arrive(uint32_t from, uint8_t kind, int tag, const void* payload, size_t bytes,
              uint32_t source) {
    const btl::Header header{0,
                             kind,
                             static_cast<uint16_t>(bytes),
                             wire::context_word(target_.process.world->index(), 0),
                             tag,
                             source};
    pml_->engine.arrived(target_.endpoints[from],
                         {header, static_cast<const std::byte*>(payload), header.bytes});
  }
  template <class T>
  void arrive(uint32_t from, uint8_t kind, const T& payload) {
    arrive(from, kind, 0, &payload, sizeof payload, from);
  }

  fuzz::Target target_;
  std::unique_ptr<P2p> pml_;
};

TEST_F(Hostile, DataForAReceiveThatWaitsForNone) {
  std::vector<char> memory(8);
  Request& request = receive(memory, 1, 0);
  arrive(1, wire::kData, wire::DataPrefix{request.handle(), 0});
  EXPECT_FALSE(request.done());
  arrive(1, wire::kEager, 0, "12345678", 8, 1);
  EXPECT_TRUE(request.done());
  EXPECT_EQ(memory[7], '8');
  request.release();
}

TEST_F(Hostile, AnAnnouncementThatIsTooShortTakesNoReceive) {
  std::vector<char> memory(8);
  Request& request = receive(memory, 1, 0);
  arrive(1, wire::kRts, 0, "short", 5, 1);
  arrive(1, wire::kEagerSync, 0, "short", 5, 1);
  EXPECT_FALSE(request.done());
  arrive(1, wire::kEager, 0, "12345678", 8, 1);
  EXPECT_TRUE(request.done());
  request.release();
}

TEST_F(Hostile, ASecondGoAheadIsIgnored) {
  std::vector<char> memory(3000);
  target_.endpoints[1].full = false;
  Request& request = send(memory, 1);
  const wire::Go go{request.handle(), 77, memory.size(), 0, wire::Way::kPipeline, 0};
  target_.endpoints[1].full = true;
  arrive(1, wire::kGo, go);
  arrive(1, wire::kGo, go);
  target_.endpoints[1].full = false;
  for (int i = 0; i < 4; ++i) static_cast<void>(target_.process.channel(0).progress.poll());
  EXPECT_TRUE(request.done());
  request.release();
}

TEST_F(Hostile, AnswersOfAPeerThatWasNotAskedAreIgnored) {
  std::vector<char> memory(3000);
  Request& request = send(memory, 1);
  arrive(2, wire::kGo, wire::Go{request.handle(), 7, 3000, 0, wire::Way::kPipeline, 0});
  arrive(2, wire::kDone, wire::Done{request.handle(), MPI_SUCCESS});
  static_cast<void>(target_.process.channel(0).progress.poll());
  EXPECT_FALSE(request.done());
  arrive(1, wire::kDone, wire::Done{request.handle(), MPI_SUCCESS});
  EXPECT_TRUE(request.done());
  request.release();
}

TEST_F(Hostile, AnswersToASendThatHasNotGoneOutAreIgnored) {
  std::vector<char> memory(3000);
  target_.endpoints[1].full = true;
  Request& request = send(memory, 1);
  arrive(1, wire::kDone, wire::Done{request.handle(), MPI_SUCCESS});
  arrive(1, wire::kGo, wire::Go{request.handle(), 7, 3000, 0, wire::Way::kPipeline, 0});
  EXPECT_FALSE(request.done());
  target_.endpoints[1].full = false;
  static_cast<void>(target_.process.channel(0).progress.poll());
  arrive(1, wire::kDone, wire::Done{request.handle(), MPI_SUCCESS});
  EXPECT_TRUE(request.done());
  request.release();
}

TEST_F(Hostile, AnErrorThatIsNoClassBecomesOne) {
  std::vector<char> memory(3000);
  Request& request = send(memory, 1);
  arrive(1, wire::kDone, wire::Done{request.handle(), uint32_t{1} << 30});
  EXPECT_TRUE(request.done());
  EXPECT_EQ(request.outcome.error, MPI_ERR_OTHER);
  request.release();
}

TEST_F(Hostile, TheSourceIsTheSenderWhateverItSays) {
  std::vector<char> memory(8);
  for (const uint32_t said : {0u, 1u, 2u, 3u, 1u << 31}) {
    Request& request = receive(memory, MPI_ANY_SOURCE, 0);
    arrive(2, wire::kEager, 0, "12345678", 8, said);
    EXPECT_EQ(request.outcome.source, 2);
    request.release();
    Request& other = receive(memory, 1, 0);
    arrive(1, wire::kEager, 0, "12345678", 8, said);
    EXPECT_EQ(other.outcome.source, 1);
    other.release();
  }
}

TEST_F(Hostile, WithdrawingNothingTakesNoMessage) {
  std::vector<char> memory(8);
  arrive(1, wire::kEager, 0, "12345678", 8, 1);
  arrive(1, wire::kWithdraw, wire::Withdraw{0});
  Request& request = receive(memory, 1, 0);
  EXPECT_TRUE(request.done());
  request.release();
}

// The peer of rank 2 has RDMA; its RTS may name a key of another length than the frame has.
TEST_F(Hostile, AKeyOfAnotherLengthIsNotUsed) {
  for (const auto& [said, there] :
       {std::pair{4, 4}, {4, 3}, {4, 5}, {1, 0}, {0, 4}, {300, 300}, {256, 256}, {65535, 256}}) {
    std::vector<char> memory(3000);
    Request& request = receive(memory, 2, 0);
    std::vector<std::byte> frame(sizeof(wire::Rts) + static_cast<size_t>(there));
    const wire::Rts rts{3000, 5, 64, 0, 0, static_cast<uint16_t>(said)};
    std::memcpy(frame.data(), &rts, sizeof rts);
    arrive(2, wire::kRts, 0, frame.data(), frame.size(), 2);
    static_cast<void>(target_.process.channel(0).progress.poll());
    auto& under_way = target_.endpoints[2].under_way;
    const bool reads = said == there && said <= 256;
    EXPECT_EQ(under_way.size(), reads ? 1u : 0u) << said << " " << there;
    while (!under_way.empty()) target_.endpoints[2].end_one(pml_->engine);
    static_cast<void>(target_.process.channel(0).progress.poll());
    EXPECT_TRUE(request.done()) << "read, or copied";
    request.release();
  }
}

TEST_F(Hostile, RefusalsOfAPutThatNobodyAskedForAreIgnored) {
  std::vector<char> memory(8);
  Request& request = receive(memory, 1, 0);
  arrive(1, wire::kLanded, wire::Landed{request.handle(), 1});
  EXPECT_FALSE(request.done());
  arrive(1, wire::kEager, 0, "12345678", 8, 1);
  EXPECT_TRUE(request.done());
  request.release();
}

TEST(HostileProgram, RandomPrograms) {
  std::mt19937 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::vector<uint8_t> program(256);
    for (uint8_t& byte : program) byte = static_cast<uint8_t>(random());
    fuzz::drive_frames(program.data(), program.size());
  }
}

}  // namespace
}  // namespace tern::pml
