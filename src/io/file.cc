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
#include "io/range_lock.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

constexpr size_t kMostAtOnce = 64 * 1024;  // nonblocking transfers up to here run in the call

int no_memory() noexcept { return fail(MPI_ERR_NO_MEM, "no memory for a transfer of a file"); }

void fill(MPI_Status* status, MPI_Count bytes) noexcept {
  core::Outcome outcome;
  outcome.bytes = bytes;
  core::fill_status(status, outcome, false);
}

}  // namespace

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

File::~File() {
  own_.channel().coll->refusals().freeing(own_);
  const core::ChannelLock lock(own_.channel().progress);
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

Failure File::check(const Access& access) const noexcept {
  if (access.writes && has(MPI_MODE_RDONLY))
    return failure(MPI_ERR_READ_ONLY, "%s is open with MPI_MODE_RDONLY, which permits no writing",
                   raw_.name().c_str());
  if (!access.writes && has(MPI_MODE_WRONLY))
    return failure(MPI_ERR_ACCESS, "%s is open with MPI_MODE_WRONLY, which permits no reading",
                   raw_.name().c_str());
  if (access.where != Access::Where::kShared && has(MPI_MODE_SEQUENTIAL))
    return failure(MPI_ERR_UNSUPPORTED_OPERATION,
                   "%s is open with MPI_MODE_SEQUENTIAL, which permits shared file pointers only",
                   raw_.name().c_str());
  if (access.where == Access::Where::kExplicit && access.offset < 0)
    return failure(MPI_ERR_ARG, "offset is %lld, but must not be negative",
                   static_cast<long long>(access.offset));
  if (access.collective && split_.name != nullptr)
    return failure(MPI_ERR_OTHER, "%s_end must precede this collective call on %s", split_.name,
                   raw_.name().c_str());
  return {};
}

Failure File::place(const Access& access, size_t bytes, Span* span) noexcept {
  const int64_t etype = view_->etype_bytes();
  if (bytes > 0 && (etype == 0 || view_->empty()))
    return failure(MPI_ERR_IO, "the view of %s has no data", raw_.name().c_str());
  if (etype > 1 && static_cast<int64_t>(bytes) % etype != 0)
    return failure(MPI_ERR_IO, "%zu bytes are not a multiple of the %lld bytes of the view's etype",
                   bytes, static_cast<long long>(etype));
  const int64_t etypes = etype == 0 ? 0 : static_cast<int64_t>(bytes) / etype;
  int64_t position = access.offset;
  if (access.where == Access::Where::kIndividual) position = pointers.add(etypes);
  if (access.where == Access::Where::kShared) {
    if (!access.collective) {
      if (Failure failed = pointers.add_shared(etypes, &position)) return failed;
    } else {
      position = 0;  // found by the transfer
    }
  }
  span->bytes = bytes;
  if (__builtin_mul_overflow(position, etype, &span->first))
    return failure(MPI_ERR_ARG, "offset is %lld etypes, which exceeds 64 bits",
                   static_cast<long long>(position));
  return view_->check(span->first, static_cast<int64_t>(bytes));
}

Failure File::order_hosts(size_t bytes, Failure mine, Span* span) noexcept {
  try {
    const int64_t etype = std::max<int64_t>(1, view_->etype_bytes());
    std::vector<int64_t> counts(static_cast<size_t>(own_.size()));
    const int64_t count = mine ? 0 : static_cast<int64_t>(bytes) / etype;
    core::Datatype& word = core::predefined_type(process(), MPI_INT64_T);
    coll::Operation gather{};
    gather.collective = coll::Collective::kAllgather;
    gather.communicator = &own_;
    gather.input = {const_cast<int64_t*>(&count), 1, &word};
    gather.output = {counts.data(), 1, &word};
    if (const int code = own_.channel().coll->run(gather); code != MPI_SUCCESS)
      return {code, take_last_error().text};
    int64_t first[2] = {0, 0}, all = 0, before = 0;
    for (int rank = 0; rank < own_.size(); ++rank) {
      if (rank == own_.rank()) before = all;
      all += counts[static_cast<size_t>(rank)];
    }
    if (own_.rank() == 0)
      if (Failure failed = pointers.add_shared(all, &first[0])) first[1] = failed.code;
    coll::Operation bcast{};
    bcast.collective = coll::Collective::kBcast;
    bcast.communicator = &own_;
    bcast.input = bcast.output = {first, 2, &word};
    if (const int code = own_.channel().coll->run(bcast); code != MPI_SUCCESS)
      return {code, take_last_error().text};
    if (mine) return mine;
    if (first[1] != 0)
      return failure(static_cast<int>(first[1]), "rank 0 cannot move the shared file pointer");
    span->first = (first[0] + before) * etype;
    return view_->check(span->first, static_cast<int64_t>(bytes));
  } catch (const std::bad_alloc&) {
    return failure(MPI_ERR_NO_MEM, "no memory for the counts of %d ranks", own_.size());
  }
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
        return ranges_.take(rank, question.from, question.to, question.writes != 0);
      } catch (const std::bad_alloc&) {
        answer->code = MPI_ERR_NO_MEM;
        return true;
      }
    case Question::Asks::kRelease:
      ranges_.release(rank);
      return true;
    case Question::Asks::kStop:
      break;
  }
  return true;
}

