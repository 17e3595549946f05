// SPDX-License-Identifier: Apache-2.0
#include "cuda/kernels/reduce_plan.hpp"

namespace tern::cuda {
namespace {

using K = ReduceKernel;
enum class Class : uint8_t { kNone, kSigned, kUnsigned, kLogical, kBits, kFloat, kComplex, kPair };

struct Type {
  Number number = Number::kNone;
  Class of = Class::kNone;
  uint8_t bytes = 0;
  K plain = K::bits;     // sums; for complex numbers, of the parts
  K compared = K::bits;  // minima, maxima, complex products
};

constexpr Type kTypes[] = {
    {Number::kInt8, Class::kSigned, 1, K::u8, K::i8},
    {Number::kUint8, Class::kUnsigned, 1, K::u8, K::u8},
    {Number::kInt16, Class::kSigned, 2, K::u16, K::i16},
    {Number::kUint16, Class::kUnsigned, 2, K::u16, K::u16},
    {Number::kInt32, Class::kSigned, 4, K::u32, K::i32},
    {Number::kUint32, Class::kUnsigned, 4, K::u32, K::u32},
    {Number::kInt64, Class::kSigned, 8, K::u64, K::i64},
    {Number::kUint64, Class::kUnsigned, 8, K::u64, K::u64},
    {Number::kInt128, Class::kSigned, 16, K::u128, K::i128},
    {Number::kHalf, Class::kFloat, 2, K::f16, K::f16},
    {Number::kBfloat16, Class::kFloat, 2, K::bf16, K::bf16},
    {Number::kFloat, Class::kFloat, 4, K::f32, K::f32},
    {Number::kDouble, Class::kFloat, 8, K::f64, K::f64},
    {Number::kComplexHalf, Class::kComplex, 4, K::f16, K::c16},
    {Number::kComplexFloat, Class::kComplex, 8, K::f32, K::c32},
    {Number::kComplexDouble, Class::kComplex, 16, K::f64, K::c64},
    {Number::kBool, Class::kLogical, 1, K::u8, K::u8},
    {Number::kLogical8, Class::kLogical, 1, K::u8, K::u8},
    {Number::kLogical16, Class::kLogical, 2, K::u16, K::u16},
    {Number::kLogical32, Class::kLogical, 4, K::u32, K::u32},
    {Number::kLogical64, Class::kLogical, 8, K::u64, K::u64},
    {Number::kLogical128, Class::kLogical, 16, K::u128, K::u128},
    {Number::kByte, Class::kBits, 1, K::bits, K::bits},
    {Number::kFloatInt, Class::kPair, 8, K::f32_i32, K::f32_i32},
    {Number::kDoubleInt, Class::kPair, 16, K::f64_i32, K::f64_i32},
    {Number::kLongInt, Class::kPair, 16, K::i64_i32, K::i64_i32},
    {Number::kIntInt, Class::kPair, 8, K::i32_i32, K::i32_i32},
    {Number::kShortInt, Class::kPair, 8, K::i16_i32, K::i16_i32},
    {Number::kFloatFloat, Class::kPair, 8, K::f32_f32, K::f32_f32},
    {Number::kDoubleDouble, Class::kPair, 16, K::f64_f64, K::f64_f64},
};

Type type_of(Number number) noexcept {
  for (const Type& type : kTypes)
    if (type.number == number) return type;
  return {};
}

}  // namespace

std::optional<MultimemReduction> plan_multimem(ReduceKernel kernel, Reduction operation) noexcept {
#define TERN_FIND(suffix, type, name, ...)                               \
  if (kernel == ReduceKernel::suffix && operation == Reduction::k##name) \
    return MultimemReduction::suffix##_##name;
  TERN_MULTIMEM_REDUCTIONS(TERN_FIND)
#undef TERN_FIND
  return std::nullopt;
}

bool is_exact(MultimemReduction reduction) noexcept {
  switch (reduction) {
    case MultimemReduction::f16_Sum:
    case MultimemReduction::f16_Min:
    case MultimemReduction::f16_Max:
    case MultimemReduction::bf16_Sum:
    case MultimemReduction::bf16_Min:
    case MultimemReduction::bf16_Max:
    case MultimemReduction::f32_Sum:
    case MultimemReduction::f64_Sum:
      return false;
    default:
      return true;
  }
}

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
