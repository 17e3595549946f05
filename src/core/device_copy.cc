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
#include "core/allocations.hpp"
#include "core/datatype_device.hpp"
#include "core/op.hpp"
#include "core/process.hpp"
#include "cuda/kernels.hpp"

namespace tern::core {
namespace {

constexpr size_t kPieces = 256;

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

template <bool kPacks>
bool launch_move(cuda::Job& job, const Data& data, size_t offset, void* block,
                 size_t bytes) noexcept {
  cuda::Kernels* const kernels = job.device().kernels();
  const cuda::Current current(job.device());
  try {
    const auto program = device_layout(*data.type);
    if (!kernels->images().reserve(program) && !job.device().is_quiet()) return false;
    if (!program->inlined()) job.keep(program);
    job.mark();
    job.note("cuLaunchKernel",
             kPacks ? kernels->pack(job.stream(), program, data.address, offset, block, bytes)
                    : kernels->unpack(job.stream(), program, data.address, offset, block, bytes));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// A kernel needs source and target on the job's device. Otherwise the driver copies rows.
template <bool kPacks>
bool move_by_kernel(cuda::Job& job, const Data& data, size_t offset, void* block,
                    size_t bytes) noexcept {
  if (bytes == 0 || job.failed() || !data.on_device() || !cuda::on_device(cuda::kind_of(block)))
    return false;
  const int ordinal = job.device().ordinal;
  return job.device().kernels() != nullptr && cuda::look_up(data.first()).device == ordinal &&
         cuda::look_up(block).device == ordinal &&
         launch_move<kPacks>(job, data, offset, block, bytes);
}

/// Small data goes through the stream's host memory: one launch and a polled word instead of two
/// copies and a synchronisation.
bool serves_by_mail(cuda::Job& job, const Data& data, cuda::MemoryKind block,
                    size_t bytes) noexcept {
  return bytes <= cuda::Stream::kRoom && data.on_device() && !cuda::on_device(block) &&
         job.room() != nullptr;
}

template <bool kPacks>
void mail(cuda::Job& job, const Data& data, size_t offset, size_t bytes) noexcept {
  void* const room = job.room_on_device();
  if (data.type->contiguous()) {
    std::byte* const memory = data.first() + offset;
    return kPacks ? job.mail(room, memory, bytes) : job.mail(memory, room, bytes);
  }
  const cuda::Current current(job.device());
  if (!launch_move<kPacks>(job, data, offset, room, bytes))
    move_pieces<kPacks>(job, data, offset, job.room(), bytes);
  job.tell_end();
}

[[nodiscard]] Failure result_of(cuda::Job& job, size_t bytes) noexcept {
  if (job.finish()) return {};
  return failure(MPI_ERR_OTHER, "copying %zu bytes of device memory failed: %s", bytes,
                 job.failure().c_str());
}

/// A kernel packs into a device block before a copy to the host.
cuda::Block aside(cuda::Job& job, const Data& data, cuda::MemoryKind block, size_t bytes) noexcept {
  if (data.type->contiguous() || !data.on_device() || cuda::on_device(block) ||
      job.device().kernels() == nullptr || !job.device().blocks.lends(cuda::Store::kDevice, bytes))
    return {};
  return cuda::Block(job, bytes);
}

const void* device_side(const Data& data, const void* block, cuda::MemoryKind* kind) noexcept {
  if (*kind == cuda::MemoryKind::kUnknown) *kind = cuda::kind_of(block);
  if (data.on_device()) return data.first();
  return cuda::on_device(*kind) ? block : nullptr;
}

cuda::Job open_job(Process& process, const void* address, cuda::Memory* memory,
                   Failure* failed) noexcept {
  *memory = cuda::look_up(address);
  std::string why = "its device memory has been freed";
  cuda::Device* const device =
      cuda::on_device(memory->kind) ? process.gpus.device_of(*memory, &why) : nullptr;
  *failed = {};
  if (device != nullptr) return cuda::Job(*device);
  *failed = failure(MPI_ERR_BUFFER, "the buffer at %p cannot be used: %s", address, why.c_str());
  return {};
}

void tell_of_flag(Process& process, cuda::Job& job) noexcept {
  if (TERN_LIKELY(!job.device().late_writes.has_changed_context()) || !process.explain.on()) return;
  process.explain.say(
      "device", {{"flag", "CU_CTX_SYNC_MEMOPS"}},
      "for memory of a pool or of cuMemCreate, Tern sets CU_CTX_SYNC_MEMOPS until MPI ends: "
      "synchronous copies and memsets of the context wait for completion");
}

[[nodiscard]] Failure usable(const cuda::Job& job) noexcept {
  if (!job.failed()) return {};
  return failure(MPI_ERR_OTHER, "device %d cannot be used: %s", job.device().ordinal,
                 job.failure().c_str());
}

cuda::Job begin_job(Process& process, const Data& data, const void* block,
                    Failure* failed) noexcept {
  return data.on_device() ? core::begin_job(process, data, failed)
                          : core::begin_job(process, block, failed);
}

}  // namespace

cuda::Job begin_job(Process& process, const void* address, Failure* failed) noexcept {
  cuda::Memory memory;
  cuda::Job job = open_job(process, address, &memory, failed);
  if (!*failed) job.settle(memory);
  if (!*failed) tell_of_flag(process, job);
  if (!*failed) *failed = usable(job);
  return job;
}

cuda::Job begin_job(Process& process, const Data& data, Failure* failed,
                    cuda::Memory* found) noexcept {
  cuda::Memory memory;
  cuda::Job job = open_job(process, data.first(), &memory, failed);
  if (!*failed) settle(job, data, memory);
  if (!*failed) tell_of_flag(process, job);
  if (!*failed) *failed = usable(job);
  if (found != nullptr) *found = memory;
  return job;
}

void pack(cuda::Job& job, const Data& data, size_t offset, void* out, size_t bytes) noexcept {
  if (data.type->contiguous()) return job.copy(out, data.first() + offset, bytes);
  if (move_by_kernel<true>(job, data, offset, out, bytes)) return;
  move_pieces<true>(job, data, offset, static_cast<std::byte*>(out), bytes);
}

void unpack(cuda::Job& job, const Data& data, size_t offset, const void* in,
            size_t bytes) noexcept {
  if (data.type->contiguous()) return job.copy(data.first() + offset, in, bytes);
  if (move_by_kernel<false>(job, data, offset, const_cast<void*>(in), bytes)) return;
  move_pieces<false>(job, data, offset, static_cast<std::byte*>(const_cast<void*>(in)), bytes);
}

Failure pack(Process& process, const Data& of, size_t offset, void* out, size_t bytes,
             cuda::MemoryKind block_kind) noexcept {
  if (bytes == 0) return {};
  const Data data = with_kind(of);
  const void* const on_device = device_side(data, out, &block_kind);
  if (TERN_LIKELY(on_device == nullptr)) {
    data.type->pack(data.address, data.count, offset, out, bytes);
    return {};
  }
  Failure failed;
  cuda::Job job = begin_job(process, data, out, &failed);
  if (failed) return failed;
  if (on_device != out && cuda::on_device(block_kind)) job.settle(cuda::look_up(out));
  if (serves_by_mail(job, data, block_kind, bytes)) {
    mail<true>(job, data, offset, bytes);
    if (job.finish()) std::memcpy(out, job.room(), bytes);
    return result_of(job, bytes);
  }
  const cuda::Current current(job.device());
  const cuda::Block block = aside(job, data, block_kind, bytes);
  pack(job, data, offset, block.valid() ? block.data() : out, bytes);
  if (block.valid()) job.copy(out, block.data(), bytes);
  return result_of(job, bytes);
}

Failure unpack(Process& process, const Data& of, size_t offset, const void* in, size_t bytes,
               cuda::MemoryKind block_kind) noexcept {
  if (bytes == 0) return {};
  const Data data = with_kind(of);
  const void* const on_device = device_side(data, in, &block_kind);
  if (TERN_LIKELY(on_device == nullptr)) {
    data.type->unpack(data.address, data.count, offset, in, bytes);
    return {};
  }
  Failure failed;
  cuda::Job job = begin_job(process, data, in, &failed);
  if (failed) return failed;
  if (on_device != in && cuda::on_device(block_kind)) job.settle(cuda::look_up(in));
  if (serves_by_mail(job, data, block_kind, bytes)) {
    std::memcpy(job.room(), in, bytes);
    mail<false>(job, data, offset, bytes);
    return result_of(job, bytes);
  }
  const cuda::Current current(job.device());
  const cuda::Block block = aside(job, data, block_kind, bytes);
  if (block.valid()) job.copy(block.data(), in, bytes);
  unpack(job, data, offset, block.valid() ? block.data() : in, bytes);
  return result_of(job, bytes);
}

namespace {

void copy_by_pieces(const Data& from, const Data& to) noexcept {
  std::byte piece[4096];
  const size_t total = from.bytes();
  for (size_t done = 0; done < total; done += sizeof piece) {
    const size_t bytes = std::min(sizeof piece, total - done);
    from.type->pack(from.address, from.count, done, piece, bytes);
    to.type->unpack(to.address, to.count, done, piece, bytes);
  }
}

void copy_by_blocks(cuda::Job& job, const Data& from, const Data& to) noexcept {
  constexpr size_t kMost = 16 << 20;
  const size_t total = from.bytes();
  const cuda::Block block(job, std::min(total, kMost));
  for (size_t done = 0; done < total && !job.failed(); done += block.bytes()) {
    const size_t bytes = std::min(block.bytes(), total - done);
    pack(job, from, done, block.data(), bytes);
    unpack(job, to, done, block.data(), bytes);
  }
  job.finish();
}

}  // namespace

bool same_data(const Data& one, const Data& other) noexcept {
  if (one.type->contiguous() && other.type->contiguous()) return one.first() == other.first();
  return one.address == other.address && one.type == other.type;
}

void copy_on_host(const Data& from, const Data& to) noexcept {
  const size_t bytes = from.bytes();
  if (bytes == 0 || same_data(from, to)) return;
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

Failure copy(Process& process, const Data& source, const Data& destination) noexcept {
  const size_t bytes = source.bytes();
  if (bytes == 0 || same_data(source, destination)) return {};
  const Data from = with_kind(source), to = with_kind(destination);
  if (TERN_LIKELY(!from.on_device() && !to.on_device())) {
    copy_on_host(from, to);
    return {};
  }
  Failure failed;
  cuda::Job job = begin_job(process, from.on_device() ? from : to, &failed);
  if (failed) return failed;
  if (from.on_device() && to.on_device()) settle(job, to);
  const cuda::Current current(job.device());
  copy(job, from, to);
  return result_of(job, bytes);
}

OnHost::OnHost(Process& process, const Data& data)
    : process_(process), of_(with_kind(data)), here_(of_) {
  if (!of_.on_device()) return;
  const MPI_Aint span = std::abs(of_.type->extent()) * (of_.count - 1);
  memory_.resize(static_cast<size_t>(span + of_.type->true_extent()));
  here_.address =
      memory_.data() - of_.type->true_lb() + (of_.type->extent() < 0 ? span : MPI_Aint{0});
  here_.kind = cuda::MemoryKind::kHost;
}

Failure OnHost::download() noexcept {
  return memory_.empty() ? Failure{} : copy(process_, of_, here_);
}

Failure OnHost::upload() noexcept {
  return memory_.empty() ? Failure{} : copy(process_, here_, of_);
}

}  // namespace tern::core
