// SPDX-License-Identifier: Apache-2.0
// A group's communicator for collectives that are put into a stream of a device
// (MPIX_Allreduce_enqueue and their like), and that stream, which is PyTorch's.
// Why: the host waits for nothing, and graphs can capture the calls. Lifetime: of its group, from
// the first collective on a device on; what is in the stream takes place when it is gone, too.
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
  // The same on all ranks, as long as they have one libmpi_abi.so.1, one PyTorch, and one value of
  // TORCH_TERN_ENQUEUE ("0" turns it off).
  static bool is_possible(const c10::Device& device) { return why_impossible(device).empty(); }
  static std::string why_impossible(const c10::Device& device);

  // Collective over `comm`.
  StreamComm(MPI_Comm comm, const c10::Device& device);
  ~StreamComm();
  StreamComm(const StreamComm&) = delete;
  StreamComm& operator=(const StreamComm&) = delete;

  MPI_Comm comm() const { return comm_; }
  const c10::Device& device() const { return device_; }
  // None where this rank's driver cannot: its calls are over when they return, and match those of
  // ranks that have one.
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
