// SPDX-License-Identifier: Apache-2.0
// A collective in its caller's words, and the comparison of these words among ranks.
// Why: MPI moves most collectives as bytes; different types, operations or roots give wrong numbers
// and no error. TERN_CHECK=collective or TORCH_DISTRIBUTED_DEBUG=DETAIL, on any rank, makes all
// ranks compare each collective before its data moves. Cost: with the comparison, an allgather of
// 64 bytes for each collective.
#ifndef TORCH_TERN_DESCRIPTION_HPP
#define TORCH_TERN_DESCRIPTION_HPP

#include <ATen/ATen.h>

#include <cstdint>
#include <string>
#include <torch/csrc/distributed/c10d/Types.hpp>
#include <vector>

namespace torch_tern {

struct Description {
  static constexpr std::int64_t kAny = -1;  // ranks may differ

  char call[40] = {};  // none: nothing is known
  std::int64_t elements = kAny;
  std::int32_t tensors = 1, type = -1;  // a c10::ScalarType
  std::int32_t op = -1, root = -1;      // a c10d::ReduceOp::RedOpType; a rank of the group

  Description() = default;
  explicit Description(const char* words);
  // The number of elements must be equal on all ranks.
  Description(const char* words, const std::vector<at::Tensor>& of);
  Description(const char* words, const at::Tensor& of);
  Description by(const c10d::ReduceOp& reduce_op) const;
  Description from(std::int64_t rank) const;
  Description of_any_size() const;

  bool operator==(const Description& other) const = default;
  // "allreduce of 10 Float by SUM".
  std::string words() const;
};

// Whether this rank asks for the comparison. At the world's beginning the ranks agree: a single
// request is enough.
bool wants_comparison();
void set_comparison(bool is_on);
bool compares_calls();

}  // namespace torch_tern

#endif