Failure File::move(const Access& access, const Memory& memory, const Span& span,
                   size_t* done) noexcept {
  const Part part{raw_, window_, *view_, span.first, hints.ways()};
  if (span.bytes == 0) return {};
  RangeLock lock(*meeting_, service);
  if (atomic_)
    if (Failure failed =
            lock.take(view_->at(span.first),
                      view_->end_of(span.first, static_cast<int64_t>(span.bytes)), access.writes))
      return failed;
  if (access.writes) has_written_.store(true, std::memory_order_relaxed);
  return io::move(part, memory, span.bytes, access.writes, done);
}

Collectives::Call File::call_of(const Access& access, const Span& span, const Memory& memory,
                                Failure failed) noexcept {
  if (access.writes) has_written_.store(true, std::memory_order_relaxed);
  const bool ordered = access.where == Access::Where::kShared && meeting_->on_one_host();
  return {access.writes, view_, span, memory, std::move(failed), atomic_, ordered, nullptr};
}

int File::transfer(const Access& access, MPI_Status* status) noexcept {
  return tern::attempt(
      [&] {
        Failure failed = check(access);
        Span span;
        std::unique_ptr<Conversion> conversion;
        Memory memory(process(), access.data);
        if (!failed && !view_->representation().native()) {
          conversion = std::make_unique<Conversion>(process(), access.data, view_);
          memory = conversion->memory();
          if (access.writes)
            if (const int code = conversion->to_file(); code != MPI_SUCCESS)
              failed = {code, take_last_error().text};
        }
        const size_t bytes = conversion ? conversion->bytes() : access.data.bytes();
        if (!failed) failed = place(access, bytes, &span);
        if (orders_hosts(access)) failed = order_hosts(bytes, std::move(failed), &span);
        size_t done = 0;
        if (access.collective)
          failed = collectives.run(call_of(access, span, memory, std::move(failed)), &done);
        else if (!failed)
          failed = move(access, memory, span, &done);
        auto moved = static_cast<MPI_Count>(done);
        int code = fail(failed);
        if (conversion && access.writes) moved = conversion->bytes_in_memory(done);
        if (conversion && !access.writes && code == MPI_SUCCESS)
          code = conversion->from_file(done, &moved);
        fill(status, moved);
        return code;
      },
      [&] {
        if (access.collective) refuse(failure(MPI_ERR_NO_MEM, "no memory for a transfer"));
        return no_memory();
      });
}

