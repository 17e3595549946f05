// SPDX-License-Identifier: Apache-2.0
// The data access of a file: arguments, positions, and the ways to a request or a status.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/attempt.hpp"
#include "coll/objects.hpp"
#include "io/file.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

constexpr size_t kMostAtOnce = 64 * 1024;  // nonblocking transfers up to here run in the call

int no_transfer() noexcept { return fail(MPI_ERR_NO_MEM, "no memory for a transfer of a file"); }

void fill(MPI_Status* status, MPI_Count bytes) noexcept {
  core::Outcome outcome;
  outcome.bytes = bytes;
  core::fill_status(status, outcome, false);
}

}  // namespace

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

Failure File::order_hosts(size_t bytes, const Failure& mine, Span* span) noexcept {
  std::vector<int64_t> counts;
  Card card;
  card.set_error(mine);
  try {
    counts.resize(static_cast<size_t>(own_.size()));
  } catch (const std::bad_alloc&) {
    card.set_error(failure(MPI_ERR_NO_MEM, "no memory for the counts of %d ranks", own_.size()));
  }
  if (Failure failed = collectives.agree(&card)) return failed;
  const int64_t etype = std::max<int64_t>(1, view_->etype_bytes());
  const int64_t count = static_cast<int64_t>(bytes) / etype;
  if (const int code = coll::allgather(own_, count, &counts); code != MPI_SUCCESS)
    return {code, take_last_error().text};
  int64_t first[2] = {0, 0}, all = 0, before = 0;
  for (int rank = 0; rank < own_.size(); ++rank) {
    if (rank == own_.rank()) before = all;
    all += counts[static_cast<size_t>(rank)];
  }
  if (own_.rank() == 0)
    if (Failure failed = pointers.add_shared(all, &first[0])) first[1] = failed.code;
  if (const int code = coll::bcast(own_, first, sizeof first); code != MPI_SUCCESS)
    return {code, take_last_error().text};
  if (first[1] != 0)
    return failure(static_cast<int>(first[1]), "rank 0 cannot move the shared file pointer");
  span->first = (first[0] + before) * etype;
  return {};
}

Ways File::ways_of(const Span& span, bool writes) const noexcept {
  Ways ways = hints.ways();
  const FileSystem& system = raw_.system();
  const int64_t block = view_->mean_block();
  const int64_t least = system.least_overwrite();
  if (!writes || !system.maps || block < system.least_write || block >= least || span.bytes == 0)
    return ways;
  int64_t size = 0;
  const int64_t end = view_->end_of(span.first, static_cast<int64_t>(span.bytes));
  if (!raw_.size(&size) && end <= size) ways.maps_below = least;
  return ways;
}

Failure File::move(const Access& access, const Memory& memory, const Span& span,
                   size_t* done) noexcept {
  const Part part{raw_, window_, *view_, span.first, ways_of(span, access.writes)};
  if (span.bytes == 0) return {};
  if (!atomic_) return move_part(part, access.writes, memory, span.bytes, done);
  RangeLock range(*meeting_, service);
  const FileRange bytes{view_->at(span.first),
                        view_->end_of(span.first, static_cast<int64_t>(span.bytes)), access.writes};
  const auto describe = [&](WaitReport* report) { range.describe(report); };
  constexpr int64_t kMostSleepUs = 1000;  // the holder may die
  core::Progress& progress = own_.channel().progress;
  {
    const core::ChannelLock lock(progress);
    progress.wait([&] { return range.take(bytes); }, describe, kMostSleepUs);
  }
  if (range.failed()) return range.failed();
  Failure failed = move_part(part, access.writes, memory, span.bytes, done);
  const core::ChannelLock lock(progress);
  progress.wait([&] { return range.release(); }, describe, kMostSleepUs);
  return failed;
}

Failure File::move_part(const Part& part, bool writes, const Memory& memory, size_t bytes,
                        size_t* done) noexcept {
  note(part, process(), writes, bytes);
  if (writes) has_written_.store(true, std::memory_order_relaxed);
  return io::move(part, memory, bytes, writes, done);
}

Collectives::Call File::call_of(const Access& access, const Span& span, const Memory& memory,
                                Failure failed) noexcept {
  if (access.writes) has_written_.store(true, std::memory_order_relaxed);
  const bool ordered = access.where == Access::Where::kShared && meeting_->on_one_host();
  if (failed) failed = from_rank(own_.rank(), failed);
  const View* const compared = access.where == Access::Where::kShared ? view_.get() : nullptr;
  return {access.writes,
          view_,
          span,
          memory,
          std::move(failed),
          atomic_,
          ordered,
          nullptr,
          {core::current_call, compared}};
}

File::Prepared File::prepare(const Access& access) {
  Prepared call{check(access), {}, access.data.bytes(), Memory(process(), access.data), nullptr};
  if (!call.failed && !view_->representation().native()) {
    call.conversion = std::make_shared<Conversion>(process(), access.data, view_);
    call.memory = call.conversion->memory();
    call.bytes = call.conversion->bytes();
    if (access.writes)
      if (const int code = call.conversion->to_file(); code != MPI_SUCCESS)
        call.failed = {code, take_last_error().text};
  }
  if (!call.failed) call.failed = place(access, call.bytes, &call.span);
  return call;
}

int File::transfer(const Access& access, MPI_Status* status) noexcept {
  return tern::attempt(
      [&] {
        auto [failed, span, bytes, memory, conversion] = prepare(access);
        size_t done = 0;
        if (orders_hosts(access))
          if (Failure ended = order_hosts(bytes, failed, &span)) {
            fill(status, 0);
            return fail(ended);
          }
        if (!failed) failed = view_->check(span.first, static_cast<int64_t>(span.bytes));
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
        return no_transfer();
      });
}

core::Ref<FileRequest> File::start_checked(const Access& access) {
  auto [failed, span, bytes, memory, conversion] = prepare(access);
  core::Channel& channel = own_.channel();
  if (orders_hosts(access))
    if (Failure ended = order_hosts(bytes, failed, &span))
      return core::Ref<FileRequest>::adopt(
          new CompletedRequest(*this, channel, 0, std::move(ended)));
  if (!failed) failed = view_->check(span.first, static_cast<int64_t>(span.bytes));
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
    const Ways ways = ways_of(span, access.writes);
    note({raw_, window_, *view_, span.first, ways}, process(), access.writes, span.bytes);
    auto request = core::Ref<IndependentRequest>::adopt(new IndependentRequest(
        *this, channel, raw_, window_, ways, view_, span.first, memory, span.bytes, access.writes));
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
        return no_transfer();
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
        return no_transfer();
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

}  // namespace tern::io
