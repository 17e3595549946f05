// SPDX-License-Identifier: Apache-2.0
// Data with holes, or without a handle, passes in chunks through a block of the same device. After
// the RTS the transfer needs no call of the sender.
// ranks: 2
// configurations: 1 4-peers 2-apart
#include <unistd.h>

#include "allocators.hpp"

using namespace tern::test;

namespace {

constexpr size_t kPiece = 524288;

MPI_Datatype columns;

struct Shape {
  const char* name;
  const Allocator& by;
  bool holes;
  [[nodiscard]] MPI_Datatype type() const { return holes ? columns : MPI_INT; }
  [[nodiscard]] size_t packed_unit() const { return holes ? 16 : 4; }
  [[nodiscard]] size_t unit() const { return holes ? 24 : 4; }
};
const Shape kShapes[] = {{"holes", kAllocators[0], true},
                         {"no handle", kAllocators[2], false},
                         {"holes, no handle", kAllocators[2], true}};

std::vector<uint8_t> packed(const std::vector<uint8_t>& data, const Shape& shape) {
  if (!shape.holes) return data;
  std::vector<uint8_t> dense;
  for (size_t at = 0; at + shape.unit() <= data.size(); at += shape.unit())
    dense.insert(dense.end(), data.begin() + static_cast<long>(at),
                 data.begin() + static_cast<long>(at + shape.packed_unit()));
  return dense;
}

void send(const Shape& shape, int count, int to) {
  const size_t bytes = static_cast<size_t>(count) * shape.unit();
  const Area area = shape.by.make(bytes);
  area.put(bytes_of(bytes, static_cast<unsigned>(count)));
  OK(MPI_Send(area.address(), count, shape.type(), to, 0, MPI_COMM_WORLD));
}

void receive(const Shape& shape, int count, size_t room, bool to_host) {
  auto want = packed(
      bytes_of(static_cast<size_t>(count) * shape.unit(), static_cast<unsigned>(count)), shape);
  const bool truncated = want.size() > room;
  if (truncated) want.resize(room);
  std::vector<uint8_t> host(to_host ? room : 0, 0);
  const Area area = kAllocators[0].make(to_host ? 4 : room);
  MPI_Status status;
  const int code = MPI_Recv(to_host ? host.data() : area.address(), static_cast<int>(room / 4),
                            MPI_INT, 1 - rank, 0, MPI_COMM_WORLD, &status);
  int error_class = MPI_SUCCESS, got = 0;
  OK(MPI_Error_class(code, &error_class));
  CHECK(error_class == (truncated ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
  OK(MPI_Get_count(&status, MPI_INT, &got));
  CHECK(static_cast<size_t>(got) * 4 == want.size());
  const auto have =
      to_host ? std::vector<uint8_t>(host.begin(), host.begin() + static_cast<long>(want.size()))
              : area.get(want.size());
  if (have != want)
    FAIL("%s, %d elements, room for %zu bytes, %s: wrong data", shape.name, count, room,
         to_host ? "on the host" : "on the device");
}

void sizes() {
  for (const Shape& shape : kShapes)
    for (const size_t bytes : {size_t{100000}, kPiece + 16, 3 * kPiece, 9 * kPiece + 48}) {
      const int count = static_cast<int>(bytes / shape.packed_unit());
      const size_t total = static_cast<size_t>(count) * shape.packed_unit();
      for (const size_t room : {total + 400, total / 2 / 4 * 4})
        for (const bool to_host : {false, true})
          if (rank == 0)
            send(shape, count, 1);
          else
            receive(shape, count, room, to_host);
    }
}

void to_self() {
  const Shape& shape = kShapes[2];
  const size_t bytes = 4 * kPiece / 24 * 24;
  const int count = static_cast<int>(bytes / 24);
  const Area from = shape.by.make(bytes), to = kAllocators[0].make(bytes);
  const auto data = bytes_of(bytes, 77);
  from.put(data);
  to.put(std::vector<uint8_t>(bytes, 0xEE));
  OK(MPI_Sendrecv(from.address(), count, columns, rank, 1, to.address(), count, columns, rank, 1,
                  MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  const auto now = to.get(bytes);
  CHECK(packed(now, shape) == packed(data, shape));
  for (size_t at = 0; at < bytes; ++at) CHECK(at % 24 < 16 || now[at] == 0xEE);
}

void sender_away(const char* file) {
  const Shape& shape = kShapes[2];
  const int count = static_cast<int>(3 * kPiece / 16);
  if (rank == 0) {
    const size_t bytes = static_cast<size_t>(count) * 24;
    const Area area = shape.by.make(bytes);
    area.put(bytes_of(bytes, static_cast<unsigned>(count)));
    MPI_Request request;
    OK(MPI_Isend(area.address(), count, columns, 1, 0, MPI_COMM_WORLD, &request));
    constexpr int kTimeout = 10000;
    int waited = 0;
    while (access(file, F_OK) != 0 && ++waited < kTimeout) usleep(1000);
    CHECK(waited < kTimeout);
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    receive(shape, count, static_cast<size_t>(count) * 16, false);
    FILE* const told = std::fopen(file, "w");
    CHECK(told != nullptr);
    std::fclose(told);
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) unlink(file);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  start_cuda();
  MPI_Datatype line;
  OK(MPI_Type_vector(1, 4, 6, MPI_INT, &line));
  OK(MPI_Type_create_resized(line, 0, 24, &columns));
  OK(MPI_Type_commit(&columns));
  OK(MPI_Type_free(&line));
  const auto before = alive();
  sizes();
  to_self();
  char file[64];
  int pid = getpid();
  OK(MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD));
  std::snprintf(file, sizeof file, "/tmp/tern-pieces-%d", pid);
  const char* const peers = std::getenv("SOFTCUDA_PEERS");
  const bool apart = peers != nullptr && std::strcmp(peers, "NONE") == 0;
  if (!apart) sender_away(file);
  if (control().there() && rank == 1 && !apart) CHECK(control().calls("cuIpcOpenEventHandle") > 0);
  OK(MPI_Type_free(&columns));
  OK(MPI_Finalize());
  check_alive(before);
  return 0;
}
