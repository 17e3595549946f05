// SPDX-License-Identifier: Apache-2.0
// Window: memory exposed by the ranks of a communicator.
// Life cycle: create() makes a window, leave() ends it, on all ranks together. Mapped and `copied`
// operations complete on return. Threads: synchronisation takes the channel's lock; operations on
// shared memory take none. See: MPI-5.0 chapter 12.
#pragma once

#include <memory>

#include "base/fd.hpp"
#include "core/attribute.hpp"
#include "core/communicator.hpp"
#include "core/info.hpp"
#include "mpi.h"
#include "rma/epoch.hpp"
#include "rma/locks.hpp"
#include "rma/open_accesses.hpp"
#include "rma/paths.hpp"
#include "rma/posts.hpp"
#include "rma/regions.hpp"
#include "rma/targets.hpp"

namespace tern::rma {

class Window final : public core::Object {
 public:
  static constexpr core::Kind kKind = core::Kind::kWindow;
  Window(core::Process& process, core::Communicator& communicator, int flavor);
  ~Window() override;

  // Operations, fence(), the flushes, sync() and leave() return an error class with fail() text.
  // The caller owns a non-null request. Buffers may lie in any memory.
  [[nodiscard]] int put(const core::Data& origin, const TargetData& to,
                        OpRequest* request) noexcept;
  [[nodiscard]] int get(const core::Data& origin, const TargetData& from,
                        OpRequest* request) noexcept;
  [[nodiscard]] int accumulate(const core::Data& origin, const TargetData& to, const core::Op& op,
                               OpRequest* request) noexcept;
  /// MPI_NO_OP ignores `origin`.
  [[nodiscard]] int get_accumulate(const core::Data& origin, const core::Data& result,
                                   const TargetData& at, const core::Op& op,
                                   OpRequest* request) noexcept;
  [[nodiscard]] int fetch_and_op(const void* origin, void* result, const TargetData& at,
                                 const core::Op& op) noexcept;
  [[nodiscard]] int compare_and_swap(const void* origin, const void* compare, void* result,
                                     const TargetData& at) noexcept;

  [[nodiscard]] int fence(int assertion) noexcept;
  [[nodiscard]] int flush(int target, bool local) noexcept;
  [[nodiscard]] int flush_all(bool local) noexcept;
  [[nodiscard]] int sync() noexcept;
  /// Collective: afterwards no rank accesses this rank's part.
  [[nodiscard]] int leave() noexcept;

  struct WindowPart {
    int64_t size = 0, unit = 0;
    void* address = nullptr;
  };
  [[nodiscard]] int shared_query(int rank, WindowPart* part) noexcept;

  core::Ref<core::ErrorHandler> error_handler;
  core::Attributes attributes;
  core::Ref<core::Info> info;
  // Users get the addresses of these predefined attributes.
  void* base = nullptr;
  MPI_Aint bytes = 0;
  int disp_unit = 1, model = MPI_WIN_UNIFIED, flavor_value;

  Targets targets;
  Epoch epoch;
  OpenAccesses accesses;
  Regions regions;
  Locks locks;
  Posts posts;

 private:
  friend class Creation;
  [[nodiscard]] int barrier() noexcept;
  [[nodiscard]] int flush_late(int target, bool local) noexcept;

  Mapping map_;
  bool contiguous_ = false;
  MappedPath mapped_;
  std::unique_ptr<DevicePath> device_;
  std::unique_ptr<CopiedPath> copied_;
};

}  // namespace tern::rma
