// SPDX-License-Identifier: Apache-2.0
// A description of a collective call, and its comparison across ranks.
// Why: MPI moves most collectives as bytes, so mismatched types, operations or roots corrupt data
// silently. TERN_CHECK=collective or TORCH_DISTRIBUTED_DEBUG=DETAIL, on any rank, makes all ranks
// compare each collective before its data moves. Cost: an allgather of 64 bytes for each compared
// collective.
#ifndef TORCH_TERN_DESCRIPTION_HPP
#define TORCH_TERN_DESCRIPTION_HPP

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

namespace torch_tern {

struct Description {
  static constexpr std::int64_t kAny = -1;  // sizes may differ across ranks

  char call[40] = {};  // empty: no description
  std::int64_t elements = kAny;
  std::int32_t tensors = 1, type = -1;  // a c10::ScalarType
  std::int32_t op = -1, root = -1;      // a c10d::ReduceOp::RedOpType; a rank of the group

  Description() = default;
  explicit Description(const char* words);
  // For collectives with equal element counts on all ranks.
  Description(const char* words, const std::vector<at::Tensor>& of);
  Description(const char* words, const at::Tensor& of);
  Description by(const c10d::ReduceOp& reduce_op) const;
  Description from(std::int64_t rank) const;
  Description of_any_size() const;

  bool operator==(const Description& other) const = default;
  // Returns for example "allreduce of 10 Float by SUM".
  std::string words() const;
};

// Returns true if this rank requests the comparison. The ranks agree when the world begins, and one
// request is enough.
bool wants_comparison();
void set_comparison(bool is_on);
bool compares_calls();

}  // namespace torch_tern

#endif
