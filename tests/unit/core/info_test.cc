// SPDX-License-Identifier: Apache-2.0
// Info and Name: order of keys, concurrent access to an object.
#include "core/info.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/object_lock.hpp"

namespace {

using namespace tern::core;

void run(const std::function<void(int)>& work) {
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) threads.emplace_back(work, id);
  for (std::thread& thread : threads) thread.join();
}

TEST(Info, KeysStayInTheOrderOfTheirFirstSetting) {
  Info info;
  for (const char* key : {"b", "a", "b"}) info.set(key, key);
  EXPECT_EQ(info.count(), 2U);
  EXPECT_EQ(info.key(0), "b");
  EXPECT_EQ(info.key(2), std::nullopt);
  EXPECT_TRUE(info.erase("b"));
  EXPECT_EQ(info.get("b"), std::nullopt);
}

TEST(Info, ThreadsUseOneAndMergeTwoBothWays) {
  Info one, other;
  run([&](int id) {
    const std::string key = "key of thread " + std::to_string(id);
    for (int i = 0; i < 500; ++i) {
      const std::string value = "a value of more than a few letters: " + std::to_string(i);
      one.set(key, value);
      EXPECT_EQ(one.get(key).has_value(), true);
      EXPECT_TRUE(one.key(0).has_value() || one.count() < 4);
      id % 2 == 0 ? one.merge(other) : other.merge(one);
    }
  });
  EXPECT_EQ(one.count(), 4U);
}

TEST(Name, IsOneThreadsOrAnothers) {
  Name name;
  name.set(std::string(20, 'a'));
  run([&](int id) {
    char seen[64];
    for (int i = 0; i < 500; ++i) {
      name.set(std::string(static_cast<size_t>(10 * id + 20), static_cast<char>('a' + id)));
      const int length = name.copy(seen);
      EXPECT_EQ(length, 10 * (seen[0] - 'a') + 20);
      EXPECT_FALSE(name.empty());
    }
  });
}

}  // namespace
