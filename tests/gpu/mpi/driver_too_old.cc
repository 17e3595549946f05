// SPDX-License-Identifier: Apache-2.0
// With a driver too old for Tern, calls refuse device memory with the reason, and host memory
// works.
// ranks: 2
// configurations: 11.8
#include <string>

#include "memory.hpp"

using namespace tern::test;

namespace {

std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  OK(MPI_Error_string(code, text, &length));
  return text;
}

void refused(int code) {
  int error_class = MPI_SUCCESS;
  OK(MPI_Error_class(code, &error_class));
  CHECK_EQ(error_class, MPI_ERR_BUFFER);
}

void refused_with_reason(int code) {
  refused(code);
  const std::string text = text_of(code);
  for (const char* const words : {"the buffer is device memory", "CUDA 11.8", "CUDA 12.0"})
    if (text.find(words) == std::string::npos) FAIL("\"%s\" is not in: %s", words, text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  CUdeviceptr memory = 0;
  CU(cuMemAlloc_v2(&memory, 1 << 20));
  void* const device = reinterpret_cast<void*>(memory);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int other = 1 - rank;
  for (const int bytes : {4, 1 << 20}) {
    refused_with_reason(MPI_Send(device, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD));
    // The sender's failure may arrive first.
    refused(MPI_Recv(device, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  int in = rank, out = -1;
  OK(MPI_Sendrecv(&in, 1, MPI_INT, other, 1, &out, 1, MPI_INT, other, 1, MPI_COMM_WORLD,
                  MPI_STATUS_IGNORE));
  CHECK_EQ(out, other);
  std::string large(1 << 20, static_cast<char>('a' + rank)), came(1 << 20, ' ');
  OK(MPI_Sendrecv(large.data(), 1 << 20, MPI_BYTE, other, 2, came.data(), 1 << 20, MPI_BYTE, other,
                  2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  CHECK_EQ(came[12345], 'a' + other);
  CU(cuMemFree_v2(memory));
  return end();
}
