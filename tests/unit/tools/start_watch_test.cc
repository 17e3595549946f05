// SPDX-License-Identifier: Apache-2.0
// The watch over the start reports ranks that wait in MPI_Init for other ranks.
#include "tools/mpirun/start_watch.hpp"

#include <gtest/gtest.h>

#include "base/fd.hpp"

namespace {

using tern::boot::RankState;
using tern::boot::SharedJob;
using tern::mpirun::Loop;
using tern::mpirun::StartWatch;

constexpr double kTimeout = 0.06;

class StartOfThree : public ::testing::Test {
 protected:
  StartOfThree()
      : watch_(loop_, shared_, kTimeout, [this](const std::string& text) { said_ += text; }) {}
  void comes(int rank) {
    shared_.set_state(rank, RankState::kInitialised);
    (void)shared_.start_fence(rank);
  }
  std::string heard(double patiences = 6) {
    watch_.begin(3);
    loop_.after(patiences * kTimeout, [this] { loop_.stop(); });
    loop_.run();
    return said_;
  }
  Loop loop_;
  tern::Fd memory_ = tern::make_memfd("start_watch_test", SharedJob::bytes_for(3));
  SharedJob shared_ = SharedJob::create(memory_.get(), {3, 3, 1, -1, "job"});
  std::string said_;
  StartWatch watch_;
};

TEST_F(StartOfThree, NobodyCalledMpi) { EXPECT_EQ(heard(), ""); }

TEST_F(StartOfThree, AllCame) {
  for (int rank = 0; rank < 3; ++rank) comes(rank);
  EXPECT_EQ(heard(), "");
}

TEST_F(StartOfThree, OneIsMissing) {
  comes(0);
  comes(2);
  const std::string words = heard(30);  // a busy core delays looks
  EXPECT_EQ(words.find("2 of 3 ranks have called MPI_Init, and no other has for "), 0U) << words;
  EXPECT_NE(words.find("rank 1 is missing"), std::string::npos) << words;
  EXPECT_EQ(words.find("ranks have called", 20), std::string::npos) << "said twice: " << words;
}

TEST_F(StartOfThree, OneComesNowAndThen) {
  comes(0);
  loop_.after(0.6 * kTimeout, [this] { comes(1); });
  loop_.after(1.2 * kTimeout, [this] { comes(2); });
  EXPECT_EQ(heard(), "");
}

}  // namespace
