// SPDX-License-Identifier: Apache-2.0
#include "stream/track.hpp"

#include <new>

#include "core/datatype_device.hpp"
#include "cuda/copy.hpp"
#include "cuda/kernels.hpp"

namespace tern::stream {

void Track::copy(void* to, const void* from, size_t bytes) noexcept {
  flush();
  if (failed() || bytes == 0) return;
  note("cuMemcpyAsync", cuda::copy(driver_, to, from, bytes, stream_.queue()));
}

void Track::copy_rows(std::byte* to, size_t to_pitch, const std::byte* from, size_t from_pitch,
                      size_t width, size_t rows) noexcept {
  if (rows <= 1 || (to_pitch == width && from_pitch == width)) return copy(to, from, width * rows);
  flush();
  if (failed() || width == 0) return;
  note("cuMemcpy2DAsync",
       cuda::copy_rows(driver_, to, to_pitch, from, from_pitch, width, rows, stream_.queue()));
}

template <bool kPacks>
void Track::move(const core::Data& data, size_t offset, std::byte* packed, size_t bytes) noexcept {
  if (bytes == 0) return;
  if (data.type->contiguous()) {
    std::byte* const at = data.first() + offset;
    return kPacks ? copy(packed, at, bytes) : copy(at, packed, bytes);
  }
  flush();
  if (failed()) return;
  cuda::Kernels* const kernels = stream_.device().kernels();
  if (kernels == nullptr) return note("cuLaunchKernel", CUDA_ERROR_NOT_FOUND);
  try {
    const auto program = core::device_layout(*data.type);
    note("cuLaunchKernel",
         kPacks ? kernels->pack(stream_.queue(), program, data.address, offset, packed, bytes)
                : kernels->unpack(stream_.queue(), program, data.address, offset, packed, bytes));
  } catch (const std::bad_alloc&) {
    note("cuLaunchKernel", CUDA_ERROR_OUT_OF_MEMORY);
  }
}

void Track::pack(const core::Data& data, size_t offset, std::byte* out, size_t bytes) noexcept {
  move<true>(data, offset, out, bytes);
}

void Track::unpack(const core::Data& data, size_t offset, const std::byte* in,
                   size_t bytes) noexcept {
  move<false>(data, offset, const_cast<std::byte*>(in), bytes);
}

void Track::add(CUstreamBatchMemOpType what, const Word& word, uint32_t value,
                unsigned flags) noexcept {
  if (count_ == kMost) flush();
  CUstreamMemOpValueParams& one = words_[count_++].waitValue;
  one = {};
  one.operation = what;
  one.address = word.at;
  one.value = value;
  one.flags = flags;
}

void Track::wait(const Word& word, uint32_t value) noexcept {
  add(CU_STREAM_MEM_OP_WAIT_VALUE_32, word, value, CU_STREAM_WAIT_VALUE_EQ);
}

void Track::write(const Word& word, uint32_t value) noexcept {
  add(CU_STREAM_MEM_OP_WRITE_VALUE_32, word, value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

void Track::flush() noexcept {
  const unsigned count = count_;
  count_ = 0;
  if (lacks_words_ || count == 0) return;
  const CUresult result = driver_.cuStreamBatchMemOp_v2(stream_.queue(), count, words_.data(), 0);
  note("cuStreamBatchMemOp", result);
  lacks_words_ = result != CUDA_SUCCESS;
  if (!lacks_words_) put_ += static_cast<int>(count);
}

std::string why_not_packed(const Stream& stream, const core::Data& data,
                           const std::shared_ptr<const cuda::LayoutProgram>& program) {
  if (data.type->contiguous()) return {};
  std::string why;
  cuda::Kernels* const kernels = stream.device().kernels(&why);
  if (kernels == nullptr)
    return "the type has holes, and the device has no kernel to pack them: " + why;
  if (cuda::look_up(data.first()).device != stream.device().ordinal)
    return "the type has holes, and the buffer is not on the stream's device";
  if (kernels->images().reserve(program)) return {};
  if (stream.device().has_waiting())
    return strf(
        "the type has a list of holes of %zu bytes, too large for the free device memory, and "
        "nothing "
        "is allocated while streams may wait: commit the type before the first enqueued call",
        program->image().size_bytes());
  const cuda::Current current(stream.device());
  const CUresult result = kernels->images().prepare(program);
  if (result != CUDA_SUCCESS)
    return "no device memory for the type's list of holes: " + cuda::words_of("cuMemAlloc", result);
  return {};
}

}  // namespace tern::stream
