// SPDX-License-Identifier: Apache-2.0
// Copies rows by vectors of 32 bytes, and dense columns by vectors of 64. One packed vector
// corresponds to kEvery vectors of memory, each moved by a masked permutation.
#include "core/datatype_dense.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>

#define TERN_AVX2 __attribute__((target("avx2")))
#define TERN_AVX2_INLINE __attribute__((target("avx2"), always_inline)) inline
#define TERN_AVX512 __attribute__((target("avx512f")))
#define TERN_AVX512_INLINE __attribute__((target("avx512f"), always_inline)) inline

namespace tern::core::dense {
namespace {

constexpr size_t kVector = 64;

template <class Word>
struct Choice {
  static constexpr size_t kLanes = kVector / sizeof(Word);
  alignas(kVector) std::array<Word, kLanes> from{};
  uint16_t lanes = 0;
};

/// Memory vector `v` has these positions in the packed vector.
template <class Word, size_t kEvery>
constexpr Choice<Word> to_memory(size_t v) {
  Choice<Word> choice;
  for (size_t lane = 0; lane < choice.kLanes; ++lane) {
    const size_t word = v * choice.kLanes + lane;
    if (word % kEvery != 0) continue;
    choice.from[lane] = static_cast<Word>(word / kEvery);
    choice.lanes = static_cast<uint16_t>(choice.lanes | 1U << lane);
  }
  return choice;
}

/// Memory vector `v` has these packed words and lanes.
template <class Word, size_t kEvery>
constexpr Choice<Word> to_packed(size_t v) {
  Choice<Word> choice;
  for (size_t lane = 0; lane < choice.kLanes; ++lane) {
    const size_t word = lane * kEvery;
    if (word / choice.kLanes != v) continue;
    choice.from[lane] = static_cast<Word>(word % choice.kLanes);
    choice.lanes = static_cast<uint16_t>(choice.lanes | 1U << lane);
  }
  return choice;
}

template <class Word>
TERN_AVX512_INLINE __m512i permute(__m512i kept, const Choice<Word>& choice, __m512i words) {
  const __m512i from = _mm512_load_si512(choice.from.data());
  if constexpr (sizeof(Word) == 4)
    return _mm512_mask_permutexvar_epi32(kept, choice.lanes, from, words);
  else
    return _mm512_mask_permutexvar_epi64(kept, static_cast<__mmask8>(choice.lanes), from, words);
}

template <class Word>
TERN_AVX512_INLINE void store_chosen(char* to, const Choice<Word>& choice, __m512i packed) {
  const __m512i words = permute(packed, choice, packed);
  if constexpr (sizeof(Word) == 4)
    _mm512_mask_storeu_epi32(to, choice.lanes, words);
  else
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>(choice.lanes), words);
}

/// Single blocks move until `at` is aligned, or none if `at` never gets aligned.
template <class Word, class Move>
int64_t align(uintptr_t at, size_t stride, Move move) {
  constexpr int64_t kMost = kVector / sizeof(Word);
  int64_t ahead = 0;
  while (ahead < kMost && (at + static_cast<size_t>(ahead) * stride) % kVector != 0) ++ahead;
  if (ahead == kMost) return 0;
  for (int64_t i = 0; i < ahead; ++i) move(i);
  return ahead;
}

template <class Word, size_t kEvery, size_t... kVectors>
TERN_AVX512 int64_t pack_words(char* packed, uintptr_t at, int64_t count,
                               std::index_sequence<kVectors...>) {
  static constexpr Choice<Word> kChoices[] = {to_packed<Word, kEvery>(kVectors)...};
  constexpr size_t kStride = kEvery * sizeof(Word);
  constexpr int64_t kLanes = Choice<Word>::kLanes;
  const char* from = reinterpret_cast<const char*>(at);
  int64_t done = align<Word>(at, kStride, [=](int64_t i) {
    std::memcpy(packed + i * static_cast<int64_t>(sizeof(Word)),
                from + i * static_cast<int64_t>(kStride), sizeof(Word));
  });
  packed += done * static_cast<int64_t>(sizeof(Word));
  from += done * static_cast<int64_t>(kStride);
  for (; count - done > kLanes; done += kLanes, packed += kVector, from += kEvery * kVector) {
    __m512i words = _mm512_setzero_si512();
    ((words = permute(words, kChoices[kVectors], _mm512_loadu_si512(from + kVectors * kVector))),
     ...);
    _mm512_storeu_si512(packed, words);
  }
  return done;
}

template <class Word, size_t kEvery, size_t... kVectors>
TERN_AVX512 int64_t unpack_words(const char* packed, uintptr_t at, int64_t count,
                                 std::index_sequence<kVectors...>) {
  static constexpr Choice<Word> kChoices[] = {to_memory<Word, kEvery>(kVectors)...};
  constexpr size_t kStride = kEvery * sizeof(Word);
  constexpr int64_t kLanes = Choice<Word>::kLanes;
  char* to = reinterpret_cast<char*>(at);
  int64_t done = align<Word>(at, kStride, [=](int64_t i) {
    std::memcpy(to + i * static_cast<int64_t>(kStride),
                packed + i * static_cast<int64_t>(sizeof(Word)), sizeof(Word));
  });
  packed += done * static_cast<int64_t>(sizeof(Word));
  to += done * static_cast<int64_t>(kStride);
  for (; count - done >= kLanes; done += kLanes, packed += kVector, to += kEvery * kVector) {
    const __m512i words = _mm512_loadu_si512(packed);
    (store_chosen(to + kVectors * kVector, kChoices[kVectors], words), ...);
  }
  return done;
}

TERN_AVX2_INLINE void copy_line(char* to, const char* from) {
  constexpr size_t kHalf = kVector / 2;
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from + kHalf));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), low);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + kHalf), high);
}

