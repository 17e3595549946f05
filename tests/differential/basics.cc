// SPDX-License-Identifier: Apache-2.0
// Predefined datatypes: values, and reduction operations by type.
#include "basics.hpp"

#include <complex>
#include <cstddef>
#include <cstring>

namespace {

template <typename T>
struct Pair {
  T value;
  int index;
};

template <typename T>
Basic basic(MPI_Datatype type, const char* name, Kind kind) {
  return {type, name, static_cast<int>(sizeof(T)), static_cast<int>(alignof(T)), kind};
}
#define BASIC(T, type, kind) basic<T>(type, #type, Kind::kind)

template <typename T>
void put(void* place, T value) {
  std::memcpy(place, &value, sizeof value);
}

template <typename T>
void put_real(void* place, Random& random, Values values) {
  // Sums and products over a few ranks have few bits.
  const T small = static_cast<T>(random.between(1, 4)) * (random.one_in(2) ? T(1) : T(-1));
  put<T>(place,
         values == Values::real ? static_cast<T>(random.between(-1000000, 1000000)) / T(7) : small);
}

template <typename T>
void put_pair(void* place, Random& random) {
  Pair<T> pair;
  std::memset(&pair, 0, sizeof pair);
  const T value = static_cast<T>(random.between(-3, 3));
  // A copy of a long double would have undefined padding.
  std::memcpy(&pair, &value, sizeof(T) == 16 ? 10 : sizeof(T));
  pair.index = random.between(0, 9);
  std::memcpy(place, &pair, sizeof pair);
}

template <typename T>
void plain_pair(void* place) {
  Pair<T> pair, clean;
  std::memcpy(&pair, place, sizeof pair);
  std::memset(&clean, 0, sizeof clean);
  pair.value += T(0);
  std::memcpy(&clean, &pair.value, sizeof(T) == 16 ? 10 : sizeof(T));
  std::memcpy(reinterpret_cast<char*>(&clean) + offsetof(Pair<T>, index), &pair.index, sizeof(int));
  std::memcpy(place, &clean, sizeof clean);
}

template <typename T>
void plain_real(void* place) {
  T value;
  std::memcpy(&value, place, sizeof value);
  value += T(0);
  std::memset(place, 0, sizeof value);
  std::memcpy(place, &value, sizeof(T) == 16 ? 10 : sizeof(T));
}

bool is_pair(const Basic& basic, MPI_Datatype type) { return basic.type == type; }

}  // namespace

const std::vector<Basic>& basics() {
  static const std::vector<Basic> kBasics = {
      BASIC(signed char, MPI_SIGNED_CHAR, integer),
      BASIC(short, MPI_SHORT, integer),
      BASIC(int, MPI_INT, integer),
      BASIC(long, MPI_LONG, integer),
      BASIC(long long, MPI_LONG_LONG, integer),
      BASIC(int8_t, MPI_INT8_T, integer),
      BASIC(int16_t, MPI_INT16_T, integer),
      BASIC(int32_t, MPI_INT32_T, integer),
      BASIC(int64_t, MPI_INT64_T, integer),
      BASIC(unsigned char, MPI_UNSIGNED_CHAR, natural),
      BASIC(unsigned short, MPI_UNSIGNED_SHORT, natural),
      BASIC(unsigned, MPI_UNSIGNED, natural),
      BASIC(unsigned long, MPI_UNSIGNED_LONG, natural),
      BASIC(unsigned long long, MPI_UNSIGNED_LONG_LONG, natural),
      BASIC(uint8_t, MPI_UINT8_T, natural),
      BASIC(uint16_t, MPI_UINT16_T, natural),
      BASIC(uint32_t, MPI_UINT32_T, natural),
      BASIC(uint64_t, MPI_UINT64_T, natural),
      BASIC(MPI_Aint, MPI_AINT, address),
      BASIC(MPI_Offset, MPI_OFFSET, address),
      BASIC(MPI_Count, MPI_COUNT, address),
      BASIC(float, MPI_FLOAT, real),
      BASIC(double, MPI_DOUBLE, real),
      BASIC(long double, MPI_LONG_DOUBLE, real),
      BASIC(std::complex<float>, MPI_C_FLOAT_COMPLEX, complex),
      BASIC(std::complex<double>, MPI_C_DOUBLE_COMPLEX, complex),
      BASIC(bool, MPI_C_BOOL, logical),
      BASIC(char, MPI_BYTE, byte),
      BASIC(char, MPI_CHAR, character),
      BASIC(wchar_t, MPI_WCHAR, character),
      BASIC(Pair<int>, MPI_2INT, pair),
      BASIC(Pair<float>, MPI_FLOAT_INT, pair),
      BASIC(Pair<double>, MPI_DOUBLE_INT, pair),
      BASIC(Pair<long>, MPI_LONG_INT, pair),
      BASIC(Pair<short>, MPI_SHORT_INT, pair),
      BASIC(Pair<long double>, MPI_LONG_DOUBLE_INT, pair),
  };
  return kBasics;
}