core::Ref<FileRequest> File::start_checked(const Access& access) {
  Failure failed = check(access);
  Span span;
  std::shared_ptr<Conversion> conversion;
  Memory memory(process(), access.data);
  if (!failed && !view_->representation().native()) {
    conversion = std::make_shared<Conversion>(process(), access.data, view_);
    memory = conversion->memory();
    if (access.writes)
      if (const int code = conversion->to_file(); code != MPI_SUCCESS)
        failed = {code, take_last_error().text};
  }
  const size_t bytes = conversion ? conversion->bytes() : access.data.bytes();
  if (!failed) failed = place(access, bytes, &span);
  if (orders_hosts(access)) failed = order_hosts(bytes, std::move(failed), &span);
  core::Channel& channel = own_.channel();
  core::Ref<FileRequest> made;
  if (access.collective) {
    Collectives::Call call = call_of(access, span, memory, std::move(failed));
    call.conversion = conversion;
    made = collectives.start(call);
  } else if (failed) {
    throw Error(std::move(failed));
  } else if (span.bytes <= kMostAtOnce || atomic_) {
    size_t done = 0;
    failed = move(access, memory, span, &done);
    made = core::Ref<FileRequest>::adopt(
        new CompletedRequest(*this, channel, static_cast<MPI_Count>(done), std::move(failed)));
  } else {
    if (access.writes) has_written_.store(true, std::memory_order_relaxed);
    auto request = core::Ref<IndependentRequest>::adopt(
        new IndependentRequest(*this, channel, raw_, window_, hints.ways(), view_, span.first,
                               memory, span.bytes, access.writes));
    made = core::Ref<FileRequest>(request.get());
    if (conversion) made->convert_with(conversion, access.writes);
    requests.start(std::move(request));
    return made;
  }
  if (conversion) made->convert_with(std::move(conversion), access.writes);
  return made;
}

int File::start(const Access& access, core::Request** request) noexcept {
  return tern::attempt(
      [&] {
        *request = start_checked(access).leak();
        return static_cast<int>(MPI_SUCCESS);
      },
      [&] {
        if (access.collective) refuse(failure(MPI_ERR_NO_MEM, "no memory for a transfer"));
        return no_memory();
      });
}

int File::begin(const Access& access, const char* name) noexcept {
  return tern::attempt(
      [&] {
        if (split_.name != nullptr) {
          const Failure pending = check(access);
          refuse(pending);
          return fail(pending);
        }
        core::Ref<FileRequest> request = start_checked(access);
        split_ = {name, access.data.address, std::move(request)};
        return static_cast<int>(MPI_SUCCESS);
      },
      [&] {
        refuse(failure(MPI_ERR_NO_MEM, "no memory for a transfer"));
        return no_memory();
      });
}

int File::end(const void* buffer, const char* name, MPI_Status* status) noexcept {
  if (split_.name == nullptr || std::strcmp(split_.name, name) != 0)
    return fail(MPI_ERR_OTHER, "%s_begin did not precede this call on %s", name,
                raw_.name().c_str());
  if (split_.buffer != buffer)
    return fail(MPI_ERR_BUFFER, "buf is %p, but %s_begin got %p; pass the same buffer", buffer,
                name, split_.buffer);
  const core::Ref<FileRequest> request = std::exchange(split_, {}).request;
  core::Progress& progress = own_.channel().progress;
  {
    const core::ChannelLock lock(progress);
    progress.wait([&] { return request->done(); },
                  [&](WaitReport* report) { request->describe(report); }, 20'000);
  }
  int code = request->deliver(true);
  if (code == MPI_SUCCESS && request->outcome.error != MPI_SUCCESS)
    code = fail(request->outcome.error, "%s", request->error_text->c_str());
  fill(status, request->outcome.bytes);
  return code;
}

void File::refuse(const Failure& why) noexcept {
  (void)tern::attempt(
      [&] {
        // The other ranks get the error in their first meeting; this rank need not wait.
        Collectives::Call call{false, view_, {},    Memory(process(), nullptr),
                               why,   false, false, nullptr};
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
  card.set_error(mine);
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
  if (has_written_.exchange(false)) failed = raw_.sync();
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
  return agree(failed);
}

int File::set_atomicity(bool on) noexcept {
  if (const int code = agree_on("flag", on ? 1 : 0, {}); code != MPI_SUCCESS) return code;
  atomic_ = on;
  return MPI_SUCCESS;
}

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
