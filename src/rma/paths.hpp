// SPDX-License-Identifier: Apache-2.0
// Paths without messages, complete on return. Threads: any.
#pragma once

#include "rma/boxes.hpp"
#include "rma/path.hpp"
#include "rma/targets.hpp"

namespace tern::rma {

class MappedPath : public Path {
 public:
  explicit MappedPath(Targets& targets) noexcept
      : Path(targets.process().window_operations.mapped), targets_(targets) {}
  int put(const core::Data& origin, const TargetData& to, const Reached& reached,
          OpRequest* request) override;
  int get(const core::Data& origin, const TargetData& from, const Reached& reached,
          OpRequest* request) override;
  int accumulate(const core::Data* origin, const core::Data* result, const TargetData& at,
                 const Reached& reached, const Element& element, OpRequest* request) override;
  int compare_and_swap(const void* origin, const void* compare, void* result, const TargetData& at,
                       const Reached& reached) override;

 protected:
  Targets& targets_;
};

class DevicePath final : public MappedPath {
 public:
  using MappedPath::MappedPath;
  int accumulate(const core::Data* origin, const core::Data* result, const TargetData& at,
                 const Reached& reached, const Element& element, OpRequest* request) override;
  int compare_and_swap(const void* origin, const void* compare, void* result, const TargetData& at,
                       const Reached& reached) override;
};

/// Reaches another process on this host by its box, otherwise by the kernel.
class CopiedPath final : public Path {
 public:
  explicit CopiedPath(Targets& targets)
      : Path(targets.process().window_operations.copied), targets_(targets), boxes_(targets) {}
  int put(const core::Data& origin, const TargetData& to, const Reached& reached,
          OpRequest* request) override;
  int get(const core::Data& origin, const TargetData& from, const Reached& reached,
          OpRequest* request) override;
  int accumulate(const core::Data* origin, const core::Data* result, const TargetData& at,
                 const Reached& reached, const Element& element, OpRequest* request) override;
  int compare_and_swap(const void* origin, const void* compare, void* result, const TargetData& at,
                       const Reached& reached) override;

 private:
  [[nodiscard]] int judge(int target, int code) noexcept;

  Targets& targets_;
  Boxes boxes_;
};

}  // namespace tern::rma
