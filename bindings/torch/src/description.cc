// SPDX-License-Identifier: Apache-2.0
#include "description.hpp"

#include <torch/csrc/distributed/c10d/debug.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "types.hpp"

namespace torch_tern {

namespace {

std::atomic<bool> is_comparing{false};

}  // namespace

Description::Description(const char* words) { std::strncpy(call, words, sizeof call - 1); }

Description::Description(const char* words, const std::vector<at::Tensor>& of)
    : Description(words) {
  elements = 0;
  tensors = static_cast<std::int32_t>(of.size());
  for (const at::Tensor& tensor : of) {
    elements += tensor.numel();
    type = static_cast<std::int32_t>(of.front().scalar_type());
  }
}

Description::Description(const char* words, const at::Tensor& of) : Description(words) {
  elements = of.numel();
  type = static_cast<std::int32_t>(of.scalar_type());
}

Description Description::by(const c10d::ReduceOp& reduce_op) const {
  Description with = *this;
  with.op = static_cast<std::int32_t>(static_cast<c10d::ReduceOp::RedOpType>(reduce_op));
  return with;
}

Description Description::from(std::int64_t rank) const {
  Description with = *this;
  with.root = static_cast<std::int32_t>(rank);
  return with;
}

Description Description::of_any_size() const {
  Description with = *this;
  with.elements = kAny;
  return with;
}

std::string Description::words() const {
  std::ostringstream text;
  text << call;
  if (type >= 0) {
    text << " of ";
    if (elements != kAny) {
      text << elements << ' ';
    }
    text << c10::toString(static_cast<c10::ScalarType>(type));
  }
  if (tensors != 1) {
    text << " in " << tensors << " tensors";
  }
  if (op >= 0) {
    text << " by " << name_of(static_cast<c10d::ReduceOp::RedOpType>(op));
  }
  if (root >= 0) {
    text << " with root " << root;
  }
  return text.str();
}

bool wants_comparison() {
  if (c10d::debug_level() == c10d::DebugLevel::Detail) {
    return true;
  }
  const char* const value = std::getenv("TERN_CHECK");
  std::istringstream words(value ? value : "");
  for (std::string word; std::getline(words, word, ',');) {
    if (word == "collective" || word == "all") {
      return true;
    }
  }
  return false;
}

void set_comparison(bool is_on) { is_comparing = is_on; }
bool compares_calls() { return is_comparing.load(std::memory_order_relaxed); }

}  // namespace torch_tern
