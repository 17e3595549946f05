// SPDX-License-Identifier: Apache-2.0
// Loads and stores of 16 bytes at any address, by accesses as wide as its alignment allows.
#pragma once

#include <cstdint>

#include "cuda/kernels/device.hpp"

namespace tern::cuda {

struct alignas(16) Vector {
  uint32_t words[4];
};

/// The low bits that tell an address's alignment.
TERN_DEVICE unsigned skew(const void* p) {
  return static_cast<unsigned>(reinterpret_cast<uintptr_t>(p)) & 15U;
}

/// 16 bytes as pieces of a type to which both addresses are aligned.
template <class Piece>
TERN_DEVICE void move_pieces(void* to, const void* from, int bytes) {
  const auto* source = static_cast<const Piece*>(from);
  auto* target = static_cast<Piece*>(to);
  for (int i = 0; i < bytes / static_cast<int>(sizeof(Piece)); ++i) target[i] = source[i];
}

/// `bytes` (at most 16) between a Vector of this thread and memory of the given skew.
TERN_DEVICE void move_skewed(void* to, const void* from, unsigned skew, int bytes) {
  skew |= static_cast<unsigned>(bytes);
  if ((skew & 15U) == 0)
    move_pieces<Vector>(to, from, bytes);
  else if ((skew & 7U) == 0)
    move_pieces<uint64_t>(to, from, bytes);
  else if ((skew & 3U) == 0)
    move_pieces<uint32_t>(to, from, bytes);
  else
    move_pieces<uint8_t>(to, from, bytes);
}

TERN_DEVICE Vector load_some(const char* from, int bytes) {
  Vector value{};
  move_skewed(&value, from, skew(from), bytes);
  return value;
}
TERN_DEVICE void store_some(char* to, const Vector& value, int bytes) {
  move_skewed(to, &value, skew(to), bytes);
}

template <int kVectors>
TERN_DEVICE void load_vectors(const char* from, int64_t apart, Vector (&values)[kVectors]) {
  if (skew(from) == 0) {
    TERN_UNROLL
    for (int j = 0; j < kVectors; ++j)
      values[j] = *reinterpret_cast<const Vector*>(from + j * apart);
  } else {
    TERN_UNROLL
    for (int j = 0; j < kVectors; ++j) values[j] = load_some(from + j * apart, 16);
  }
}

template <int kVectors>
TERN_DEVICE void store_vectors(char* to, int64_t apart, const Vector (&values)[kVectors]) {
  if (skew(to) == 0) {
    TERN_UNROLL
    for (int j = 0; j < kVectors; ++j) *reinterpret_cast<Vector*>(to + j * apart) = values[j];
  } else {
    TERN_UNROLL
    for (int j = 0; j < kVectors; ++j) store_some(to + j * apart, values[j], 16);
  }
}

}  // namespace tern::cuda
