// SPDX-License-Identifier: Apache-2.0
// Copier: the visitor that packs or unpacks, with loops made for the small blocks that matter.
// Why: a call of memcpy per 8-byte block costs more than the bytes; blocks of usual sizes are moved
// by constants.
// The place in the packed form is a local of each loop: as a member it would be reloaded after
// every store, which may alias it.
// See: core/datatype_walk.hpp.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace tern::core {

template <bool kPack>
class Copier {
 public:
  using Packed = std::conditional_t<kPack, char*, const char*>;
  explicit Copier(Packed packed) noexcept : packed_(packed) {}

  [[nodiscard]] static constexpr bool full() noexcept { return false; }

  void run(uintptr_t at, int64_t bytes) noexcept {
    move(packed_, at, static_cast<size_t>(bytes));
    packed_ += bytes;
  }

  void strided(uintptr_t at, int64_t stride, int64_t block, int64_t count) noexcept {
    by_block(block, [&](auto size) {
      packed_ = column(packed_, static_cast<size_t>(size), at, stride, count, size);
    });
  }

  void grid(uintptr_t at, int64_t rows, int64_t row_stride, int64_t count, int64_t stride,
            int64_t block) noexcept {
    by_block(block, [&](auto size) {
      Packed packed = packed_;
      for (int64_t row = 0; row < rows; ++row, at += static_cast<uintptr_t>(row_stride))
        packed = column(packed, static_cast<size_t>(size), at, stride, count, size);
      packed_ = packed;
    });
  }

  void listed(uintptr_t origin, const int64_t* places, int64_t count, int64_t block) noexcept {
    by_block(block, [&](auto size) {
      Packed packed = packed_;
      const auto place = [&](int64_t k) { return origin + static_cast<uintptr_t>(places[k]); };
      const size_t step = static_cast<size_t>(size);
      int64_t i = 0;
      for (; i + 4 <= count; i += 4, packed += 4 * step) {
        move(packed, place(i), size);
        move(packed + step, place(i + 1), size);
        move(packed + 2 * step, place(i + 2), size);
        move(packed + 3 * step, place(i + 3), size);
      }
      for (; i < count; ++i, packed += step) move(packed, place(i), size);
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

  /// A record of `blocks` blocks, `count` times: a few records at a time, block by block, stay in
  /// the cache.
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

  template <size_t kBytes>
  struct Constant {
    constexpr operator size_t() const noexcept { return kBytes; }
  };

  /// Calls `loop` with the size as a constant where it is a usual one.
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
      std::memcpy(packed, user, bytes);
    else
      std::memcpy(user, packed, bytes);
  }

  /// `count` blocks, `stride` apart in memory and `step` apart in the packed form; returns where
  /// that ends.
  template <class Size>
  static Packed column(Packed packed, size_t step, uintptr_t at, int64_t stride, int64_t count,
                       Size size) noexcept {
    const uintptr_t forward = static_cast<uintptr_t>(stride);
    int64_t i = 0;
    for (; i + 4 <= count; i += 4) {
      move(packed, at, size);
      move(packed + step, at + forward, size);
      move(packed + 2 * step, at + 2 * forward, size);
      move(packed + 3 * step, at + 3 * forward, size);
      packed += 4 * step;
      at += 4 * forward;
    }
    for (; i < count; ++i, packed += step, at += forward) move(packed, at, size);
    return packed;
  }

  /// Lengths that change from block to block: 8 to 32 bytes are four moves of 8 that may overlap,
  /// because a branch on the length would be guessed wrong.
  static void move_short(Packed packed, uintptr_t at, size_t bytes) noexcept {
    if (bytes - 8 <= 24) {
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
};

}  // namespace tern::core
