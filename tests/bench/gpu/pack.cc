// SPDX-License-Identifier: Apache-2.0
// MPI_Pack and MPI_Unpack of rows in device memory, against one copy on the device of as many
// bytes.
#include <string>

#include "gpu.hpp"

using namespace tern::bench;

namespace {

void rows(size_t width, size_t bytes) {
  const int count = static_cast<int>(bytes / width);
  MPI_Datatype type;
  OK(MPI_Type_vector(count, static_cast<int>(width), static_cast<int>(2 * width), MPI_BYTE, &type));
  OK(MPI_Type_commit(&type));
  Area spread(Kind::kDevice, 2 * bytes), dense(Kind::kDevice, bytes);
  const int room = static_cast<int>(bytes);
  const double packing = seconds_of(10, [&] {
    int position = 0;
    OK(MPI_Pack(spread.address(), 1, type, dense.address(), room, &position, MPI_COMM_SELF));
  });
  const double unpacking = seconds_of(10, [&] {
    int position = 0;
    OK(MPI_Unpack(dense.address(), room, &position, spread.address(), 1, type, MPI_COMM_SELF));
  });
  const std::string of = "_rows_of_" + std::to_string(width);
  const auto moved = static_cast<double>(bytes);
  report(("pack" + of).c_str(), bytes, moved / packing / 1e9, "GB/s");
  report(("unpack" + of).c_str(), bytes, moved / unpacking / 1e9, "GB/s");
  OK(MPI_Type_free(&type));
}

void copies(size_t bytes) {
  Area from(Kind::kDevice, bytes), to(Kind::kDevice, bytes);
  const double seconds = seconds_of(10, [&] {
    CU(cuMemcpyDtoDAsync_v2(to.at, from.at, bytes, stream));
    CU(cuStreamSynchronize(stream));
  });
  report("pack_copy", bytes, static_cast<double>(bytes) / seconds / 1e9, "GB/s");
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  for (const size_t width : {8, 64, 256, 4096}) rows(width, large());
  copies(large());
  return finish();
}
