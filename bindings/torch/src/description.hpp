// SPDX-License-Identifier: Apache-2.0
// Describes a collective, and compares descriptions across ranks.
// Why: MPI moves most collectives as bytes, so mismatched types, operations or roots corrupt data
// silently. TERN_CHECK=collective or TORCH_DISTRIBUTED_DEBUG=DETAIL on any rank enables the
// comparison on all ranks. Cost: an allgather of 64 bytes before each collective.
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

  char call[40] = {};
  std::int64_t elements = kAny;
  std::int32_t tensors = 1, type = -1;
  std::int32_t op = -1, root = -1;  // a c10d::ReduceOp::RedOpType; a rank of the group

  Description() = default;
  explicit Description(const char* words);
  Description(const char* words, const std::vector<at::Tensor>& of);
  Description(const char* words, const at::Tensor& of);
  Description by(const c10d::ReduceOp& reduce_op) const;
  Description from(std::int64_t rank) const;
  Description of_any_size() const;

  bool operator==(const Description& other) const = default;
  std::string words() const;
};

// Returns this rank's request. All ranks compare if any rank requests the comparison.
bool wants_comparison();
void set_comparison(bool is_on);
bool compares_calls();

}  // namespace torch_tern

#endif
