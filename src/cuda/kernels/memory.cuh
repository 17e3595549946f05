// SPDX-License-Identifier: Apache-2.0
// Loads and stores of 16 bytes at any address, as wide as alignment allows.
#pragma once

#include <cstdint>

#include "cuda/kernels/ptx.cuh"

namespace tern::cuda {

struct alignas(16) Vector {
  uint32_t words[4];
};

TERN_DEVICE unsigned skew(const void* p) {
  return static_cast<unsigned>(reinterpret_cast<uintptr_t>(p)) & 15U;
}

template <class Piece>
TERN_DEVICE void move_pieces(void* to, const void* from, int bytes) {
  const auto* source = static_cast<const Piece*>(from);
  auto* target = static_cast<Piece*>(to);
  TERN_ROLLED
  for (int i = 0; i < bytes / static_cast<int>(sizeof(Piece)); ++i) target[i] = source[i];
}

TERN_DEVICE void move_some(void* to, const void* from, int bytes) {
  const unsigned skews = skew(to) | skew(from) | static_cast<unsigned>(bytes);
  if ((skews & 3U) == 0)
    move_pieces<uint32_t>(to, from, bytes);
  else
    move_pieces<uint8_t>(to, from, bytes);
}

/// Moves fewer than 16 bytes byte by byte, for ends and unaligned buffers. Not inlined, because of
/// many callers. The vector is passed by value, because its address would force local memory.
TERN_DEVICE_CALL Vector load_bytes(const char* from, int bytes) {
  Vector value{};
  TERN_UNROLL
  for (int i = 0; i < 15; ++i)
    if (i < bytes)
      value.words[i / 4] |= static_cast<uint32_t>(static_cast<uint8_t>(from[i])) << (8 * (i % 4));
  return value;
}
TERN_DEVICE_CALL void store_bytes(char* to, const Vector value, int bytes) {
  TERN_UNROLL
  for (int i = 0; i < 15; ++i)
    if (i < bytes) to[i] = static_cast<char>(value.words[i / 4] >> (8 * (i % 4)));
}

TERN_DEVICE void store_skewed(char* to, const Vector& value) {
  const unsigned behind = skew(to) & 3U, head = (4 - behind) & 3U, shift = 8 * head;
  const auto spread = [](char* at, uint32_t word, unsigned bytes) {
    TERN_ROLLED
    for (; bytes > 0; --bytes, word >>= 8) *at++ = static_cast<char>(word);
  };
  spread(to, value.words[0], head);
  auto* const words = reinterpret_cast<uint32_t*>(to + head);
  if (head == 0) words[3] = value.words[3];
  TERN_UNROLL
  for (int i = 0; i < 3; ++i) {
    const uint64_t both = value.words[i] | static_cast<uint64_t>(value.words[i + 1]) << 32;
    words[i] = static_cast<uint32_t>(both >> shift);
  }
  spread(to + head + 12, value.words[3] >> shift, behind);
}

TERN_DEVICE Vector load(const char* from) {
  return skew(from) == 0 ? *reinterpret_cast<const Vector*>(from) : ptx::load_skewed<Vector>(from);
}
TERN_DEVICE void store(char* to, const Vector& value) {
  if (skew(to) == 0)
    *reinterpret_cast<Vector*>(to) = value;
  else
    store_skewed(to, value);
}
TERN_DEVICE Vector load_some(const char* from, int bytes) {
  return bytes == 16 ? load(from) : load_bytes(from, bytes);
}
TERN_DEVICE void store_some(char* to, const Vector& value, int bytes) {
  if (bytes == 16)
    store(to, value);
  else
    store_bytes(to, value, bytes);
}

template <int kVectors>
TERN_DEVICE void load_vectors(const char* from, int64_t apart, Vector (&values)[kVectors]) {
  if (skew(from) == 0) {
    TERN_UNROLL
    for (int j = 0; j < kVectors; ++j)
      values[j] = *reinterpret_cast<const Vector*>(from + j * apart);
  } else {
    TERN_UNROLL
    for (int j = 0; j < kVectors; ++j) values[j] = ptx::load_skewed<Vector>(from + j * apart);
  }
}

template <int kVectors>
TERN_DEVICE void store_vectors(char* to, int64_t apart, const Vector (&values)[kVectors]) {
  TERN_UNROLL
  for (int j = 0; j < kVectors; ++j) store(to + j * apart, values[j]);
}

}  // namespace tern::cuda
