// SPDX-License-Identifier: Apache-2.0
// plan_reduce: the table of types, and which operations each takes.
#include "cuda/kernels/reduce_plan.hpp"

namespace tern::cuda {
namespace {

using K = ReduceKernel;
enum class Class : uint8_t { kNone, kSigned, kUnsigned, kLogical, kBits, kFloat, kComplex, kPair };

struct Type {
  Class of = Class::kNone;
  uint8_t bytes = 0;
  K plain = K::bits;     // what computes with it: of a complex number its parts
  K compared = K::bits;  // minima and maxima; products of complex numbers
};

Type type_of(Number number) noexcept {
  switch (number) {
    case Number::kInt8:
      return {Class::kSigned, 1, K::u8, K::i8};
    case Number::kUint8:
      return {Class::kUnsigned, 1, K::u8, K::u8};
    case Number::kInt16:
      return {Class::kSigned, 2, K::u16, K::i16};
    case Number::kUint16:
      return {Class::kUnsigned, 2, K::u16, K::u16};
    case Number::kInt32:
      return {Class::kSigned, 4, K::u32, K::i32};
    case Number::kUint32:
      return {Class::kUnsigned, 4, K::u32, K::u32};
    case Number::kInt64:
      return {Class::kSigned, 8, K::u64, K::i64};
    case Number::kUint64:
      return {Class::kUnsigned, 8, K::u64, K::u64};
    case Number::kInt128:
      return {Class::kSigned, 16, K::u128, K::i128};
    case Number::kHalf:
      return {Class::kFloat, 2, K::f16, K::f16};
    case Number::kBfloat16:
      return {Class::kFloat, 2, K::bf16, K::bf16};
    case Number::kFloat:
      return {Class::kFloat, 4, K::f32, K::f32};
    case Number::kDouble:
      return {Class::kFloat, 8, K::f64, K::f64};
    case Number::kComplexHalf:
      return {Class::kComplex, 4, K::f16, K::c16};
    case Number::kComplexFloat:
      return {Class::kComplex, 8, K::f32, K::c32};
    case Number::kComplexDouble:
      return {Class::kComplex, 16, K::f64, K::c64};
    case Number::kBool:
    case Number::kLogical8:
      return {Class::kLogical, 1, K::u8, K::u8};
    case Number::kLogical16:
      return {Class::kLogical, 2, K::u16, K::u16};
    case Number::kLogical32:
      return {Class::kLogical, 4, K::u32, K::u32};
    case Number::kLogical64:
      return {Class::kLogical, 8, K::u64, K::u64};
    case Number::kLogical128:
      return {Class::kLogical, 16, K::u128, K::u128};
    case Number::kByte:
      return {Class::kBits, 1, K::bits, K::bits};
    case Number::kFloatInt:
      return {Class::kPair, 8, K::f32_i32, K::f32_i32};
    case Number::kDoubleInt:
      return {Class::kPair, 16, K::f64_i32, K::f64_i32};
    case Number::kLongInt:
      return {Class::kPair, 16, K::i64_i32, K::i64_i32};
    case Number::kIntInt:
      return {Class::kPair, 8, K::i32_i32, K::i32_i32};
    case Number::kShortInt:
      return {Class::kPair, 8, K::i16_i32, K::i16_i32};
    case Number::kFloatFloat:
      return {Class::kPair, 8, K::f32_f32, K::f32_f32};
    case Number::kDoubleDouble:
      return {Class::kPair, 16, K::f64_f64, K::f64_f64};
    default:
      return {};
  }
}

}  // namespace

const char* name_of(ReduceKernel kernel) noexcept {
  static constexpr const char* kNames[] = {
#define TERN_QUOTED(suffix, ...) "tern_reduce_" #suffix,
      TERN_REDUCE_KERNELS(TERN_QUOTED)
#undef TERN_QUOTED
  };
  return kNames[static_cast<int>(kernel)];
}

std::optional<ReducePlan> plan_reduce(Reduction operation, Number number) noexcept {
  const Type type = type_of(number);
  const bool integer = type.of == Class::kSigned || type.of == Class::kUnsigned;
  const bool arithmetic = integer || type.of == Class::kFloat;
  const int parts = type.of == Class::kComplex ? 2 : 1;
  const auto plan = [&](bool allowed, K kernel, int factor) {
    return allowed ? std::optional(ReducePlan{kernel, factor, type.bytes}) : std::nullopt;
  };
  switch (operation) {
    case Reduction::kSum:
      return plan(arithmetic || type.of == Class::kComplex, type.plain, parts);
    case Reduction::kProd:
      return type.of == Class::kComplex ? plan(true, type.compared, 1)
                                        : plan(arithmetic, type.plain, 1);
    case Reduction::kMin:
    case Reduction::kMax:
      return plan(arithmetic, type.compared, 1);
    case Reduction::kBand:
    case Reduction::kBor:
    case Reduction::kBxor:
      return plan(integer || type.of == Class::kBits, K::bits, type.bytes);
    case Reduction::kLand:
    case Reduction::kLor:
    case Reduction::kLxor:
      return plan(integer || type.of == Class::kLogical, type.plain, 1);
    case Reduction::kMinloc:
    case Reduction::kMaxloc:
      return plan(type.of == Class::kPair, type.plain, 1);
    default:
      return std::nullopt;
  }
}

}  // namespace tern::cuda