/// copy_lines() needs at least kVector bytes. Inner vectors are aligned at the target, and the
/// first and last vectors overlap the inner vectors.
TERN_AVX2 void copy_lines(char* to, const char* from, size_t bytes) {
  copy_line(to, from);
  for (size_t i = -reinterpret_cast<uintptr_t>(to) % kVector; i + kVector <= bytes; i += kVector)
    copy_line(to + i, from + i);
  copy_line(to + bytes - kVector, from + bytes - kVector);
}

bool available() noexcept {
  static const bool found = __builtin_cpu_supports("avx512f") != 0;
  return found;
}

template <class Move>
int64_t by_stride(int64_t stride, int64_t block, Move move) {
  // clang-format off
  switch (available() ? stride * 16 + block : 0) {
    case  8 * 16 + 4: return move(uint32_t{}, std::make_index_sequence<2>{});
    case 12 * 16 + 4: return move(uint32_t{}, std::make_index_sequence<3>{});
    case 16 * 16 + 4: return move(uint32_t{}, std::make_index_sequence<4>{});
    case 20 * 16 + 4: return move(uint32_t{}, std::make_index_sequence<5>{});
    case 24 * 16 + 4: return move(uint32_t{}, std::make_index_sequence<6>{});
    case 16 * 16 + 8: return move(uint64_t{}, std::make_index_sequence<2>{});
    default: return 0;
  }
  // clang-format on
}

}  // namespace

int64_t pack(char* packed, uintptr_t at, int64_t stride, int64_t count) noexcept {
  return by_stride(stride, 4, [=](auto word, auto vectors) {
    return pack_words<decltype(word), vectors.size()>(packed, at, count, vectors);
  });
}

int64_t unpack(const char* packed, uintptr_t at, int64_t stride, int64_t block,
               int64_t count) noexcept {
  return by_stride(stride, block, [=](auto word, auto vectors) {
    return unpack_words<decltype(word), vectors.size()>(packed, at, count, vectors);
  });
}

void copy(char* to, const char* from, size_t bytes) noexcept {
  static const bool has_vectors = __builtin_cpu_supports("avx2") != 0;
  if (has_vectors && bytes >= kVector)
    copy_lines(to, from, bytes);
  else
    std::memcpy(to, from, bytes);
}

}  // namespace tern::core::dense

#else

#include <cstring>

namespace tern::core::dense {

int64_t pack(char*, uintptr_t, int64_t, int64_t) noexcept { return 0; }
int64_t unpack(const char*, uintptr_t, int64_t, int64_t, int64_t) noexcept { return 0; }
void copy(char* to, const char* from, size_t bytes) noexcept { std::memcpy(to, from, bytes); }

}  // namespace tern::core::dense

#endif
