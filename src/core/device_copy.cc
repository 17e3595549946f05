// SPDX-License-Identifier: Apache-2.0
#include "core/device_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/copy.hpp"
#include "base/error.hpp"
#include "core/op.hpp"
#include "core/process.hpp"

namespace tern::core {
namespace {

constexpr size_t kPieces = 256;  // of memory, looked at together

/// How many pieces from `first` on are of one length and equally far apart.
size_t regular(const iovec* first, size_t most) noexcept {
  if (most < 2) return most;
  const auto at = [&](size_t i) { return reinterpret_cast<intptr_t>(first[i].iov_base); };
  const intptr_t stride = at(1) - at(0);
  if (stride < static_cast<intptr_t>(first->iov_len)) return 1;
  size_t count = 1;
  while (count < most && first[count].iov_len == first->iov_len &&
         at(count) - at(count - 1) == stride)
    ++count;
  return count;
}

// Rows where the layout is regular, piece by piece where it is not.
template <bool kPacks>
void move_pieces(cuda::Job& job, const Data& data, size_t offset, std::byte* block,
                 size_t bytes) noexcept {
  std::array<iovec, kPieces> pieces;
  while (bytes > 0 && !job.failed()) {
    size_t covered = 0;
    const size_t found = data.type->pieces(data.address, data.count, offset, bytes, pieces.data(),
                                           pieces.size(), &covered);
    for (size_t i = 0; i < found;) {
      const size_t rows = regular(pieces.data() + i, found - i);
      auto* const memory = static_cast<std::byte*>(pieces[i].iov_base);
      const size_t width = pieces[i].iov_len;
      const size_t stride =
          rows > 1 ? static_cast<size_t>(static_cast<std::byte*>(pieces[i + 1].iov_base) - memory)
                   : width;
      if (kPacks)
        job.copy_rows(block, width, memory, stride, width, rows);
      else
        job.copy_rows(memory, stride, block, width, width, rows);
      block += width * rows;
      i += rows;
    }
    offset += covered;
    bytes -= covered;
  }
}

[[nodiscard]] int result_of(cuda::Job& job, size_t bytes) noexcept {
  if (job.finish()) return MPI_SUCCESS;
  return fail(MPI_ERR_OTHER, "copying %zu bytes of device memory failed: %s", bytes,
              job.failure().c_str());
}

Data asked(const Data& data) noexcept {
  Data known = data;
  known.ask();
  return known;
}

/// The one that is a device's, or null.
const void* device_side(const Data& data, const void* block) noexcept {
  if (data.on_device()) return data.first();
  return cuda::on_device(cuda::kind_of(block)) ? block : nullptr;
}

}  // namespace

cuda::Job begin_job(Process& process, const void* address, int* code) noexcept {
  const cuda::Memory memory = cuda::look_up(address);
  std::string why = "it was device memory, and is no more";
  cuda::Device* const device =
      cuda::on_device(memory.kind) ? process.gpus.device_of(memory, &why) : nullptr;
  if (device == nullptr) {
    *code = fail(MPI_ERR_BUFFER, "the buffer at %p cannot be used: %s", address, why.c_str());
    return {};
  }
  cuda::Job job(*device);
  job.settle(memory);
  *code = job.failed() ? fail(MPI_ERR_OTHER, "device %d cannot be used: %s", device->ordinal,
                              job.failure().c_str())
                       : MPI_SUCCESS;
  return job;
}

void pack(cuda::Job& job, const Data& data, size_t offset, void* out, size_t bytes) noexcept {
  if (data.type->contiguous()) return job.copy(out, data.first() + offset, bytes);
  move_pieces<true>(job, data, offset, static_cast<std::byte*>(out), bytes);
}

void unpack(cuda::Job& job, const Data& data, size_t offset, const void* in,
            size_t bytes) noexcept {
  if (data.type->contiguous()) return job.copy(data.first() + offset, in, bytes);
  move_pieces<false>(job, data, offset, static_cast<std::byte*>(const_cast<void*>(in)), bytes);
}

int pack(Process& process, const Data& of, size_t offset, void* out, size_t bytes) noexcept {
  if (bytes == 0) return MPI_SUCCESS;
  const Data data = asked(of);
  const void* const on_device = device_side(data, out);
  if (TERN_LIKELY(on_device == nullptr)) {
    data.type->pack(data.address, data.count, offset, out, bytes);
    return MPI_SUCCESS;
  }
  int code = MPI_SUCCESS;
  cuda::Job job = begin_job(process, on_device, &code);
  if (code != MPI_SUCCESS) return code;
  pack(job, data, offset, out, bytes);
  return result_of(job, bytes);
}

int unpack(Process& process, const Data& of, size_t offset, const void* in, size_t bytes) noexcept {
  if (bytes == 0) return MPI_SUCCESS;
  const Data data = asked(of);
  const void* const on_device = device_side(data, in);
  if (TERN_LIKELY(on_device == nullptr)) {
    data.type->unpack(data.address, data.count, offset, in, bytes);
    return MPI_SUCCESS;
  }
  int code = MPI_SUCCESS;
  cuda::Job job = begin_job(process, on_device, &code);
  if (code != MPI_SUCCESS) return code;
  unpack(job, data, offset, in, bytes);
  return result_of(job, bytes);
}

namespace {

// Both layouts have holes: a piece at a time through a small buffer.
void copy_by_pieces(const Data& from, const Data& to) noexcept {
  std::byte piece[4096];
  const size_t total = from.bytes();
  for (size_t done = 0; done < total; done += sizeof piece) {
    const size_t bytes = std::min(sizeof piece, total - done);
    from.type->pack(from.address, from.count, done, piece, bytes);
    to.type->unpack(to.address, to.count, done, piece, bytes);
  }
}

/// From one layout with holes to another: through device memory, in as large pieces as there is
/// room.
void copy_by_blocks(cuda::Job& job, const Data& from, const Data& to) noexcept {
  constexpr size_t kMost = 16 << 20;
  const size_t total = from.bytes();
  const cuda::Block block(job, std::min(total, kMost));
  for (size_t done = 0; done < total && !job.failed(); done += block.bytes()) {
    const size_t bytes = std::min(block.bytes(), total - done);
    pack(job, from, done, block.data(), bytes);
    unpack(job, to, done, block.data(), bytes);
  }
  job.finish();  // before the block goes
}

}  // namespace

void copy_on_host(const Data& from, const Data& to) noexcept {
  const size_t bytes = from.bytes();
  if (from.type->contiguous() && to.type->contiguous())
    std::memmove(to.first(), from.first(), bytes);
  else if (from.type->contiguous())
    to.type->unpack(to.address, to.count, 0, from.first(), bytes);
  else if (to.type->contiguous())
    from.type->pack(from.address, from.count, 0, to.first(), bytes);
  else
    copy_by_pieces(from, to);
}

void copy(cuda::Job& job, const Data& from, const Data& to) noexcept {
  const size_t bytes = from.bytes();
  if (from.type->contiguous())
    unpack(job, to, 0, from.first(), bytes);
  else if (to.type->contiguous())
    pack(job, from, 0, to.first(), bytes);
  else
    copy_by_blocks(job, from, to);
}

int copy(Process& process, const Data& source, const Data& destination) noexcept {
  const size_t bytes = source.bytes();
  if (bytes == 0 || source.address == destination.address) return MPI_SUCCESS;
  const Data from = asked(source), to = asked(destination);
  if (TERN_LIKELY(!from.on_device() && !to.on_device())) {
    copy_on_host(from, to);
    return MPI_SUCCESS;
  }
  int code = MPI_SUCCESS;
  cuda::Job job = begin_job(process, from.on_device() ? from.first() : to.first(), &code);
  if (code != MPI_SUCCESS) return code;
  copy(job, from, to);
  return result_of(job, bytes);
}

OnHost::OnHost(Process& process, const Data& data)
    : process_(process), of_(asked(data)), here_(of_) {
  if (!of_.on_device()) return;
  const MPI_Aint span = std::abs(of_.type->extent()) * (of_.count - 1);
  memory_.resize(static_cast<size_t>(span + of_.type->true_extent()));
  here_.address =
      memory_.data() - of_.type->true_lb() + (of_.type->extent() < 0 ? span : MPI_Aint{0});
  here_.kind = cuda::MemoryKind::kHost;
}

int OnHost::fetch() noexcept { return memory_.empty() ? MPI_SUCCESS : copy(process_, of_, here_); }

int OnHost::bring_back() noexcept {
  return memory_.empty() ? MPI_SUCCESS : copy(process_, here_, of_);
}

namespace {

int reduce_on_host(Process& process, const Op& op, const Data& from, const Data& to) noexcept {
  try {
    OnHost source(process, from), destination(process, to);
    if (const int code = source.fetch(); code != MPI_SUCCESS) return code;
    if (const int code = destination.fetch(); code != MPI_SUCCESS) return code;
    op.apply(source.here().address, destination.here().address, to.count, *to.type);
    return destination.bring_back();
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory to reduce %zu bytes of device memory on the host",
                to.bytes());
  }
}

}  // namespace

int reduce(Process& process, const Op& op, const Data& source, const Data& destination) noexcept {
  if (destination.count == 0) return MPI_SUCCESS;
  const Data from = asked(source), to = asked(destination);
  if (TERN_UNLIKELY(from.on_device() || to.on_device()))
    return reduce_on_host(process, op, from, to);
  op.apply(from.address, to.address, to.count, *to.type);
  return MPI_SUCCESS;
}

}  // namespace tern::core
