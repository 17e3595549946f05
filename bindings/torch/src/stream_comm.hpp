// SPDX-License-Identifier: Apache-2.0
// A group's communicator and PyTorch stream for enqueued collectives (MPIX_Allreduce_enqueue).
// Why: the host never blocks, and graphs can capture the calls.
// Lifetime: from the group's first collective on a device. Enqueued work outlives the object.
// Threads: any, after the constructor.
#ifndef TORCH_TERN_STREAM_COMM_HPP
#define TORCH_TERN_STREAM_COMM_HPP

#include <mpi.h>

#include <c10/core/Stream.h>

#include <optional>
#include <string>

namespace torch_tern {

class StreamComm {
 public:
  // Ranks agree if libmpi_abi.so.1, PyTorch and TORCH_TERN_ENQUEUE (0 disables streams) are equal.
  static bool is_possible(const c10::Device& device) { return why_impossible(device).empty(); }
  static std::string why_impossible(const c10::Device& device);

  // The constructor is collective over `comm`.
  StreamComm(MPI_Comm comm, const c10::Device& device);
  ~StreamComm();
  StreamComm(const StreamComm&) = delete;
  StreamComm& operator=(const StreamComm&) = delete;

  MPI_Comm comm() const { return comm_; }
  const c10::Device& device() const { return device_; }
  // stream() is empty if the driver provides no stream. Calls then complete before return, and
  // match enqueued calls of other ranks.
  const std::optional<c10::Stream>& stream() const { return stream_; }
  const std::string& why_no_stream() const { return why_no_stream_; }

 private:
  const c10::Device device_;
  std::optional<c10::Stream> stream_;
  std::string why_no_stream_;
  MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace torch_tern

#endif
