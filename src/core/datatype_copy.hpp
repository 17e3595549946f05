// SPDX-License-Identifier: Apache-2.0
// Copier: the visitor that packs or unpacks, with unrolled loops for small blocks.
// Why: a memcpy call per 8-byte block costs more than the copy. The packed position is a local
// variable of each loop, because a store may alias a member or reference capture, and each store
// would reload the position.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "core/datatype_dense.hpp"

namespace tern::core {

template <bool kPack>
class Copier {
 public:
  using Packed = std::conditional_t<kPack, char*, const char*>;
  Copier(Packed packed, int64_t message) noexcept : packed_(packed), message_(message) {}

  [[nodiscard]] static constexpr bool full() noexcept { return false; }

  void run(uintptr_t at, int64_t bytes) noexcept {
    move(packed_, at, static_cast<size_t>(bytes));
    packed_ += bytes;
  }

  void strided(uintptr_t at, int64_t stride, int64_t block, int64_t count) noexcept {
    by_block(block, [&](auto size) { packed_ = column(packed_, size, at, stride, count, size); });
  }

  void grid(uintptr_t at, int64_t rows, int64_t row_stride, int64_t count, int64_t stride,
            int64_t block) noexcept {
    by_block(block, [&](auto size) {
      Packed packed = packed_;
      for (int64_t row = 0; row < rows; ++row, at += static_cast<uintptr_t>(row_stride))
        packed = column(packed, size, at, stride, count, size);
      packed_ = packed;
    });
  }

  void listed(uintptr_t origin, const int64_t* places, int64_t count, int64_t block) noexcept {
    by_block(block, [this, origin, places, count](auto size) {
      Packed packed = packed_;
      const uintptr_t from = origin;
      const int64_t* next = places;
      const int64_t* const end = places + count;
      const auto at = [from](int64_t place) { return from + static_cast<uintptr_t>(place); };
      for (; end - next >= 4; next += 4, packed += 4 * size)
        move_four(packed, size, at(next[0]), at(next[1]), at(next[2]), at(next[3]), size);
      for (; next < end; ++next, packed += size) move(packed, at(*next), size);
      packed_ = packed;
    });
  }

  void blocks(uintptr_t origin, const int64_t* places, const int64_t* starts,
              int64_t count) noexcept {
    Packed packed = packed_;
    for (int64_t i = 0; i < count; ++i) {
      const size_t bytes = static_cast<size_t>(starts[i + 1] - starts[i]);
      move_short(packed, origin + static_cast<uintptr_t>(places[i]), bytes);
      packed += bytes;
    }
    packed_ = packed;
  }

  void records(uintptr_t at, int64_t stride, int64_t count, const int64_t* places,
               const int64_t* starts, int64_t blocks) noexcept {
    const int64_t bytes = starts[blocks];
    for (int64_t first = 0; first < count; first += kRecords) {
      const int64_t some = std::min(kRecords, count - first);
      for (int64_t i = 0; i < blocks; ++i)
        by_block(starts[i + 1] - starts[i], [&](auto size) {
          column(packed_ + starts[i], static_cast<size_t>(bytes),
                 at + static_cast<uintptr_t>(places[i]), stride, some, size);
        });
      packed_ += some * bytes;
      at += static_cast<uintptr_t>(some * stride);
    }
  }

 private:
  static constexpr int64_t kRecords = 64;
  static constexpr int64_t kLine = 64;
  static constexpr int64_t kAhead = 128;

  template <class Word>
  using Words __attribute__((vector_size(16))) = Word;
  template <class Vector>
  static void store(char* packed, Vector words) noexcept {
    std::memcpy(packed, &words, sizeof words);
  }

  template <size_t kBytes>
  struct Constant {
    constexpr operator size_t() const noexcept { return kBytes; }
  };
  template <class Size>
  static constexpr bool is_word =
      std::is_same_v<Size, Constant<4>> || std::is_same_v<Size, Constant<8>>;

