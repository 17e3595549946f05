// SPDX-License-Identifier: Apache-2.0
#include "stream/area.hpp"

#include "base/error.hpp"

namespace tern::stream {

Area::Area(core::Process& process, const Stream* stream, void* address, MPI_Count count,
           core::Datatype& type)
    : data_{address, count, &type}, type_(&type), process_(&process) {
  data_.ask();
  by_stream_ = stream != nullptr && data_.on_device() && data_.bytes() > 0;
  if (!by_stream_) return;
  if (!type.contiguous()) program_ = core::device_layout(type);
  const std::string why = why_not_packed(*stream, data_, program_);
  if (!why.empty())
    throw Error(MPI_ERR_TYPE,
                strf("the stream cannot move the buffer at %p: %s", address, why.c_str()));
}

// The kind of host memory is known, so the proxy makes no driver call.
int Area::take(size_t offset, std::byte* to, size_t bytes) const noexcept {
  if (by_stream_ || bytes == 0) return MPI_SUCCESS;
  if (data_.on_device()) return fail(core::pack(*process_, data_, offset, to, bytes));
  data_.type->pack(data_.address, data_.count, offset, to, bytes);
  return MPI_SUCCESS;
}

int Area::give(size_t offset, const std::byte* from, size_t bytes) const noexcept {
  if (by_stream_ || bytes == 0) return MPI_SUCCESS;
  if (data_.on_device()) return fail(core::unpack(*process_, data_, offset, from, bytes));
  data_.type->unpack(data_.address, data_.count, offset, from, bytes);
  return MPI_SUCCESS;
}

}  // namespace tern::stream
