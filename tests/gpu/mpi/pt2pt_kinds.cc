// SPDX-License-Identifier: Apache-2.0
// Messages between every two kinds of memory: sizes, modes, wildcards, truncation, probes,
// persistent requests, holes.
// ranks: 2
// configurations: 1 4-peers 2-apart jitter
// full-configurations: 12.0
#include "memory.hpp"

using namespace tern::test;

namespace {

const size_t kSizes[] = {0, 1, 8, 4097, 8192, 8193, 70000, 1000003};

void every_size(Kind from, Kind to, int peer) {
  for (const size_t bytes : kSizes) {
    const auto sent = bytes_of(bytes, static_cast<unsigned>(bytes));
    const int count = static_cast<int>(bytes);
    if (rank == 0) {
      Area memory(from, bytes + 3);
      memory.put(sent.data(), bytes, 3);
      OK(MPI_Send(memory.address(3), count, MPI_BYTE, peer, 1, MPI_COMM_WORLD));
      OK(MPI_Ssend(memory.address(3), count, MPI_BYTE, peer, 2, MPI_COMM_WORLD));
    } else {
      Area memory(to, bytes + 5);
      for (const int tag : {1, 2}) {
        MPI_Status status;
        const auto before = bytes_of(bytes + 5, 99);
        memory.put(before.data(), bytes + 5);
        OK(MPI_Recv(memory.address(4), count, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD,
                    &status));
        int received = -1;
        OK(MPI_Get_count(&status, MPI_BYTE, &received));
        CHECK_EQ(received, count);
        std::vector<uint8_t> got(bytes + 5);
        memory.get(got.data(), bytes + 5);
        for (size_t i = 0; i < bytes + 5; ++i) {
          const uint8_t want = i >= 4 && i < bytes + 4 ? sent[i - 4] : before[i];
          if (got[i] != want)
            FAIL("%s to %s, %zu bytes, tag %d: byte %zu is %d, expected %d", name_of(from),
                 name_of(to), bytes, tag, i, got[i], want);
        }
      }
    }
  }
}

void outstanding(Kind from, Kind to, int peer) {
  constexpr int kMessages = 6;
  constexpr size_t kBytes = 150001;
  const int partner = rank == 0 ? peer : 0;
  std::vector<MPI_Request> requests;
  std::vector<Area*> memory;
  for (int i = 0; i < kMessages; ++i) {
    memory.push_back(new Area(from, kBytes));
    memory.back()->put(bytes_of(kBytes, static_cast<unsigned>(i + rank * 10)).data(), kBytes);
  }
  for (int i = 0; i < kMessages; ++i) {
    MPI_Request request;
    OK(MPI_Isend(memory[static_cast<size_t>(i)]->address(), kBytes, MPI_BYTE, partner, i,
                 MPI_COMM_WORLD, &request));
    requests.push_back(request);
  }
  for (int i = kMessages - 1; i >= 0; --i) {
    memory.push_back(new Area(to, kBytes));
    MPI_Request request;
    OK(MPI_Irecv(memory.back()->address(), kBytes, MPI_BYTE, partner, i, MPI_COMM_WORLD, &request));
    requests.push_back(request);
  }
  OK(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE));
  for (int i = 0; i < kMessages; ++i) {
    std::vector<uint8_t> got(kBytes);
    memory[static_cast<size_t>(2 * kMessages - 1 - i)]->get(got.data(), kBytes);
    CHECK(got == bytes_of(kBytes, static_cast<unsigned>(i + partner * 10)));
  }
  for (Area* one : memory) delete one;
}

void truncated(Kind from, Kind to, int peer) {
  for (const int bytes : {100, 200000}) {
    if (rank == 0) {
      Area memory(from, static_cast<size_t>(bytes));
      memory.put(bytes_of(static_cast<size_t>(bytes), 1).data(), static_cast<size_t>(bytes));
      OK(MPI_Send(memory.address(), bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD));
    } else {
      Area memory(to, static_cast<size_t>(bytes));
      FAILS(
          MPI_Recv(memory.address(), bytes / 2, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
          MPI_ERR_TRUNCATE);
    }
  }
}

void matched_and_persistent(Kind from, Kind to, int peer) {
  constexpr int kBytes = 33333;
  const auto sent = bytes_of(kBytes, 5);
  Area memory(rank == 0 ? from : to, kBytes);
  MPI_Request request;
  if (rank == 0) {
    memory.put(sent.data(), kBytes);
    OK(MPI_Send_init(memory.address(), kBytes, MPI_BYTE, peer, 3, MPI_COMM_WORLD, &request));
    for (int i = 0; i < 3; ++i) {
      OK(MPI_Start(&request));
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    OK(MPI_Request_free(&request));
  } else {
    MPI_Message message;
    MPI_Status status;
    OK(MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, &status));
    OK(MPI_Mrecv(memory.address(), kBytes, MPI_BYTE, &message, &status));
    OK(MPI_Recv_init(memory.address(), kBytes, MPI_BYTE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &request));
    for (int i = 0; i < 2; ++i) {
      OK(MPI_Start(&request));
      OK(MPI_Wait(&request, &status));
      CHECK_EQ(status.MPI_TAG, 3);
    }
    OK(MPI_Request_free(&request));
    std::vector<uint8_t> got(kBytes);
    memory.get(got.data(), kBytes);
    CHECK(got == sent);
  }
}

void with_holes(Kind from, Kind to, int peer) {
  for (const int rows : {10, 3000})
    for (const int form : {0, 1, 2}) {
      constexpr int kWidth = 20, kEvery = 32;
      const auto span = static_cast<size_t>(rows * kEvery);
      const bool holes = form == 2 || form == (rank == 0 ? 0 : 1);
      MPI_Datatype type;
      OK(MPI_Type_vector(rows, kWidth, holes ? kEvery : kWidth, MPI_BYTE, &type));
      OK(MPI_Type_commit(&type));
      Area memory(rank == 0 ? from : to, span);
      const auto source = bytes_of(span, 3);
      const auto before = bytes_of(span, 77);
      memory.put((rank == 0 ? source : before).data(), span);
      if (rank == 0) {
        OK(MPI_Send(memory.address(), 1, type, peer, 1, MPI_COMM_WORLD));
      } else {
        OK(MPI_Recv(memory.address(), 1, type, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        std::vector<uint8_t> got(span);
        memory.get(got.data(), span);
        const bool sender_holes = form != 1;
        for (int i = 0; i < rows * (holes ? kEvery : kWidth); ++i) {
          const int row = holes ? i / kEvery : i / kWidth, byte = holes ? i % kEvery : i % kWidth;
          const size_t there = static_cast<size_t>(row * (sender_holes ? kEvery : kWidth) + byte);
          const uint8_t want = byte < kWidth ? source[there] : before[static_cast<size_t>(i)];
          if (got[static_cast<size_t>(i)] != want)
            FAIL("%s to %s, %d rows, form %d: byte %d is %d, expected %d", name_of(from),
                 name_of(to), rows, form, i, got[static_cast<size_t>(i)], want);
        }
      }
      OK(MPI_Type_free(&type));
    }
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  start_cuda();
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  const int peer = size - 1;
  if (rank == 0 || rank == peer)
    for (const Kind from : kKinds)
      for (const Kind to : kKinds) {
        every_size(from, to, peer);
        outstanding(from, to, peer);
        truncated(from, to, peer);
        matched_and_persistent(from, to, peer);
        with_holes(from, to, peer);
      }
  return end();
}
