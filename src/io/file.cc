// SPDX-License-Identifier: Apache-2.0
#include "io/file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/attempt.hpp"
#include "coll/coll.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

int no_memory() noexcept { return fail(MPI_ERR_NO_MEM, "no memory for a transfer of a file"); }

}  // namespace

/// For other ranks, whose arguments are right.
Failure File::from_rank(int rank, const Failure& failed) noexcept {
  return failed ? failure(failed.code, "rank %d: %s", rank, failed.text.c_str()) : Failure{};
}

File::File(core::Communicator& own, int amode, std::unique_ptr<Meeting> meeting, RawFile raw,
           const Hints& given)
    : Object(kKind),
      hints(given),
      service(*meeting),
      pointers(*meeting, service),
      collectives(*this, *meeting, raw_, window_, hints, pointers, service),
      requests(own.channel().progress),
      own_(own),
      amode_(amode),
      meeting_(std::move(meeting)),
      raw_(std::move(raw)) {
  core::Datatype& byte = core::predefined_type(process(), MPI_BYTE);
  view_ = std::make_shared<const View>(0, byte, byte, find_representation("native"), false);
  if (!meeting_->on_one_host() && own_.rank() == 0) service.start(*this);
}

void take_hints(File& file, const core::Info& info) {
  const int before = file.hints.advice();
  file.hints.set(info);
  if (file.hints.advice() != before) file.raw().advise(file.hints.advice());
}

File::~File() {
  own_.channel().coll->refusals().freeing(own_);
  const core::ChannelLock lock(own_.channel().progress);
  collectives.drop_messages();
  meeting_.reset();
  own_.free();
}

int File::set_view(int64_t disp, core::Datatype& etype, core::Datatype& filetype,
                   const char* representation) noexcept {
  return tern::attempt(
      [&] {
        const bool sequential = has(MPI_MODE_SEQUENTIAL);
        if ((disp == MPI_DISPLACEMENT_CURRENT) != sequential)
          return sequential
                     ? fail(MPI_ERR_ARG,
                            "disp is %lld, but must be MPI_DISPLACEMENT_CURRENT, because the file "
                            "is open with MPI_MODE_SEQUENTIAL",
                            static_cast<long long>(disp))
                     : fail(MPI_ERR_ARG,
                            "disp is MPI_DISPLACEMENT_CURRENT, but the file is not open with "
                            "MPI_MODE_SEQUENTIAL");
        if (sequential) {
          int64_t etypes = 0;
          if (Failure failed = pointers.shared(&etypes)) return fail(failed);
          disp = view_->at(etypes * view_->etype_bytes());
        }
        if (disp < 0)
          return fail(MPI_ERR_ARG, "disp is %lld, but must not be negative",
                      static_cast<long long>(disp));
        auto found = find_representation(representation);
        if (found == nullptr)
          return fail(MPI_ERR_UNSUPPORTED_DATAREP,
                      "datarep is \"%.128s\", which is neither native, internal, external32 nor "
                      "registered",
                      representation);
        const bool writes = !has(MPI_MODE_RDONLY);
        view_ = std::make_shared<const View>(disp, etype, filetype, std::move(found), writes);
        pointers.restart();
        return static_cast<int>(MPI_SUCCESS);
      },
      no_memory);
}

bool File::answer(int rank, const Question& question, Answer* answer) noexcept {
  Failure failed;
  switch (question.what) {
    case Question::Asks::kAdd:
    case Question::Asks::kSet:
      failed = pointers.change(question.view, question.what == Question::Asks::kSet, question.from,
                               &answer->value);
      answer->code = failed.code;
      return true;
    case Question::Asks::kTake:
      try {
        return ranges_.take(rank, {question.from, question.to, question.writes != 0});
      } catch (const std::bad_alloc&) {
        answer->code = MPI_ERR_NO_MEM;
        return true;
      }
    case Question::Asks::kRelease:
      ranges_.release(rank, {question.from, question.to, question.writes != 0});
      return true;
    case Question::Asks::kStop:
      break;
  }
  return true;
}

void File::refuse(const Failure& why) noexcept {
  (void)tern::attempt(
      [&] {
        // The other ranks get the error in their first meeting; this rank need not wait.
        Collectives::Call call{false, view_, {},      Memory(process(), nullptr), why,
                               false, false, nullptr, {core::current_call}};
        (void)collectives.start(call);
        return static_cast<int>(MPI_SUCCESS);
      },
      no_memory);
}

int File::agree(const Failure& mine) noexcept {
  Card card;
  card.set_error(mine);
  return fail(collectives.agree(&card));
}

int File::agree_on(const char* name, int64_t value, const Failure& mine) noexcept {
  Card card;
  card.set_error(from_rank(own_.rank(), mine));
  card.first = card.last = value;
  if (Failure failed = collectives.agree(&card)) return fail(failed);
  if (card.first == card.last) return MPI_SUCCESS;
  return fail(MPI_ERR_NOT_SAME, "%s is %lld to %lld on the ranks of %s, but must be equal", name,
              static_cast<long long>(card.first), static_cast<long long>(card.last),
              raw_.name().c_str());
}

Failure File::end_of_view(int64_t* etypes) const noexcept {
  int64_t bytes = 0;
  if (Failure failed = raw_.size(&bytes)) return failed;
  const int64_t etype = std::max<int64_t>(1, view_->etype_bytes());
  *etypes = (view_->packed_before(bytes, 0) + etype - 1) / etype;
  return {};
}