namespace {

struct Named {
  MPI_Op op;
  const char* name;
};

Named any_op(Kind kind, Random& random) {
#define OP(name) \
  Named { name, #name }
  switch (kind) {
    case Kind::integer:
    case Kind::natural:
      return random.pick({OP(MPI_SUM), OP(MPI_PROD), OP(MPI_MAX), OP(MPI_MIN), OP(MPI_LAND),
                          OP(MPI_LOR), OP(MPI_LXOR), OP(MPI_BAND), OP(MPI_BOR), OP(MPI_BXOR)});
    case Kind::address:
      return random.pick({OP(MPI_SUM), OP(MPI_PROD), OP(MPI_MAX), OP(MPI_MIN), OP(MPI_BAND),
                          OP(MPI_BOR), OP(MPI_BXOR)});
    case Kind::real:
      return random.pick({OP(MPI_SUM), OP(MPI_PROD), OP(MPI_MAX), OP(MPI_MIN)});
    case Kind::complex:
      return random.pick({OP(MPI_SUM), OP(MPI_PROD)});
    case Kind::logical:
      return random.pick({OP(MPI_LAND), OP(MPI_LOR), OP(MPI_LXOR)});
    case Kind::byte:
      return random.pick({OP(MPI_BAND), OP(MPI_BOR), OP(MPI_BXOR)});
    default:
      return random.pick({OP(MPI_MAXLOC), OP(MPI_MINLOC)});
  }
}

}  // namespace

Reduction any_reduction(Random& random) {
  for (;;) {
    const int which = random.below(static_cast<int>(basics().size()));
    const Kind kind = basics()[static_cast<size_t>(which)].kind;
    if (kind == Kind::character) continue;
    const Named op = any_op(kind, random);
    return {which, op.op, op.name, kind == Kind::real && op.op == MPI_SUM};
  }
}

bool compares_addresses(const Reduction& reduction) {
  return basics()[static_cast<size_t>(reduction.basic)].kind == Kind::address &&
         (reduction.op == MPI_MIN || reduction.op == MPI_MAX);
}

Reduction any_accumulate(Random& random) {
  for (;;) {
    const Reduction found = any_reduction(random);
    const Basic& basic = basics()[static_cast<size_t>(found.basic)];
    // The target's bytes may be NaNs, so accumulates use no real numbers.
    if (basic.kind == Kind::real || found.op == MPI_PROD) continue;
    if (basic.kind != Kind::pair && basic.kind != Kind::logical && basic.kind != Kind::complex) {
      return found;
    }
  }
}

void set_value(const Basic& basic, void* place, Random& random, Values values) {
  if (values == Values::raw) {
    const auto size = static_cast<size_t>(basic.extent);
    for (size_t i = 0; i < size; ++i) {
      static_cast<unsigned char*>(place)[i] = static_cast<unsigned char>(random.next());
    }
    return;
  }
  switch (basic.kind) {
    case Kind::integer:
    case Kind::address: {
      const int value = random.between(-3, 3);
      if (basic.extent == 1) return put<int8_t>(place, static_cast<int8_t>(value));
      if (basic.extent == 2) return put<int16_t>(place, static_cast<int16_t>(value));
      if (basic.extent == 4) return put<int32_t>(place, value);
      return put<int64_t>(place, value);
    }
    case Kind::natural: {
      // Narrow results must not overflow: vector instructions of some libraries saturate.
      const bool narrow = basic.extent <= 2;
      const uint64_t value = random.next() >> (narrow ? 62 : random.pick({0, 0, 62}));
      return static_cast<void>(std::memcpy(place, &value, static_cast<size_t>(basic.extent)));
    }
    case Kind::real:
      if (basic.extent == 4) return put_real<float>(place, random, values);
      if (basic.extent == 8) return put_real<double>(place, random, values);
      std::memset(place, 0, static_cast<size_t>(basic.extent));
      put_real<long double>(place, random, values);
      return plain_real<long double>(place);
    case Kind::complex:
      for (int part = 0; part < 2; ++part) {
        char* at = static_cast<char*>(place) + part * basic.extent / 2;
        if (basic.extent == 8) put_real<float>(at, random, values);
        if (basic.extent == 16) put_real<double>(at, random, values);
      }
      return;
    case Kind::logical:
      return put<bool>(place, random.one_in(2));
    case Kind::byte:
    case Kind::character: {
      const uint64_t value = random.next();
      return static_cast<void>(std::memcpy(place, &value, static_cast<size_t>(basic.extent)));
    }
    case Kind::pair:
      if (is_pair(basic, MPI_2INT)) return put_pair<int>(place, random);
      if (is_pair(basic, MPI_FLOAT_INT)) return put_pair<float>(place, random);
      if (is_pair(basic, MPI_DOUBLE_INT)) return put_pair<double>(place, random);
      if (is_pair(basic, MPI_LONG_INT)) return put_pair<long>(place, random);
      if (is_pair(basic, MPI_SHORT_INT)) return put_pair<short>(place, random);
      return put_pair<long double>(place, random);
  }
}

void normalise(const Basic& basic, void* place) {
  if (basic.kind == Kind::real) {
    if (basic.extent == 4) plain_real<float>(place);
    if (basic.extent == 8) plain_real<double>(place);
    if (basic.extent == 16) plain_real<long double>(place);
  } else if (basic.kind == Kind::complex) {
    for (int part = 0; part < 2; ++part) {
      char* at = static_cast<char*>(place) + part * basic.extent / 2;
      if (basic.extent == 8) plain_real<float>(at);
      if (basic.extent == 16) plain_real<double>(at);
    }
  } else if (basic.kind == Kind::pair) {
    if (is_pair(basic, MPI_2INT)) plain_pair<int>(place);
    if (is_pair(basic, MPI_FLOAT_INT)) plain_pair<float>(place);
    if (is_pair(basic, MPI_DOUBLE_INT)) plain_pair<double>(place);
    if (is_pair(basic, MPI_LONG_INT)) plain_pair<long>(place);
    if (is_pair(basic, MPI_SHORT_INT)) plain_pair<short>(place);
    if (is_pair(basic, MPI_LONG_DOUBLE_INT)) plain_pair<long double>(place);
  }
}

namespace {

template <typename T>
void clear_between(void* place) {
  constexpr size_t kValue = sizeof(T) == 16 ? 10 : sizeof(T), kIndex = offsetof(Pair<T>, index);
  auto* bytes = static_cast<char*>(place);
  std::memset(bytes + kValue, 0, kIndex - kValue);
  std::memset(bytes + kIndex + sizeof(int), 0, sizeof(Pair<T>) - kIndex - sizeof(int));
}

}  // namespace

bool has_padding(const Basic& basic) {
  return basic.kind == Kind::pair || (basic.kind == Kind::real && basic.extent == 16);
}

void clear_padding(const Basic& basic, void* place) {
  if (basic.kind == Kind::real) std::memset(static_cast<char*>(place) + 10, 0, 6);
  if (is_pair(basic, MPI_SHORT_INT)) clear_between<short>(place);
  if (is_pair(basic, MPI_DOUBLE_INT)) clear_between<double>(place);
  if (is_pair(basic, MPI_LONG_INT)) clear_between<long>(place);
  if (is_pair(basic, MPI_LONG_DOUBLE_INT)) clear_between<long double>(place);
}
