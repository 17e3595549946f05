// SPDX-License-Identifier: Apache-2.0
// Output by whole lines, however the bytes are split.
#include "tools/mpirun/lines.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

namespace tern::mpirun {
namespace {

TEST(LineSplitter, HoldsAnUnfinishedLine) {
  LineSplitter lines;
  std::string out;
  lines.feed("one\ntw", &out);
  EXPECT_EQ(out, "one\n");
  lines.feed("o", &out);
  EXPECT_EQ(out, "one\n");
  lines.feed("\nthree", &out);
  EXPECT_EQ(out, "one\ntwo\n");
  lines.finish(&out);
  EXPECT_EQ(out, "one\ntwo\nthree");
  lines.finish(&out);
  EXPECT_EQ(out, "one\ntwo\nthree");
}

TEST(LineSplitter, TagsEachLineOnce) {
  LineSplitter lines("[3] ");
  std::string out;
  lines.feed("a", &out);
  lines.feed("b\n\nc\nd", &out);
  lines.finish(&out);
  EXPECT_EQ(out, "[3] ab\n[3] \n[3] c\n[3] d");
}

TEST(LineSplitter, AnOverlongLineGoesInPieces) {
  LineSplitter lines("> ", 10);
  std::string out;
  lines.feed("0123456789abc", &out);
  EXPECT_EQ(out, "> 0123456789abc");
  lines.feed("def\nnext\n", &out);
  EXPECT_EQ(out, "> 0123456789abcdef\n> next\n");
}

TEST(LineSplitter, BinaryPassesInAnyCut) {
  std::mt19937 random(1);
  std::string input(5000, '\0');
  for (char& byte : input) byte = "\n\r\0\x1b[zx"[random() % 7];
  for (int round = 0; round < 200; ++round) {
    LineSplitter lines({}, 100);
    std::string out;
    for (std::size_t at = 0; at < input.size();) {
      const std::size_t piece = std::min<std::size_t>(random() % 60, input.size() - at);
      const std::size_t before = out.size();
      lines.feed({input.data() + at, piece}, &out);
      if (out.size() > before && out.size() - before < 100) {
        EXPECT_EQ(out.back(), '\n');
      }
      at += piece;
    }
    lines.finish(&out);
    ASSERT_EQ(out, input);
  }
}

TEST(LineSplitter, TimeBeforeTheTag) {
  LineSplitter lines("[3] ", LineSplitter::kLongest, true);
  std::string out;
  lines.feed("abc\nde", &out);
  EXPECT_THAT(out,
              testing::MatchesRegex("[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+.[0-9]+ .3. abc\n"));
}

}  // namespace
}  // namespace tern::mpirun
