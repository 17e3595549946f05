// SPDX-License-Identifier: Apache-2.0
// Attributes: copy and delete callbacks, their order, and failures.
#include "core/attribute.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <numeric>
#include <thread>
#include <vector>

#include "base/error.hpp"

namespace {

using namespace tern::core;

struct Log {
  std::vector<int> copied, deleted;
  int fail_at = -1;
};
int seven = 7, eight = 8;

int copy(void*, int key, void* extra, void* in, void* out, int* flag) {
  static_cast<Log*>(extra)->copied.push_back(key);
  *static_cast<void**>(out) = in;
  *flag = 1;
  return MPI_SUCCESS;
}
int do_not_copy(void*, int, void*, void*, void*, int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}
int erase(void*, int key, void*, void* extra) {
  auto* log = static_cast<Log*>(extra);
  if (log->fail_at == key) return MPI_ERR_OTHER;
  log->deleted.push_back(key);
  return MPI_SUCCESS;
}

class AttributesTest : public testing::Test {
 protected:
  int key(Keyval::Copy* how) { return keyvals_.add({Kind::kCommunicator, how, erase, &log_}); }
  int set(int key, void* value) {
    return attributes_.set(keyvals_.find(key, Kind::kCommunicator), key, value, kOwner);
  }

  static constexpr uintptr_t kOwner = 0x101;
  Keyvals keyvals_;
  Log log_;
  Attributes attributes_;
};

TEST_F(AttributesTest, SetAgainDeletesTheOldValue) {
  const int k = key(copy);
  ASSERT_EQ(set(k, &seven), MPI_SUCCESS);
  ASSERT_EQ(set(k, &eight), MPI_SUCCESS);
  EXPECT_EQ(log_.deleted, std::vector<int>{k});
  void* value = nullptr;
  EXPECT_TRUE(attributes_.get(k, &value));
  EXPECT_EQ(value, &eight);
}

TEST_F(AttributesTest, CopyAllAsksEachKey) {
  const int yes = key(copy), no = key(do_not_copy), null = key(nullptr),
            dup = key(reinterpret_cast<Keyval::Copy*>(MPI_COMM_DUP_FN));
  for (const int k : {yes, no, null, dup}) ASSERT_EQ(set(k, &seven), MPI_SUCCESS);
  Attributes to;
  ASSERT_EQ(attributes_.copy_all(kOwner, to), MPI_SUCCESS);
  void* value = nullptr;
  EXPECT_TRUE(to.get(yes, &value) && value == &seven);
  EXPECT_TRUE(to.get(dup, &value));
  EXPECT_FALSE(to.get(no, &value));
  EXPECT_FALSE(to.get(null, &value));
  EXPECT_EQ(log_.copied, std::vector<int>{yes});
  ASSERT_EQ(to.delete_all(kOwner), MPI_SUCCESS);
}

TEST_F(AttributesTest, DeleteAllGoesBackwardsAndStopsAtAnError) {
  const int a = key(copy), b = key(copy), c = key(copy);
  for (const int k : {a, b, c}) ASSERT_EQ(set(k, &seven), MPI_SUCCESS);
  log_.fail_at = b;
  EXPECT_EQ(attributes_.delete_all(kOwner), MPI_ERR_OTHER);
  EXPECT_EQ(log_.deleted, std::vector<int>{c});
  log_.fail_at = -1;
  EXPECT_EQ(attributes_.delete_all(kOwner), MPI_SUCCESS);
  EXPECT_EQ(log_.deleted, (std::vector<int>{c, b, a}));
}

TEST_F(AttributesTest, ThreadsDeleteEachValueOnce) {
  constexpr int kThreads = 4, kRounds = 500;
  static std::array<std::atomic<int>, kThreads * kRounds> deleted;
  const int k = keyvals_.add({Kind::kCommunicator, nullptr,
                              [](void*, int, void* value, void*) {
                                ++*static_cast<std::atomic<int>*>(value);
                                return MPI_SUCCESS;
                              },
                              nullptr});
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id)
    threads.emplace_back([this, k, id] {
      void* value = nullptr;
      for (int i = 0; i < kRounds; ++i) {
        EXPECT_EQ(set(k, &deleted[static_cast<size_t>(id * kRounds + i)]), MPI_SUCCESS);
        EXPECT_TRUE(attributes_.get(k, &value));
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::accumulate(deleted.begin(), deleted.end(), 0), kThreads * kRounds - 1);
  EXPECT_EQ(attributes_.delete_all(kOwner), MPI_SUCCESS);
  for (const auto& times : deleted) ASSERT_EQ(times.load(), 1);
}

TEST_F(AttributesTest, ADeleteCallbackUsesTheAttributes) {
  struct Seen {
    Attributes* attributes;
    bool found = false;
  } seen_by{&attributes_};
  const int k = keyvals_.add({Kind::kCommunicator, nullptr,
                              [](void*, int key, void* value, void* extra) {
                                auto* at = static_cast<Seen*>(extra);
                                void* seen = nullptr;
                                at->found = at->attributes->get(key, &seen) && seen == value;
                                return MPI_SUCCESS;
                              },
                              &seen_by});
  ASSERT_EQ(set(k, &seven), MPI_SUCCESS);
  EXPECT_EQ(attributes_.erase(k, kOwner), MPI_SUCCESS);
  EXPECT_TRUE(seen_by.found);
  void* value = nullptr;
  EXPECT_FALSE(attributes_.get(k, &value));
}

TEST_F(AttributesTest, AFreedKeyLivesWhileAnAttributeUsesIt) {
  const int k = key(copy);
  ASSERT_EQ(set(k, &seven), MPI_SUCCESS);
  EXPECT_TRUE(keyvals_.erase(k, Kind::kCommunicator));
  EXPECT_TRUE(keyvals_.erase(k, Kind::kCommunicator)) << "freed twice, and in use";
  EXPECT_NE(key(copy), k);
  EXPECT_NE(keyvals_.find(k, Kind::kCommunicator), nullptr);
  EXPECT_EQ(attributes_.delete_all(kOwner), MPI_SUCCESS);
  EXPECT_EQ(log_.deleted, std::vector<int>{k});
  EXPECT_EQ(keyvals_.find(k, Kind::kCommunicator), nullptr);
  EXPECT_FALSE(keyvals_.erase(k, Kind::kCommunicator)) << "gone with the last attribute";
}

TEST_F(AttributesTest, AKeyFitsItsKindOnly) {
  EXPECT_EQ(keyvals_.find(key(copy), Kind::kDatatype), nullptr);
  EXPECT_EQ(keyvals_.find(MPI_TAG_UB, Kind::kCommunicator), nullptr);
}

}  // namespace
