// SPDX-License-Identifier: Apache-2.0
#include "stream_comm.hpp"

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstdlib>
#include <string_view>

#include "device_queue.hpp"
#include "errors.hpp"
#include "extensions.hpp"

namespace torch_tern {

namespace {

// Older PyTorch hides native handles.
template <class Guard>
constexpr bool can_name_streams() {
  return requires(const Guard& guard, const c10::Stream& stream) {
    guard.getStreamNativeHandle(stream);
  };
}

template <class Guard>
void* native_handle(const Guard& guard, const c10::Stream& stream) {
  if constexpr (can_name_streams<Guard>()) {
    return guard.getStreamNativeHandle(stream);
  }
  return nullptr;
}

bool is_turned_off() {
  const char* const word = std::getenv("TORCH_TERN_ENQUEUE");
  return word && std::string_view(word) == "0";
}

StreamHandle make_stream(const c10::Stream& stream, std::string& why_none) {
  StreamHandle made = reinterpret_cast<StreamHandle>(kNoStream);
  void* const handle = native_handle(*c10::impl::getDeviceGuardImpl(stream.device_type()), stream);
  MPI_Info info = MPI_INFO_NULL;
  check(MPI_Info_create(&info));
  check(MPI_Info_set(info, "type", "cudaStream_t"));
  check(extensions().info_set_hex(info, "value", &handle, sizeof handle));
  const int code = extensions().stream_create(info, &made);
  MPI_Info_free(&info);
  if (code != MPI_SUCCESS) {
    why_none = sentence(code);
    made = reinterpret_cast<StreamHandle>(kNoStream);
  }
  return made;
}

}  // namespace

std::string StreamComm::why_impossible(const c10::Device&) {
  static const std::string why = [] {
    if (is_turned_off()) {
      return "TORCH_TERN_ENQUEUE=0 disables enqueued collectives";
    }
    if (!can_name_streams<c10::impl::DeviceGuardImplInterface>()) {
      return "this PyTorch does not expose stream handles";
    }
    return extensions().have_streams() ? "" : "this libmpi_abi.so.1 has no MPIX_Allreduce_enqueue";
  }();
  return why;
}

StreamComm::StreamComm(MPI_Comm comm, const c10::Device& device) : device_(device) {
  const c10::Stream own = new_stream(device);
  StreamHandle stream = make_stream(own, why_no_stream_);
  const bool has_stream = reinterpret_cast<std::uintptr_t>(stream) != kNoStream;
  const int code = extensions().stream_comm_create(comm, stream, &comm_);
  if (has_stream) {
    extensions().stream_free(&stream);
    stream_ = own;
  }
  check(code);
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN));
}

StreamComm::~StreamComm() {
  if (comm_ != MPI_COMM_NULL) {
    MPI_Comm_free(&comm_);
  }
}

}  // namespace torch_tern
