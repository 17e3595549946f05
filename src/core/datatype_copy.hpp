// SPDX-License-Identifier: Apache-2.0
// Copier: the visitor that packs or unpacks, with loops made for the small blocks that matter.
// Why: a call of memcpy per 8-byte block costs more than the bytes; blocks of usual sizes are moved by constants.
// See: core/datatype_walk.hpp; tests/bench/pack (speed).
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace tern::core {

template <bool kPack>
class Copier {
 public:
  using Packed = std::conditional_t<kPack, char*, const char*>;
  explicit Copier(Packed packed) noexcept : packed_(packed) {}

  [[nodiscard]] static constexpr bool full() noexcept { return false; }

  void run(uintptr_t at, int64_t bytes) noexcept { move(at, static_cast<size_t>(bytes)); }

  void strided(uintptr_t at, int64_t stride, int64_t block, int64_t count) noexcept {
    by_block(block, [&](auto size) {
      for (int64_t i = 0; i < count; ++i, at += static_cast<uintptr_t>(stride)) move(at, size);
    });
  }

  void grid(uintptr_t at, int64_t rows, int64_t row_stride, int64_t count, int64_t stride,
            int64_t block) noexcept {
    by_block(block, [&](auto size) {
      for (int64_t row = 0; row < rows; ++row, at += static_cast<uintptr_t>(row_stride)) {
        uintptr_t place = at;
        for (int64_t i = 0; i < count; ++i, place += static_cast<uintptr_t>(stride))
          move(place, size);
      }
    });
  }

  void listed(uintptr_t origin, const int64_t* places, int64_t count, int64_t block) noexcept {
    by_block(block, [&](auto size) {
      for (int64_t i = 0; i < count; ++i) move(origin + static_cast<uintptr_t>(places[i]), size);
    });
  }

  void blocks(uintptr_t origin, const int64_t* places, const int64_t* starts,
              int64_t count) noexcept {
    for (int64_t i = 0; i < count; ++i)
      move_short(origin + static_cast<uintptr_t>(places[i]),
                 static_cast<size_t>(starts[i + 1] - starts[i]));
  }

 private:
  template <size_t kBytes>
  struct Constant {
    constexpr operator size_t() const noexcept { return kBytes; }
  };

  /// Calls `loop` with the size as a constant where it is a usual one.
  template <class Loop>
  static void by_block(int64_t block, Loop loop) noexcept {
    switch (block) {
      case 1:
        return loop(Constant<1>{});
      case 2:
        return loop(Constant<2>{});
      case 4:
        return loop(Constant<4>{});
      case 8:
        return loop(Constant<8>{});
      case 12:
        return loop(Constant<12>{});
      case 16:
        return loop(Constant<16>{});
      case 20:
        return loop(Constant<20>{});
      case 24:
        return loop(Constant<24>{});
      case 32:
        return loop(Constant<32>{});
      case 40:
        return loop(Constant<40>{});
      case 48:
        return loop(Constant<48>{});
      case 64:
        return loop(Constant<64>{});
      default:
        return loop(static_cast<size_t>(block));
    }
  }

  template <class Size>
  void move(uintptr_t at, Size bytes) noexcept {
    char* user = reinterpret_cast<char*>(at);
    if constexpr (kPack)
      std::memcpy(packed_, user, bytes);
    else
      std::memcpy(user, packed_, bytes);
    packed_ += static_cast<size_t>(bytes);
  }

  void move_short(uintptr_t at, size_t bytes) noexcept {
    switch (bytes) {
      case 4:
        return move(at, Constant<4>{});
      case 8:
        return move(at, Constant<8>{});
      case 16:
        return move(at, Constant<16>{});
      default:
        return move(at, bytes);
    }
  }

  Packed packed_;
};

}  // namespace tern::core
