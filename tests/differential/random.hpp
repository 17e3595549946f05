// SPDX-License-Identifier: Apache-2.0
// Numbers that depend only on a seed, with every compiler and library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

// SplitMix64 is small, and good for any seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
    return mixed ^ (mixed >> 31);
  }
  int below(int limit) { return static_cast<int>(next() % static_cast<uint64_t>(limit)); }
  int between(int first, int last) { return first + below(last - first + 1); }
  bool one_in(int times) { return below(times) == 0; }
  template <typename T>
  T pick(std::initializer_list<T> list) {
    return list.begin()[below(static_cast<int>(list.size()))];
  }
  template <typename T>
  void shuffle(std::vector<T>& list) {
    for (size_t i = list.size(); i > 1; --i) {
      std::swap(list[i - 1], list[static_cast<size_t>(below(static_cast<int>(i)))]);
    }
  }

 private:
  uint64_t state_;
};

inline uint64_t mixed(uint64_t a, uint64_t b) {
  Random random(a ^ (b * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du));
  return random.next();
}
