// SPDX-License-Identifier: Apache-2.0
// Names missing in older versions of PyTorch. Inside c10d, name lookup prefers PyTorch's names, so
// no version checks are needed.
#ifndef TORCH_TERN_OLDER_HPP
#define TORCH_TERN_OLDER_HPP

#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Work.hpp>

enum class ErrorType { SUCCESS, TIMEOUT, COMM_ERROR, REMOTE_ERROR };
enum class WorkResult { UNKNOWN, SUCCESS, TIMEOUT, COMM_ERROR };

namespace c10d::for_torch_tern {
using Error = ErrorType;
using Result = WorkResult;
}  // namespace c10d::for_torch_tern

namespace torch_tern {
using c10d::for_torch_tern::Error;
using c10d::for_torch_tern::Result;
}  // namespace torch_tern

#endif
