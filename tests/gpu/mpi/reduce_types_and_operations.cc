// SPDX-License-Identifier: Apache-2.0
// Every predefined operation on every predefined type and both 16-bit types in device memory, also
// refusals.
// sanitizers: no, not optimised code leaves other bits between the ends of long doubles
// ranks: 2
// configurations: 1
// full-configurations: 12.0
#include <complex>

#include "allocators.hpp"
#include "mpix.h"

using namespace tern::test;

namespace {

using Put = void (*)(uint8_t* at, int value);
struct Type {
  const char* name;
  MPI_Datatype type;
  size_t extent;
  Put put;
};

template <class T>
void put_at(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value < 16 ? sizeof value : 10);  // the rest may be padding
}
template <class T>
void plain_value(uint8_t* at, int value) {
  put_at(at, static_cast<T>(value));
}
template <class T>
void truth(uint8_t* at, int value) {
  put_at(at, static_cast<T>(value % 2));
}
template <class T>
void two(uint8_t* at, int value) {
  put_at(at, static_cast<T>(value));
  put_at(at + sizeof(T), static_cast<T>(value % 2));
}
template <class T>
struct Pair {
  T value;
  int place;
};
template <class T>
void placed(uint8_t* at, int value) {
  put_at(at, static_cast<T>(value));
  put_at(at + offsetof(Pair<T>, place), value + 1);
}
void half(uint8_t* at, int value) {
  constexpr uint16_t kWords[] = {0, 0x3c00, 0x4000, 0x4200};
  put_at(at, kWords[value % 4]);
}
void brain(uint8_t* at, int value) {
  constexpr uint16_t kWords[] = {0, 0x3f80, 0x4000, 0x4040};
  put_at(at, kWords[value % 4]);
}