  template <class Loop>
  static void by_block(int64_t block, Loop loop) noexcept {
    // clang-format off
    switch (block) {
      case 1: return loop(Constant<1>{});
      case 2: return loop(Constant<2>{});
      case 4: return loop(Constant<4>{});
      case 8: return loop(Constant<8>{});
      case 12: return loop(Constant<12>{});
      case 16: return loop(Constant<16>{});
      case 20: return loop(Constant<20>{});
      case 24: return loop(Constant<24>{});
      case 32: return loop(Constant<32>{});
      case 40: return loop(Constant<40>{});
      case 48: return loop(Constant<48>{});
      case 56: return loop(Constant<56>{});
      case 64: return loop(Constant<64>{});
      default: return loop(static_cast<size_t>(block));
    }
    // clang-format on
  }

  template <class Size>
  static void move(Packed packed, uintptr_t at, Size bytes) noexcept {
    char* user = reinterpret_cast<char*>(at);
    if constexpr (kPack)
      copy(packed, user, bytes);
    else
      copy(user, packed, bytes);
  }
  template <class Size>
  static void copy(char* to, const char* from, Size bytes) noexcept {
    if constexpr (std::is_same_v<Size, size_t>)
      if (bytes >= dense::kLeastCopy && bytes <= dense::kMostCopy)
        return dense::copy(to, from, bytes);
    std::memcpy(to, from, bytes);
  }

  template <class Word>
  [[nodiscard]] static Word load(uintptr_t at) noexcept {
    return load<Word>(reinterpret_cast<const char*>(at));
  }
  template <class Word>
  [[nodiscard]] static Word load(const char* at) noexcept {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }
  template <class Word>
  static void put(uintptr_t at, Word word) noexcept {
    std::memcpy(reinterpret_cast<void*>(at), &word, sizeof word);
  }

  template <class Size, class Step>
  static void move_four(Packed packed, Step step, uintptr_t a, uintptr_t b, uintptr_t c,
                        uintptr_t d, Size size) noexcept {
    if constexpr (is_word<Size> && std::is_same_v<Size, Step>)
      return move_words(packed, a, b, c, d, size);
    move(packed, a, size);
    move(packed + step, b, size);
    move(packed + 2 * step, c, size);
    move(packed + 3 * step, d, size);
  }
  static void move_words(Packed packed, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,
                         Constant<4>) noexcept {
    move_two(packed, a, b);
    move_two(packed + 8, c, d);
  }
  static void move_words(Packed packed, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d,
                         Constant<8>) noexcept {
    if constexpr (kPack) {
      store(packed, Words<uint64_t>{load<uint64_t>(a), load<uint64_t>(b)});
      store(packed + 16, Words<uint64_t>{load<uint64_t>(c), load<uint64_t>(d)});
    } else {
      put(a, load<uint64_t>(packed));
      put(b, load<uint64_t>(packed + 8));
      put(c, load<uint64_t>(packed + 16));
      put(d, load<uint64_t>(packed + 24));
    }
  }
  static void move_two(Packed packed, uintptr_t a, uintptr_t b) noexcept {
    if constexpr (kPack) {
      store(packed, load<uint32_t>(a) | uint64_t{load<uint32_t>(b)} << 32);
    } else {
      const auto both = load<uint64_t>(packed);
      put(a, static_cast<uint32_t>(both));
      put(b, static_cast<uint32_t>(both >> 32));
    }
  }

  /// Vectors pack every other word, and never read beyond the last block. Returns the number of
  /// blocks.
  static int64_t every_other(Packed packed, uintptr_t at, int64_t count, Constant<4>) noexcept {
    int64_t i = 0;
    for (; i + 4 < count; i += 4, packed += 16, at += 32) {
      const auto low = load<Words<uint32_t>>(at), high = load<Words<uint32_t>>(at + 16);
      store(packed, Words<uint32_t>{low[0], low[2], high[0], high[2]});
    }
    return i;
  }
  static int64_t every_other(Packed packed, uintptr_t at, int64_t count, Constant<8>) noexcept {
    int64_t i = 0;
    for (; i + 4 < count; i += 4, packed += 32, at += 64) {
      store(packed, Words<uint64_t>{load<uint64_t>(at), load<uint64_t>(at + 16)});
      store(packed + 16, Words<uint64_t>{load<uint64_t>(at + 32), load<uint64_t>(at + 48)});
    }
    return i;
  }