int File::seek(int64_t offset, int whence, bool shared) noexcept {
  Failure failed;
  int64_t base = 0;
  if (has(MPI_MODE_SEQUENTIAL))
    failed =
        failure(MPI_ERR_UNSUPPORTED_OPERATION,
                "%s is open with MPI_MODE_SEQUENTIAL, which permits no seek", raw_.name().c_str());
  else if (whence == MPI_SEEK_END)
    failed = end_of_view(&base);
  else if (whence == MPI_SEEK_CUR && shared)
    failed = pointers.shared(&base);
  else if (whence == MPI_SEEK_CUR)
    base = pointers.individual();
  else if (whence != MPI_SEEK_SET)
    failed =
        failure(MPI_ERR_ARG, "whence is %d, but must be MPI_SEEK_SET, MPI_SEEK_CUR or MPI_SEEK_END",
                whence);
  int64_t position = 0;
  if (!failed && (__builtin_add_overflow(base, offset, &position) || position < 0))
    failed = failure(MPI_ERR_ARG, "offset is %lld, but the position %lld + %lld would be negative",
                     static_cast<long long>(offset), static_cast<long long>(base),
                     static_cast<long long>(offset));
  if (!shared) {
    if (!failed) pointers.set(position);
    return fail(failed);
  }
  if (const int code = agree_on("offset", offset, failed); code != MPI_SUCCESS) return code;
  if (const int code = agree_on("whence", whence, {}); code != MPI_SUCCESS) return code;
  if (own_.rank() == 0) failed = pointers.set_shared(position);
  return agree(failed);
}

int File::append() noexcept {
  int64_t end = 0;
  Failure failed = end_of_view(&end);
  pointers.set(end);
  if (own_.rank() == 0 && !failed) failed = pointers.set_shared(end);
  return agree(failed);
}

int File::byte_offset(int64_t offset, int64_t* disp) const noexcept {
  int64_t first = 0;
  if (offset < 0)
    return fail(MPI_ERR_ARG, "offset is %lld, but must not be negative",
                static_cast<long long>(offset));
  if (has(MPI_MODE_SEQUENTIAL))
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                "%s is open with MPI_MODE_SEQUENTIAL, which permits no offsets",
                raw_.name().c_str());
  if (view_->empty()) {
    *disp = view_->disp();
    return MPI_SUCCESS;
  }
  if (__builtin_mul_overflow(offset, view_->etype_bytes(), &first))
    return fail(MPI_ERR_ARG, "offset is %lld etypes, which exceeds 64 bits",
                static_cast<long long>(offset));
  if (Failure failed = view_->check(first, 1)) return fail(failed);
  *disp = view_->at(first);
  return MPI_SUCCESS;
}

int File::sync() noexcept {
  collectives.finish();
  (void)requests.finish();
  Failure failed;
  bool flushes = has_written_.exchange(false);
  if (hints.flushes_by_one()) {
    Card written;
    written.bytes = flushes ? 1 : 0;
    if (Failure ended = collectives.agree(&written)) return fail(ended);
    flushes = written.bytes > 0 && meeting_->is_leader();
  }
  if (flushes) failed = raw_.sync();
  window_.forget_size();
  if (const int code = agree(failed); code != MPI_SUCCESS || !raw_.system().caches) return code;
  return agree(raw_.refresh());
}

int File::set_size(int64_t bytes, Size how) noexcept {
  Failure failed;
  if (bytes < 0)
    failed = failure(MPI_ERR_ARG, "size is %lld, but must not be negative",
                     static_cast<long long>(bytes));
  else if (has(MPI_MODE_SEQUENTIAL))
    failed = failure(MPI_ERR_UNSUPPORTED_OPERATION,
                     "%s is open with MPI_MODE_SEQUENTIAL, which permits no change of the size",
                     raw_.name().c_str());
  else if (has(MPI_MODE_RDONLY))
    failed = failure(MPI_ERR_READ_ONLY,
                     "%s is open with MPI_MODE_RDONLY, which permits no change of the size",
                     raw_.name().c_str());
  if (const int code = agree_on("size", bytes, failed); code != MPI_SUCCESS) return code;
  if (own_.rank() == 0) failed = how == Size::kExactly ? raw_.set_size(bytes) : raw_.extend(bytes);
  window_.forget_size();
  return agree(failed);
}

int File::set_atomicity(bool on) noexcept {
  if (const int code = agree_on("flag", on ? 1 : 0, {}); code != MPI_SUCCESS) return code;
  atomic_ = on;
  return MPI_SUCCESS;
}

void File::abandon() noexcept { (void)requests.finish(); }

int File::close() noexcept {
  if (split_.name != nullptr)
    return fail(MPI_ERR_OTHER, "%s_end must precede MPI_File_close of %s", split_.name,
                raw_.name().c_str());
  collectives.finish();
  (void)requests.finish();
  Failure failed;
  if (has_written_ && (hints.syncs_at_close() || raw_.system().caches)) failed = raw_.sync();
  const std::string name = raw_.name();
  if (Failure closed = raw_.close(); closed && !failed) failed = std::move(closed);
  int code = agree(failed);
  service.stop();
  if (has(MPI_MODE_DELETE_ON_CLOSE)) {
    Failure unlinked;
    if (own_.rank() == 0 && ::unlink(name.c_str()) != 0) unlinked = raw_.failed("delete", errno);
    if (const int deleted = agree(unlinked); code == MPI_SUCCESS) code = deleted;
  }
  if (collectives.dead()) return code;
  // Afterwards no rank reads this rank's board.
  coll::Operation barrier{};
  barrier.communicator = &own_;
  if (const int met = own_.channel().coll->run(barrier); code == MPI_SUCCESS) code = met;
  return code;
}

}  // namespace tern::io
