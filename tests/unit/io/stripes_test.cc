// SPDX-License-Identifier: Apache-2.0
// Lustre's descriptions of files, also cut and wrong ones, and the number of aggregators.
#include "io/stripes.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tern::io {
namespace {

using Text = std::vector<std::byte>;

template <class T>
void put(Text* text, size_t at, T value) {
  if (text->size() < at + sizeof value) text->resize(at + sizeof value);
  std::memcpy(text->data() + at, &value, sizeof value);
}

Text plain(uint32_t magic, uint32_t bytes, uint16_t count) {
  Text text(32);
  put(&text, 0, magic);
  put(&text, 24, bytes);
  put(&text, 28, count);
  return text;
}

Text composite(const std::vector<Text>& parts) {
  Text text(32 + 48 * parts.size());
  put(&text, 0, uint32_t{0x0BD60BD0});
  put(&text, 14, static_cast<uint16_t>(parts.size()));
  for (size_t i = 0; i < parts.size(); ++i) {
    put(&text, 32 + 48 * i + 24, static_cast<uint32_t>(text.size()));
    text.insert(text.end(), parts[i].begin(), parts[i].end());
  }
  return text;
}

TEST(LustreStripes, PlainFiles) {
  for (const uint32_t magic : {0x0BD10BD0u, 0x0BD30BD0u, 0x0BD50BD0u}) {
    const Text text = plain(magic, 4 << 20, 12);
    const Stripes found = lustre_stripes(text.data(), text.size());
    EXPECT_EQ(found.bytes, 4 << 20);
    EXPECT_EQ(found.count, 12);
  }
}

TEST(LustreStripes, TheLastComponentCounts) {
  const Text text =
      composite({plain(0x0BD10BD0, 1 << 20, 1), plain(0x0BD10BD0, 4 << 20, 8), Text(32)});
  const Stripes found = lustre_stripes(text.data(), text.size());
  EXPECT_EQ(found.bytes, 4 << 20);
  EXPECT_EQ(found.count, 8);
}

TEST(LustreStripes, AllTargetsAreAnUnknownNumber) {
  const Text text = plain(0x0BD10BD0, 1 << 20, 0xFFFF);
  EXPECT_EQ(lustre_stripes(text.data(), text.size()).bytes, 1 << 20);
  EXPECT_EQ(lustre_stripes(text.data(), text.size()).count, 0);
}

TEST(LustreStripes, CutAndWrongDescriptionsAreUnknownAndHarmless) {
  const Text good = composite({plain(0x0BD10BD0, 1 << 20, 1), plain(0x0BD30BD0, 4 << 20, 8)});
  for (size_t bytes = 0; bytes < good.size(); ++bytes) {
    const Text cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(bytes));
    const Stripes found = lustre_stripes(cut.data(), cut.size());
    EXPECT_TRUE(found.bytes == 0 || found.bytes == 1 << 20) << bytes;
  }
  for (size_t at = 0; at < good.size(); ++at) {
    Text wrong = good;
    wrong[at] = std::byte{0xff};
    (void)lustre_stripes(wrong.data(), wrong.size());
  }
  const Text nested = composite({composite({plain(0x0BD10BD0, 1 << 20, 1)})});
  EXPECT_EQ(lustre_stripes(nested.data(), nested.size()).bytes, 0);
}

TEST(Aggregators, FitTheTargets) {
  EXPECT_EQ(fitting_aggregators(0, 7), 7);
  EXPECT_EQ(fitting_aggregators(8, 7), 4);
  EXPECT_EQ(fitting_aggregators(8, 8), 8);
  EXPECT_EQ(fitting_aggregators(8, 23), 16);
  EXPECT_EQ(fitting_aggregators(7, 6), 1);
  EXPECT_EQ(fitting_aggregators(12, 5), 4);
}

}  // namespace
}  // namespace tern::io
