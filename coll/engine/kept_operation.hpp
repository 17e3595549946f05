// SPDX-License-Identifier: Apache-2.0
// KeptOperation: an operation with references to types and copies of arrays, since callers may free
// both before a nonblocking call ends.
#pragma once

#include <vector>

#include "coll/engine/operation.hpp"

namespace tern::coll {

void make_adjacent(const std::vector<MPI_Count>& counts, std::vector<MPI_Aint>& displs);

class KeptOperation {
 public:
  void keep(const Operation& operation, int32_t input_blocks, int32_t output_blocks) {
    operation_ = operation;
    input_type_ = core::Ref<core::Datatype>(operation.input.type);
    output_type_ = core::Ref<core::Datatype>(operation.output.type);
    op_ = core::Ref<core::Op>(operation.op);
    input_.take(operation_.input, input_blocks);
    output_.take(operation_.output, output_blocks);
  }
  void release() noexcept {
    input_type_ = {};
    output_type_ = {};
    input_.held.clear();
    output_.held.clear();
    op_ = {};
  }
  [[nodiscard]] const Operation& operation() const noexcept { return operation_; }

 private:
  struct Arrays {
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> displs;
    std::vector<core::Datatype*> types;
    std::vector<core::Ref<core::Datatype>> held;
    void take(Side& side, int32_t blocks) {
      held.clear();
      if (TERN_UNLIKELY(side.counts != nullptr)) copy(side, blocks);
    }
    void copy(Side& side, int32_t blocks);
  };

  Operation operation_{};
  core::Ref<core::Datatype> input_type_, output_type_;
  core::Ref<core::Op> op_;
  Arrays input_, output_;
};

}  // namespace tern::coll
