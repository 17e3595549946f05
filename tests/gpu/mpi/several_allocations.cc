// SPDX-License-Identifier: Apache-2.0
// Datatypes of absolute addresses across several device allocations, also with copies still in
// flight. All ranks refuse a type across host and device, or across two devices, and name both
// places.
// ranks: 2
// configurations: 1 4-peers 2-apart mps
// env: SOFTCUDA_LATE=1000
// timeout: 120
#include <cstring>

#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr size_t kParts = 3;
const MPI_Comm kComm = MPI_COMM_WORLD;

MPI_Datatype type_of(const std::vector<const void*>& places, size_t bytes) {
  std::vector<MPI_Aint> displacements;
  for (const void* place : places) OK(MPI_Get_address(place, &displacements.emplace_back()));
  MPI_Datatype type = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_hindexed_block(static_cast<int>(places.size()), static_cast<int>(bytes),
                                    displacements.data(), MPI_BYTE, &type));
  OK(MPI_Type_commit(&type));
  return type;
}

struct Parts {
  std::vector<Area> areas;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Parts(const Allocator& by, size_t bytes) {
    std::vector<const void*> places;
    for (size_t i = 0; i < kParts; ++i) {
      areas.push_back(by.make(bytes));
      places.push_back(areas.back().address());
    }
    type = type_of(places, bytes);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;
  ~Parts() { MPI_Type_free(&type); }
  [[nodiscard]] std::vector<uint8_t> get(size_t bytes) const {
    std::vector<uint8_t> all;
    for (const Area& area : areas) {
      const auto part = area.get(bytes);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
};

std::vector<uint8_t> expected(int of, size_t bytes, unsigned round) {
  std::vector<uint8_t> all;
  for (unsigned i = 0; i < kParts; ++i) {
    const auto part = bytes_of(bytes, static_cast<unsigned>(of) * 100 + round * 10 + i);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

/// Device copies return early.
void write_late(const Parts& parts, const std::vector<uint8_t>& data, const Area& aside) {
  aside.put(data);
  CU(cuCtxSynchronize());
  const size_t bytes = data.size() / kParts;
  for (size_t i = 0; i < kParts; ++i)
    CU(cuMemcpyDtoD_v2(parts.areas[i].at, aside.at + i * bytes, bytes));
}

enum Call { kMessage, kSendrecv, kBcast, kAllgather, kAlltoall, kCalls };
const char* const kNames[] = {"message", "sendrecv", "bcast", "allgather", "alltoall"};

void move(Call call, const Parts& parts, std::vector<uint8_t>* gathered) {
  const int bytes = static_cast<int>(gathered->size()) / size;
  const auto packed = [&](int from) { return gathered->data() + from * bytes; };
  switch (call) {
    case kMessage:
      if (rank == 0)
        OK(MPI_Send(MPI_BOTTOM, 1, parts.type, 1, 0, kComm));
      else
        OK(MPI_Recv(MPI_BOTTOM, 1, parts.type, 0, 0, kComm, MPI_STATUS_IGNORE));
      return;
    case kSendrecv:
      OK(MPI_Sendrecv(MPI_BOTTOM, 1, parts.type, 1 - rank, 0, packed(1 - rank), bytes, MPI_BYTE,
                      1 - rank, 0, kComm, MPI_STATUS_IGNORE));
      return;
    case kBcast:
      OK(MPI_Bcast(MPI_BOTTOM, 1, parts.type, 0, kComm));
      return;
    case kAllgather:
      OK(MPI_Allgather(MPI_BOTTOM, 1, parts.type, gathered->data(), bytes, MPI_BYTE, kComm));
      return;
    default:
      int counts[] = {1, 1}, places[] = {0, 0}, bytes_each[] = {bytes, bytes},
          begins[] = {0, bytes};
      OK(MPI_Alltoallv(MPI_BOTTOM, counts, places, parts.type, gathered->data(), bytes_each, begins,
                       MPI_BYTE, kComm));
  }
}

void round(const Allocator& by, Call call, const Parts& parts, size_t bytes, unsigned number) {
  const Area aside = plain(bytes * kParts);
  const auto mine = expected(rank, bytes, number), theirs = expected(1 - rank, bytes, number);
  std::vector<uint8_t> gathered(bytes * kParts * 2);
  write_late(parts, mine, aside);
  move(call, parts, &gathered);
  const bool received = rank == 1 && (call == kMessage || call == kBcast);
  const bool to_host = call == kSendrecv || call == kAllgather || call == kAlltoall;
  const auto* const part = gathered.data() + static_cast<size_t>(1 - rank) * bytes * kParts;
  if (to_host && std::memcmp(part, theirs.data(), theirs.size()) != 0)
    FAIL("%s, %s of 3 x %zu bytes, round %u: not the last written data", by.name, kNames[call],
         bytes, number);
  CU(cuCtxSynchronize());
  if (parts.get(bytes) != (received ? theirs : mine))
    FAIL("%s, %s of 3 x %zu bytes, round %u: the parts have changed", by.name, kNames[call], bytes,
         number);
}

void enqueue(size_t bytes) {
  const OnStream on;
  const Parts parts({"cudaMalloc", plain}, bytes);
  for (unsigned number = 0; number < 2; ++number) {
    const auto mine = expected(rank, bytes, number);
    for (size_t i = 0; i < kParts; ++i) parts.areas[i].put(mine.data() + i * bytes, bytes);
    CU(cuCtxSynchronize());
    if (number == 0)
      OK(MPIX_Bcast_enqueue(MPI_BOTTOM, 1, parts.type, 0, on.comm));
    else if (rank == 0)
      OK(MPIX_Send_enqueue(MPI_BOTTOM, 1, parts.type, 1, 0, on.comm));
    else
      OK(MPIX_Recv_enqueue(MPI_BOTTOM, 1, parts.type, 0, 0, on.comm, MPI_STATUS_IGNORE));
    on.sync();
    if (parts.get(bytes) != expected(0, bytes, number))
      FAIL("enqueued, 3 x %zu bytes, round %u: not the data of rank 0", bytes, number);
  }
}

void refused(const char* what, const std::vector<const void*>& places, size_t bytes) {
  MPI_Datatype type = type_of(places, bytes);
  std::vector<char> packed(bytes * places.size());
  const int length = static_cast<int>(packed.size());
  int position = 0;
  const int other = 1 - rank;
  const int code = MPI_Send(MPI_BOTTOM, 1, type, other, 0, kComm);
  if (class_of(code) != MPI_ERR_BUFFER) FAIL("%s: MPI_Send gives %s", what, error_text(code));
  if (std::strstr(error_text(code), "reaches from") == nullptr)
    FAIL("%s: \"%s\" does not say why", what, error_text(code));
  FAILS(MPI_Recv(MPI_BOTTOM, 1, type, other, 0, kComm, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
  FAILS(MPI_Pack(MPI_BOTTOM, 1, type, packed.data(), length, &position, kComm), MPI_ERR_BUFFER);
  FAILS(MPI_Unpack(packed.data(), length, &position, MPI_BOTTOM, 1, type, kComm), MPI_ERR_BUFFER);
  const int bcast = rank == 0 ? MPI_Bcast(MPI_BOTTOM, 1, type, 0, kComm)
                              : MPI_Bcast(packed.data(), length, MPI_BYTE, 0, kComm);
  if (std::strstr(error_text(bcast), "reaches from") == nullptr)
    FAIL("%s: MPI_Bcast gives %s", what, error_text(bcast));
  OK(MPI_Type_free(&type));
}

void refuse(size_t bytes) {
  const Area host = plain_host(bytes), pin = pinned(bytes), here = plain(bytes);
  OK(MPI_Comm_set_errhandler(kComm, MPI_ERRORS_RETURN));
  refused("host and device", {host.address(), here.address()}, bytes);
  refused("device and host", {here.address(), host.address()}, bytes);
  refused("pinned memory and a device", {pin.address(), here.address()}, bytes);
  if (devices > 1) {
    const Area there = on_other_device(bytes);
    refused("two devices", {here.address(), there.address()}, bytes);
  }
  OK(MPI_Comm_set_errhandler(kComm, MPI_ERRORS_ARE_FATAL));
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  const Allocator makers[] = {
      {"cudaMalloc", plain},
      {"managed", managed},
      {"default pool", default_pool},
      {"cuMemCreate", [](size_t bytes) { return mapped(bytes, 1, kFd, kFd); }}};
  for (const Allocator& by : makers)
    for (const size_t bytes : {size_t{40}, size_t{65536}, size_t{1} << 20}) {
      const Parts parts(by, bytes);
      for (int call = 0; call < kCalls; ++call)
        for (unsigned number = 0; number < 2; ++number)
          round(by, static_cast<Call>(call), parts, bytes, number);
    }
  for (const size_t bytes : {size_t{40}, size_t{65536}, size_t{1} << 20}) enqueue(bytes);
  for (const size_t bytes : {size_t{40}, size_t{100000}}) refuse(bytes);
  return end();
}
