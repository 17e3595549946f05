// SPDX-License-Identifier: Apache-2.0
// Some PCIe switches map a peer device's memory but deliver wrong data. Messages and windows are
// correct, and Tern prints the reason for the path through the host once.
// ranks: 2 3
// configurations: lies 4-peers
// timeout: 60
#include "memory.hpp"
#include "said.hpp"

using namespace tern::test;

namespace {

constexpr const char* kWhy = "reads wrong data";

void message(size_t bytes) {
  const Area out(Kind::kDevice, bytes), in(Kind::kDevice, bytes);
  const int left = (rank + size - 1) % size, right = (rank + 1) % size;
  std::vector<uint8_t> got(bytes);
  for (int round = 0; round < 3; ++round) {
    out.put(bytes_of(bytes, static_cast<unsigned>(rank * 10 + round)));
    OK(MPI_Sendrecv(out.address(), static_cast<int>(bytes), MPI_BYTE, right, 1, in.address(),
                    static_cast<int>(bytes), MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    in.get(got.data(), bytes);
    CHECK(got == bytes_of(bytes, static_cast<unsigned>(left * 10 + round)));
  }
}

void window(size_t bytes) {
  const Area shared(Kind::kDevice, bytes), in(Kind::kDevice, bytes);
  const int left = (rank + size - 1) % size;
  std::vector<uint8_t> got(bytes);
  shared.put(bytes_of(bytes, static_cast<unsigned>(rank + 1)));
  MPI_Win win = MPI_WIN_NULL;
  OK(MPI_Win_create(shared.address(), static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL,
                    MPI_COMM_WORLD, &win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Get(in.address(), static_cast<int>(bytes), MPI_BYTE, left, 0, static_cast<int>(bytes),
             MPI_BYTE, win));
  OK(MPI_Win_fence(0, win));
  in.get(got.data(), bytes);
  CHECK(got == bytes_of(bytes, static_cast<unsigned>(left + 1)));
  OK(MPI_Win_free(&win));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  std::string said;
  {
    const Heard heard;
    for (const size_t bytes : {size_t{1}, size_t{5000}, size_t{300001}, size_t{3000017}})
      message(bytes);
    window(1000003);
    said = heard.text();
  }
  const char* const machine = getenv("SOFTCUDA_PEERS");
  const bool lie = machine != nullptr && std::string(machine) == "LIES" && devices > 1;
  const size_t first = said.find(kWhy);
  if (lie && rank < devices && first == said.npos) FAIL("the link must be named: %s", said.c_str());
  if (!lie && first != said.npos) FAIL("no link is bad here: %s", said.c_str());
  if (first != said.npos && said.find(kWhy, first + 1) != said.npos)
    FAIL("expected one report: %s", said.c_str());
  return end();
}
