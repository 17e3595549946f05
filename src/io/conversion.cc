// SPDX-License-Identifier: Apache-2.0
#include "io/conversion.hpp"

#include "base/attempt.hpp"
#include "mpi.h"

namespace tern::io {
namespace {

template <class Work>
int attempt_io(Work&& work) noexcept {
  return tern::attempt(work, [] { return fail(MPI_ERR_NO_MEM, "no memory to convert data"); });
}

size_t bytes_of(const Representation& representation, const core::Datatype& type, Failure* failed) {
  try {
    return static_cast<size_t>(representation.bytes_of(type));
  } catch (const Error& error) {
    *failed = error.failure();
    return 0;
  }
}

}  // namespace

Conversion::Conversion(core::Process& process, const core::Data& data,
                       std::shared_ptr<const View> view)
    : process_(process),
      data_(core::with_kind(data)),
      type_(data.type),
      view_(std::move(view)),
      element_(bytes_of(view_->representation(), *data.type, &failed_)),
      bytes_(element_ * static_cast<size_t>(data.count)),
      bytes_of_file_(new std::byte[bytes_]) {}

int Conversion::to_file() noexcept {
  return attempt_io([&] {
    if (failed_) return fail(failed_);
    core::OnHost host(process_, data_);
    if (const int code = fail(host.download()); code != MPI_SUCCESS) return code;
    return view_->representation().to_file(host.here().address, 0, data_.count, *type_,
                                           bytes_of_file_.get());
  });
}

int Conversion::from_file(size_t bytes, MPI_Count* moved) noexcept {
  return attempt_io([&] {
    *moved = 0;
    if (failed_) return fail(failed_);
    const auto whole = static_cast<MPI_Count>(element_ == 0 ? 0 : bytes / element_);
    *moved = whole * type_->size();
    if (whole == 0) return static_cast<int>(MPI_SUCCESS);
    core::OnHost host(process_, data_);
    if (data_.on_device())
      if (const int code = fail(host.download()); code != MPI_SUCCESS) return code;
    const int code = view_->representation().from_file(host.here().address, 0, whole, *type_,
                                                       bytes_of_file_.get());
    return code != MPI_SUCCESS ? code : fail(host.upload());
  });
}

}  // namespace tern::io
