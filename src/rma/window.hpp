// SPDX-License-Identifier: Apache-2.0
// Window: memory that the ranks of a communicator show each other.
// Life cycle: made by create() on all ranks together, used, ended by leave() on all together.
// Parts: `targets` know where memory is, each with its path; `epoch` says which call may come;
// `locks` and `posts` begin and end epochs; `accesses` are those that are not done.
// Paths: an operation on mapped memory is a copy or a loop here; `copied` memory the kernel reads
// and writes for this rank. Both are over when the call returns; else an operation travels as a
// message (rma/path.hpp).
// Threads: synchronisation takes the lock of the window's channel; operations on shared memory take
// none. See: rma/README.md, MPI-5.0 chapter 12.
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

  // Operations. Each returns an error class with fail() text; *request, where it is not null, has a
  // handle and is the caller's. Origin and result buffers may be in any memory.
  [[nodiscard]] int put(const core::Data& origin, const Place& to, OpRequest* request) noexcept;
  [[nodiscard]] int get(const core::Data& origin, const Place& from, OpRequest* request) noexcept;
  [[nodiscard]] int accumulate(const core::Data& origin, const Place& to, const core::Op& op,
                               OpRequest* request) noexcept;
  /// With MPI_NO_OP `origin` is not looked at.
  [[nodiscard]] int get_accumulate(const core::Data& origin, const core::Data& result,
                                   const Place& at, const core::Op& op,
                                   OpRequest* request) noexcept;
  [[nodiscard]] int fetch_and_op(const void* origin, void* result, const Place& at,
                                 const core::Op& op) noexcept;
  [[nodiscard]] int compare_and_swap(const void* origin, const void* compare, void* result,
                                     const Place& at) noexcept;

  // Fences, flushes and the end; errors as above.
  [[nodiscard]] int fence(int assertion) noexcept;
  [[nodiscard]] int flush(int target, bool local) noexcept;
  [[nodiscard]] int flush_all(bool local) noexcept;
  [[nodiscard]] int sync() noexcept;
  /// Collective: waits for all ranks, after which no other rank reaches this one's part.
  [[nodiscard]] int leave() noexcept;

  /// Where a part is in the memory of this process, as MPI_Win_shared_query tells.
  struct Part {
    int64_t size = 0, unit = 0;
    void* address = nullptr;
  };
  [[nodiscard]] int shared_query(int rank, Part* part) noexcept;

  core::Ref<core::ErrorHandler> error_handler;
  core::Attributes attributes;
  core::Ref<core::Info> info;  // the hints that are set
  // Values of predefined attributes: users get their addresses.
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

  Mapping map_;              // what the ranks of this host share
  bool contiguous_ = false;  // parts of one host lie behind each other
  MappedPath mapped_;
  std::unique_ptr<DevicePath> device_;  // null: the own part is not on a device
  std::unique_ptr<CopiedPath> copied_;  // null: it serves no target
};

}  // namespace tern::rma
