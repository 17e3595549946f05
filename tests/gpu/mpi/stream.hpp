// SPDX-License-Identifier: Apache-2.0
// A program's stream with a communicator. Data copies stay in the stream without a wait, so a call
// out of stream order finds wrong data.
#pragma once

#include <string>

#include "allocators.hpp"
#include "mpix.h"

#define SAYS(call, error_class, words)                                                  \
  do {                                                                                  \
    const int said_ = (call);                                                           \
    if (class_of(said_) != (error_class) ||                                             \
        std::string(error_text(said_)).find(words) == std::string::npos)                \
      FAIL("%s gives class %d, \"%s\", expected %s and \"%s\"", #call, class_of(said_), \
           error_text(said_), #error_class, words);                                     \
  } while (0)

namespace tern::test {

class OnStream {
 public:
  explicit OnStream(MPI_Comm parent = MPI_COMM_WORLD, int priority = 0) {
    CU(cuStreamCreateWithPriority(&queue, CU_STREAM_NON_BLOCKING, priority));
    make(parent);
  }
  /// The stream must outlive the OnStream object.
  OnStream(MPI_Comm parent, CUstream of_program) : queue(of_program), is_own_(false) {
    make(parent);
  }
  OnStream(const OnStream&) = delete;
  OnStream& operator=(const OnStream&) = delete;
  ~OnStream() {
    if (comm != MPI_COMM_NULL) OK(MPI_Comm_free(&comm));
    if (stream != MPIX_STREAM_NULL) OK(MPIX_Stream_free(&stream));
    sync();
    if (is_own_) CU(cuStreamDestroy_v2(queue));
  }
  void sync() const { CU(cuStreamSynchronize(queue)); }

  CUstream queue = nullptr;
  MPIX_Stream stream = MPIX_STREAM_NULL;
  MPI_Comm comm = MPI_COMM_NULL;

 private:
  void make(MPI_Comm parent) {
    MPI_Info info = MPI_INFO_NULL;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "type", "cudaStream_t"));
    OK(MPIX_Info_set_hex(info, "value", &queue, sizeof queue));
    OK(MPIX_Stream_create(info, &stream));
    OK(MPI_Info_free(&info));
    OK(MPIX_Stream_comm_create(parent, stream, &comm));
  }
  bool is_own_ = true;
};

template <class T>
class Vector {
 public:
  explicit Vector(size_t count)
      : count_(count),
        device_(plain(std::max<size_t>(1, count) * sizeof(T))),
        host_(pinned(std::max<size_t>(1, count) * sizeof(T))) {}
  [[nodiscard]] T* on_device() const { return static_cast<T*>(device_.address()); }
  [[nodiscard]] T& operator[](size_t i) { return static_cast<T*>(host_.address())[i]; }
  void put(CUstream queue) const {
    if (count_ > 0) CU(cuMemcpyHtoDAsync_v2(device_.at, host_.address(), bytes(), queue));
  }
  void get(CUstream queue) const {
    if (count_ > 0) CU(cuMemcpyDtoHAsync_v2(host_.address(), device_.at, bytes(), queue));
  }
  void spoil(CUstream queue) const {
    if (count_ > 0) CU(cuMemsetD8Async(device_.at, 0x5a, bytes(), queue));
  }
  [[nodiscard]] size_t bytes() const { return count_ * sizeof(T); }

 private:
  size_t count_;
  Area device_, host_;
};

inline void check_allreduce(CUstream queue, MPI_Comm comm, size_t ints) {
  Vector<int> data(ints);
  for (size_t i = 0; i < ints; ++i) data[i] = rank * 1000 + static_cast<int>(i % 997);
  data.put(queue);
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), static_cast<int>(ints), MPI_INT,
                            MPI_SUM, comm));
  data.get(queue);
  CU(cuStreamSynchronize(queue));
  for (size_t i = 0; i < ints; ++i) {
    const int sum = size * (size - 1) / 2 * 1000 + size * static_cast<int>(i % 997);
    if (data[i] != sum) FAIL("%zu ints: element %zu is %d, expected %d", ints, i, data[i], sum);
  }
}
inline void check_allreduce(const OnStream& on, size_t ints) {
  check_allreduce(on.queue, on.comm, ints);
}

}  // namespace tern::test
