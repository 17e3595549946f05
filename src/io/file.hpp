// SPDX-License-Identifier: Apache-2.0
// File: a file opened by the ranks of a communicator (MPI-5.0 chapter 14).
// Life cycle: open() makes a file, close() ends it, on all ranks together. Requests hold a
// reference. Threads: independent transfers of several threads run at once; collective calls of a
// file are serial, as MPI demands.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/error_handler.hpp"
#include "core/info.hpp"
#include "io/access.hpp"
#include "io/collectives.hpp"
#include "io/file_window.hpp"
#include "io/hints.hpp"
#include "io/meeting.hpp"
#include "io/pointers.hpp"
#include "io/range_lock.hpp"
#include "io/raw_file.hpp"
#include "io/requests.hpp"
#include "io/view.hpp"

namespace tern::io {

class File final : public core::Object, Service::Owner {
 public:
  static constexpr core::Kind kKind = core::Kind::kFile;
  /// `own` is the file's private communicator. Throws Error, std::bad_alloc.
  File(core::Communicator& own, int amode, std::unique_ptr<Meeting> meeting, RawFile raw,
       const Hints& hints);
  ~File() override;

  [[nodiscard]] core::Process& process() const noexcept { return own_.process(); }
  [[nodiscard]] core::Communicator& communicator() const noexcept { return own_; }
  [[nodiscard]] const RawFile& raw() const noexcept { return raw_; }
  [[nodiscard]] int amode() const noexcept { return amode_; }
  [[nodiscard]] bool has(int mode) const noexcept { return (amode_ & mode) != 0; }
  [[nodiscard]] const std::shared_ptr<const View>& view() const noexcept { return view_; }

  // These functions return an error class with fail() text.
  /// Hints of MPI_File_set_info and the like.
  void take_hints(const core::Info& info);
  [[nodiscard]] int set_view(int64_t disp, core::Datatype& etype, core::Datatype& filetype,
                             const char* representation) noexcept;
  [[nodiscard]] int transfer(const Access& access, MPI_Status* status) noexcept;
  /// The caller owns a reference to *request, which has a handle.
  [[nodiscard]] int start(const Access& access, core::Request** request) noexcept;
  /// The first and the second half of a split collective call, named `name` without the ending.
  [[nodiscard]] int begin(const Access& access, const char* name) noexcept;
  [[nodiscard]] int end(const void* buffer, const char* name, MPI_Status* status) noexcept;
  [[nodiscard]] int seek(int64_t offset, int whence, bool shared) noexcept;
  [[nodiscard]] int byte_offset(int64_t offset, int64_t* disp) const noexcept;
  [[nodiscard]] int sync() noexcept;
  /// kAtLeast never shortens the file, and allocates disk space.
  enum class Size : uint8_t { kExactly, kAtLeast };
  [[nodiscard]] int set_size(int64_t bytes, Size how) noexcept;
  [[nodiscard]] int set_atomicity(bool on) noexcept;
  /// Moves both pointers to the end of the file (MPI_MODE_APPEND). Collective.
  [[nodiscard]] int append() noexcept;
  [[nodiscard]] int close() noexcept;
  /// MPI ends with the file open: ends the transfers of this rank, and meets no other rank.
  void abandon() noexcept;
  /// A collective call with refused arguments: all ranks get the error.
  TERN_COLD void refuse(const Failure& why) noexcept;

  [[nodiscard]] bool atomic() const noexcept { return atomic_; }
  /// close() has ended the file, even with an error.
  [[nodiscard]] bool closed() const noexcept { return raw_.fd() < 0; }

  core::Ref<core::ErrorHandler> error_handler;
  Hints hints;
  Service service;
  Pointers pointers;
  Collectives collectives;
  Requests requests;

 private:
  struct SplitCall {
    const char* name = nullptr;
    const void* buffer = nullptr;
    core::Ref<FileRequest> request;
  };
  [[nodiscard]] static Failure from_rank(int rank, const Failure& failed) noexcept;
  [[nodiscard]] Failure check(const Access& access) const noexcept;
  /// The arguments of a data access, checked and converted to the form of the file.
  struct Prepared {
    Failure failed;
    Span span;
    size_t bytes;
    Memory memory;
    std::shared_ptr<Conversion> conversion;  // null: native
  };
  [[nodiscard]] Prepared prepare(const Access& access);
  [[nodiscard]] Failure place(const Access& access, size_t bytes, Span* span) noexcept;
  [[nodiscard]] Failure move(const Access& access, const Memory& memory, const Span& span,
                             size_t* done) noexcept;
  /// Inside the file, a mapping also serves larger blocks.
  [[nodiscard]] Ways ways_of(const Span& span, bool writes) const noexcept;
  [[nodiscard]] Failure move_part(const Part& part, bool writes, const Memory& memory, size_t bytes,
                                  size_t* done) noexcept;
  [[nodiscard]] Collectives::Call call_of(const Access& access, const Span& span,
                                          const Memory& memory, Failure failed) noexcept;
  [[nodiscard]] core::Ref<FileRequest> start_checked(const Access& access);
  /// All ranks return the first error.
  [[nodiscard]] int agree(const Failure& mine) noexcept;
  /// The same, and an error if the values differ.
  [[nodiscard]] int agree_on(const char* name, int64_t value, const Failure& mine) noexcept;
  [[nodiscard]] Failure end_of_view(int64_t* etypes) const noexcept;

  [[nodiscard]] bool answer(int rank, const Question& question, Answer* answer) noexcept override;
  void forget(int rank) noexcept override { ranges_.release_all(rank); }
  [[nodiscard]] bool orders_hosts(const Access& access) const noexcept {
    return access.collective && access.where == Access::Where::kShared && !meeting_->on_one_host();
  }
  /// On several hosts: the position behind the ranks before, at the shared pointer. After an error,
  /// equal on all ranks, no transfer follows.
  [[nodiscard]] Failure order_hosts(size_t bytes, const Failure& mine, Span* span) noexcept;

  core::Communicator& own_;
  const int amode_;
  std::unique_ptr<Meeting> meeting_;
  RawFile raw_;
  FileWindow window_;
  std::shared_ptr<const View> view_;
  bool atomic_ = false;
  Ranges ranges_;
  std::atomic<bool> has_written_{false};
  SplitCall split_;
};

}  // namespace tern::io
