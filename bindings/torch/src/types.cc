// SPDX-License-Identifier: Apache-2.0
// PyTorch's element types and reductions as MPI types and operations.
#include "types.hpp"

#include <mpix.h>

#include <bit>

#include <ATen/ATen.h>

namespace torch_tern {

using c10::ScalarType;
using c10d::ReduceOp;

const char* name_of(ReduceOp::RedOpType op) {
  switch (op) {
    case ReduceOp::SUM:
      return "SUM";
    case ReduceOp::AVG:
      return "AVG";
    case ReduceOp::PRODUCT:
      return "PRODUCT";
    case ReduceOp::MIN:
      return "MIN";
    case ReduceOp::MAX:
      return "MAX";
    case ReduceOp::BAND:
      return "BAND";
    case ReduceOp::BOR:
      return "BOR";
    case ReduceOp::BXOR:
      return "BXOR";
    case ReduceOp::PREMUL_SUM:
      return "PREMUL_SUM";
    default:
      return "an unknown operation";
  }
}

namespace {

[[noreturn]] void refuse(ScalarType type, ReduceOp::RedOpType op, const char* why) {
  TORCH_CHECK_VALUE(false, "tern: no ", name_of(op), " of ", c10::toString(type), ": ", why);
}

MPI_Datatype element_of(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return MPI_UINT8_T;
    case ScalarType::Char:
      return MPI_INT8_T;
    case ScalarType::Short:
      return MPI_INT16_T;
    case ScalarType::Int:
      return MPI_INT32_T;
    case ScalarType::Long:
      return MPI_INT64_T;
    case ScalarType::UInt16:
      return MPI_UINT16_T;
    case ScalarType::UInt32:
      return MPI_UINT32_T;
    case ScalarType::UInt64:
      return MPI_UINT64_T;
    case ScalarType::Half:
      return MPIX_C_FLOAT16;
    case ScalarType::BFloat16:
      return MPIX_BFLOAT16;
    case ScalarType::Float:
      return MPI_FLOAT;
    case ScalarType::Double:
      return MPI_DOUBLE;
    case ScalarType::ComplexFloat:
      return MPI_C_FLOAT_COMPLEX;
    case ScalarType::ComplexDouble:
      return MPI_C_DOUBLE_COMPLEX;
    default:
      return MPI_DATATYPE_NULL;
  }
}

MPI_Op operation_of(ReduceOp::RedOpType op) {
  switch (op) {
    case ReduceOp::SUM:
    case ReduceOp::AVG:
    case ReduceOp::PREMUL_SUM:
      return MPI_SUM;
    case ReduceOp::PRODUCT:
      return MPI_PROD;
    case ReduceOp::MIN:
      return MPI_MIN;
    case ReduceOp::MAX:
      return MPI_MAX;
    case ReduceOp::BAND:
      return MPI_BAND;
    case ReduceOp::BOR:
      return MPI_BOR;
    case ReduceOp::BXOR:
      return MPI_BXOR;
    default:
      return MPI_OP_NULL;
  }
}

Reduction of_bool(ReduceOp::RedOpType op) {
  switch (op) {
    case ReduceOp::SUM:
    case ReduceOp::MAX:
    case ReduceOp::BOR:
      return {MPI_UINT8_T, MPI_BOR};
    case ReduceOp::PRODUCT:
    case ReduceOp::MIN:
    case ReduceOp::BAND:
      return {MPI_UINT8_T, MPI_BAND};
    case ReduceOp::BXOR:
      return {MPI_UINT8_T, MPI_BXOR};
    default:
      refuse(ScalarType::Bool, op, "AVG needs a floating-point type");
  }
}

Reduction of_complex(ScalarType type, ReduceOp::RedOpType op) {
  const bool is_single = type == ScalarType::ComplexFloat;
  switch (op) {
    case ReduceOp::SUM:
    case ReduceOp::AVG:
    case ReduceOp::PREMUL_SUM:
      return {is_single ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM, 2, op == ReduceOp::AVG};
    case ReduceOp::PRODUCT:
      return {element_of(type), MPI_PROD};
    default:
      refuse(type, op, "complex numbers have neither order nor bits");
  }
}

}  // namespace

Reduction reduction_of(ScalarType type, const ReduceOp& reduce_op) {
  const ReduceOp::RedOpType op = reduce_op;
  if (type == ScalarType::Bool) {
    return of_bool(op);
  }
  if (element_of(type) == MPI_DATATYPE_NULL) {
    refuse(type, op, "elements of this type can be moved, not reduced");
  }
  if (c10::isComplexType(type)) {
    return of_complex(type, op);
  }
  const bool is_float = c10::isFloatingType(type);
  if (is_float && (op == ReduceOp::BAND || op == ReduceOp::BOR || op == ReduceOp::BXOR)) {
    refuse(type, op, "bitwise operations need an integer type");
  }
  if (!is_float && op == ReduceOp::AVG) {
    refuse(type, op, "AVG needs a floating-point type");
  }
  return {element_of(type), operation_of(op), 1, op == ReduceOp::AVG};
}

Divisors divisors_of(ScalarType type, const Reduction& how, int ranks) {
  if (!how.average) {
    return {};
  }
  if (type != ScalarType::Half && type != ScalarType::BFloat16) {
    return {1, static_cast<double>(ranks)};
  }
  const double first = std::bit_ceil(static_cast<unsigned>(ranks));
  return {first, ranks / first};
}

at::Tensor premultiplied(const at::Tensor& tensor, const ReduceOp& op, int ranks) {
  if (op == ReduceOp::AVG) {
    const ScalarType type = tensor.scalar_type();
    const double first = divisors_of(type, reduction_of(type, op), ranks).first;
    return first == 1 ? tensor : tensor.detach().div(first).contiguous();
  }
  if (op != ReduceOp::PREMUL_SUM) {
    return tensor;
  }
  const auto* factor = dynamic_cast<const c10d::NCCLPreMulSumSupplement*>(op.supplement_.get());
  TORCH_CHECK_VALUE(
      factor, "tern: PREMUL_SUM has no factor; torch.distributed._make_nccl_premul_sum makes it");
  const at::Tensor product = factor->tensor_factor.defined()
                                 ? tensor.mul(factor->tensor_factor.to(tensor.device()))
                                 : tensor.mul(factor->double_factor);
  return product.to(tensor.scalar_type()).contiguous();
}

}  // namespace torch_tern