#define ROW(type, C, put) \
  { #type, type, sizeof(C), put < C> }
#define TWO(type, C, put) \
  { #type, type, 2 * sizeof(C), put < C> }
#define PAIR(type, C) \
  { #type, type, sizeof(Pair <C>), placed < C> }
const Type kTypes[] = {
    ROW(MPI_AINT, MPI_Aint, plain_value),
    ROW(MPI_COUNT, MPI_Count, plain_value),
    ROW(MPI_OFFSET, MPI_Offset, plain_value),
    ROW(MPI_SHORT, short, plain_value),
    ROW(MPI_INT, int, plain_value),
    ROW(MPI_LONG, long, plain_value),
    ROW(MPI_LONG_LONG, long long, plain_value),
    ROW(MPI_UNSIGNED_SHORT, unsigned short, plain_value),
    ROW(MPI_UNSIGNED, unsigned, plain_value),
    ROW(MPI_UNSIGNED_LONG, unsigned long, plain_value),
    ROW(MPI_UNSIGNED_LONG_LONG, unsigned long long, plain_value),
    ROW(MPI_CHAR, char, plain_value),
    ROW(MPI_SIGNED_CHAR, signed char, plain_value),
    ROW(MPI_UNSIGNED_CHAR, unsigned char, plain_value),
    ROW(MPI_BYTE, char, plain_value),
    ROW(MPI_INT8_T, int8_t, plain_value),
    ROW(MPI_INT16_T, int16_t, plain_value),
    ROW(MPI_INT32_T, int32_t, plain_value),
    ROW(MPI_INT64_T, int64_t, plain_value),
    ROW(MPI_UINT8_T, uint8_t, plain_value),
    ROW(MPI_UINT16_T, uint16_t, plain_value),
    ROW(MPI_UINT32_T, uint32_t, plain_value),
    ROW(MPI_UINT64_T, uint64_t, plain_value),
    ROW(MPI_INTEGER, int, plain_value),
    ROW(MPI_INTEGER1, int8_t, plain_value),
    ROW(MPI_INTEGER2, int16_t, plain_value),
    ROW(MPI_INTEGER4, int32_t, plain_value),
    ROW(MPI_INTEGER8, int64_t, plain_value),
    ROW(MPI_FLOAT, float, plain_value),
    ROW(MPI_DOUBLE, double, plain_value),
    ROW(MPI_LONG_DOUBLE, long double, plain_value),
    ROW(MPI_REAL, float, plain_value),
    ROW(MPI_DOUBLE_PRECISION, double, plain_value),
    ROW(MPI_REAL4, float, plain_value),
    ROW(MPI_REAL8, double, plain_value),
    {"MPIX_FLOAT16", MPIX_FLOAT16, 2, half},
    {"MPIX_BFLOAT16", MPIX_BFLOAT16, 2, brain},
    TWO(MPI_C_FLOAT_COMPLEX, float, two),
    TWO(MPI_C_DOUBLE_COMPLEX, double, two),
    TWO(MPI_C_LONG_DOUBLE_COMPLEX, long double, two),
    TWO(MPI_CXX_FLOAT_COMPLEX, float, two),
    TWO(MPI_CXX_DOUBLE_COMPLEX, double, two),
    TWO(MPI_CXX_LONG_DOUBLE_COMPLEX, long double, two),
    TWO(MPI_COMPLEX, float, two),
    TWO(MPI_DOUBLE_COMPLEX, double, two),
    TWO(MPI_COMPLEX8, float, two),
    TWO(MPI_COMPLEX16, double, two),
    ROW(MPI_C_BOOL, bool, truth),
    ROW(MPI_CXX_BOOL, bool, truth),
    ROW(MPI_LOGICAL, int, truth),
    ROW(MPI_LOGICAL1, int8_t, truth),
    ROW(MPI_LOGICAL2, int16_t, truth),
    ROW(MPI_LOGICAL4, int32_t, truth),
    ROW(MPI_LOGICAL8, int64_t, truth),
    PAIR(MPI_FLOAT_INT, float),
    PAIR(MPI_DOUBLE_INT, double),
    PAIR(MPI_LONG_INT, long),
    PAIR(MPI_2INT, int),
    PAIR(MPI_SHORT_INT, short),
    PAIR(MPI_LONG_DOUBLE_INT, long double),
    TWO(MPI_2REAL, float, two),
    TWO(MPI_2DOUBLE_PRECISION, double, two),
    TWO(MPI_2INTEGER, int, two),
};
const MPI_Op kOps[] = {MPI_SUM,    MPI_PROD,   MPI_MIN,     MPI_MAX,  MPI_LAND,
                       MPI_LOR,    MPI_LXOR,   MPI_BAND,    MPI_BOR,  MPI_BXOR,
                       MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP};

std::vector<uint8_t> values(const Type& type, int count, int seed) {
  std::vector<uint8_t> data(static_cast<size_t>(count) * type.extent);
  for (int i = 0; i < count; ++i)
    type.put(data.data() + static_cast<size_t>(i) * type.extent, (i * 7 + seed * 5 + i / 9) % 4);
  return data;
}

void check_extent(const Type& type) {
  MPI_Aint lower = 0, extent = 0;
  OK(MPI_Type_get_extent(type.type, &lower, &extent));
  if (static_cast<size_t>(extent) != type.extent) FAIL("the extent of %s", type.name);
}

void same(const Type& type, size_t op, int count, const char* what,
          const std::vector<uint8_t>& want, const std::vector<uint8_t>& got) {
  for (size_t i = 0; i < want.size(); ++i)
    if (got[i] != want[i])
      FAIL("%s of %d %s with operation %zu of the list: byte %zu is %d, expected %d", what, count,
           type.name, op, i, got[i], want[i]);
}

void locally(const Type& type, size_t op, int count) {
  const auto left = values(type, count, 1), right = values(type, count, 2);
  auto want = right;
  const int host = MPI_Reduce_local(left.data(), want.data(), count, type.type, kOps[op]);
  const Area in = plain(left.size()), inout = plain(left.size());
  in.put(left);
  inout.put(right);
  const int device = MPI_Reduce_local(in.address(), inout.address(), count, type.type, kOps[op]);
  if (host != MPI_SUCCESS || device != MPI_SUCCESS) {
    CHECK_EQ(class_of(device), class_of(host));
    return;
  }
  same(type, op, count, "MPI_Reduce_local", want, inout.get(want.size()));
}

void together(const Type& type, size_t op, int count) {
  const auto mine = values(type, count, rank + 1);
  auto want = mine;
  const int host =
      MPI_Allreduce(MPI_IN_PLACE, want.data(), count, type.type, kOps[op], MPI_COMM_WORLD);
  const Area inout = plain(mine.size());
  inout.put(mine);
  const int device =
      MPI_Allreduce(MPI_IN_PLACE, inout.address(), count, type.type, kOps[op], MPI_COMM_WORLD);
  if (host != MPI_SUCCESS || device != MPI_SUCCESS) {
    CHECK_EQ(class_of(device), class_of(host));
    return;
  }
  same(type, op, count, "MPI_Allreduce", want, inout.get(want.size()));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  start_cuda();
  for (const Type& type : kTypes) {
    check_extent(type);
    for (size_t op = 0; op < std::size(kOps); ++op) {
      for (const int count : {1, 1003}) locally(type, op, count);
      if (kOps[op] == MPI_REPLACE || kOps[op] == MPI_NO_OP) continue;
      together(type, op, 103);
      if (op % 3 == 0) together(type, op, 20011);
    }
  }
  return end();
}