  /// dense_part() moves single-word blocks, several per cache line, and returns the number of
  /// blocks.
  template <class Size>
  static int64_t dense_part(Packed packed, uintptr_t at, int64_t stride, int64_t count,
                            Size size) noexcept {
    const auto block = static_cast<int64_t>(static_cast<size_t>(size));
    int64_t moved = 0;
    if constexpr (!kPack)
      moved = dense::unpack(packed, at, stride, block, count);
    else if constexpr (std::is_same_v<Size, Constant<4>>)
      moved = dense::pack(packed, at, stride, count);
    if constexpr (kPack)
      if (moved == 0 && stride == 2 * block) moved = every_other(packed, at, count, size);
    return moved;
  }

  /// Blocks are `stride` apart in memory and `step` apart in the packed form. Returns the packed
  /// end.
  template <class Size, class Step>
  Packed column(Packed packed, Step step, uintptr_t at, int64_t stride, int64_t count,
                Size size) const noexcept {
    const uintptr_t forward = static_cast<uintptr_t>(stride);
    int64_t i = 0;
    if constexpr (is_word<Size> && std::is_same_v<Size, Step>)
      if (count >= dense::kLeast) {
        i = dense_part(packed, at, stride, count, size);
        packed += static_cast<size_t>(i) * step;
        at += static_cast<uintptr_t>(i) * forward;
      }
    const uintptr_t reach = kAhead * forward;
    const auto fours = [&](int64_t end, auto ahead) {
      for (; i + 4 <= end; i += 4, packed += 4 * step, at += 4 * forward) {
        for (uintptr_t k = 0; ahead && k < 4; ++k) fetch(at + reach + k * forward);
        move_four(packed, step, at, at + forward, at + 2 * forward, at + 3 * forward, size);
      }
    };
    if (far_apart(static_cast<int64_t>(static_cast<size_t>(size)), stride))
      fours(count - kAhead, std::true_type{});
    fours(count, std::false_type{});
    for (; i < count; ++i, packed += step, at += forward) move(packed, at, size);
    return packed;
  }

  /// A column is far apart if the column exceeds the second-level cache and escapes the hardware
  /// prefetcher. (Measured: the prefetcher follows strides of whole cache lines within a page if
  /// the strides use enough sets of the first-level cache.)
  [[nodiscard]] bool far_apart(int64_t block, int64_t stride) const noexcept {
    constexpr int64_t kSecondCacheLines = 8192, kFewSets = 8 * kLine, kFewOnPage = 2048;
    const int64_t distance = std::abs(stride);
    const bool foreseen =
        distance % kLine == 0 && distance % kFewSets != 0 && distance < kFewOnPage;
    return block <= kLine && distance > 2 * kLine && !foreseen &&
           message_ > kSecondCacheLines * block;
  }

  /// The second-level cache accepts more outstanding requests than the first. (always_inline: GCC
  /// drops calls of a function that only prefetches.)
  [[gnu::always_inline]] static void fetch(uintptr_t at) noexcept {
    constexpr int kRead = 0, kSecondCache = 2;
    __builtin_prefetch(reinterpret_cast<const void*>(at), kRead, kSecondCache);
  }

  /// Lengths vary, so overlapping moves avoid a mispredicted branch. 8 to 32 bytes take four moves
  /// of 8, 33 to 64 bytes four of 16.
  static void move_short(Packed packed, uintptr_t at, size_t bytes) noexcept {
    if (bytes - 33 < 32) {
      const size_t last = bytes - 16;
      move(packed, at, Constant<16>{});
      move(packed + 16, at + 16, Constant<16>{});
      move(packed + last - 16, at + last - 16, Constant<16>{});
      move(packed + last, at + last, Constant<16>{});
    } else if (bytes - 8 <= 24) {
      const size_t last = bytes - 8, second = std::min<size_t>(8, last);
      const size_t third = std::min<size_t>(16, last);
      move(packed, at, Constant<8>{});
      move(packed + second, at + second, Constant<8>{});
      move(packed + third, at + third, Constant<8>{});
      move(packed + last, at + last, Constant<8>{});
    } else if (bytes == 4) {
      move(packed, at, Constant<4>{});
    } else {
      move(packed, at, bytes);
    }
  }

  Packed packed_;
  const int64_t message_;
};

}  // namespace tern::core
