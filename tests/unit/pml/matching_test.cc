// SPDX-License-Identifier: Apache-2.0
// Matching gives the results of a linear search of a list.
#include "pml/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <random>
#include <vector>

namespace tern::pml {
namespace {

struct Receive {
  Hook<Receive> hooks[1];
  Key key{};
  uint64_t posted_at = 0;
};

struct Arrival {
  Hook<Arrival> hooks[4];
  Key key{};
  Arrival* earlier = nullptr;
  Arrival* later = nullptr;
};

bool takes(const Key& receive, const Key& message) {
  return receive.context == message.context &&
         (receive.source == kAnySource || receive.source == message.source) &&
         (receive.tag == MPI_ANY_TAG || receive.tag == message.tag);
}

class RandomKeys {
 public:
  explicit RandomKeys(unsigned seed) : random_(seed) {}
  Key message() { return {pick(2), pick(3), static_cast<int32_t>(pick(4))}; }
  Key receive(unsigned wild_percent) {
    Key key = message();
    if (pick(100) < wild_percent) key.source = kAnySource;
    if (pick(100) < wild_percent) key.tag = MPI_ANY_TAG;
    return key;
  }
  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

 private:
  std::mt19937 random_;
};

TEST(Matching, PostedReceivesAsAListWouldFindThem) {
  RandomKeys random(1);
  Posted<Receive> posted;
  std::list<Receive> all;
  std::vector<Receive*> reference;
  for (int step = 0; step < 20000; ++step) {
    if (random.pick(2) == 0) {
      Receive& receive = all.emplace_back();
      receive.key = random.receive(30);
      posted.post(receive);
      reference.push_back(&receive);
      continue;
    }
    const Key key = random.message();
    const auto expected = std::find_if(reference.begin(), reference.end(),
                                       [&](const Receive* r) { return takes(r->key, key); });
    ASSERT_EQ(posted.take(key), expected == reference.end() ? nullptr : *expected);
    if (expected != reference.end()) reference.erase(expected);
  }
  EXPECT_EQ(posted.empty(), reference.empty());
}

TEST(Matching, UnexpectedMessagesAsAListWouldFindThem) {
  for (const unsigned wild : {0U, 30U}) {
    RandomKeys random(2 + wild);
    Unexpected<Arrival> unexpected;
    std::list<Arrival> all;
    std::vector<Arrival*> reference;
    for (int step = 0; step < 20000; ++step) {
      if (random.pick(2) == 0) {
        Arrival& arrival = all.emplace_back();
        arrival.key = random.message();
        unexpected.add(arrival);
        reference.push_back(&arrival);
        continue;
      }
      const Key key = random.receive(wild);
      const auto expected = std::find_if(reference.begin(), reference.end(),
                                         [&](const Arrival* a) { return takes(key, a->key); });
      Arrival* found = unexpected.find(key);
      ASSERT_EQ(found, expected == reference.end() ? nullptr : *expected);
      if (found == nullptr) continue;
      unexpected.remove(*found);
      reference.erase(expected);
    }
    EXPECT_EQ(unexpected.size(), reference.size());
  }
}

TEST(Matching, ASpecificReceiveDoesNotSearchAMillionOthers) {
  constexpr int kMany = 1000000;
  std::vector<Arrival> arrivals(kMany + 1);
  Unexpected<Arrival> unexpected;
  for (int i = 0; i < kMany; ++i) {
    arrivals[static_cast<size_t>(i)].key = {1, 0, i % 100000};
    unexpected.add(arrivals[static_cast<size_t>(i)]);
  }
  arrivals[kMany].key = {1, 0, 1 << 20};
  unexpected.add(arrivals[kMany]);
  // A search of a thousandth of the messages would take a minute.
  for (int i = 0; i < 100000; ++i) ASSERT_EQ(unexpected.find({1, 0, 1 << 20}), &arrivals[kMany]);
}

}  // namespace
}  // namespace tern::pml
