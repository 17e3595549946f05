// SPDX-License-Identifier: Apache-2.0
// Each driver function of a protocol fails once, at the first and at a later call, on sender and
// receiver. Every MPI call returns, successful calls deliver correct data, and nothing leaks.
// ranks: 2
// configurations: 1
// full-configurations: 2-apart
// timeout: 150
#include "faults.hpp"

using namespace tern::test;

namespace {

int codes[4];
int step = 0;
long long not_given_back = 0;

// New memory repeats the first-use steps in each round.
struct Round {
  Area in, out;
  size_t bytes;
  unsigned seed;
  explicit Round(const Allocator& by, size_t length) : in(by.make(length)), out(by.make(length)) {
    bytes = length;
    seed = static_cast<unsigned>(++step);
    in.put(bytes_of(bytes, seed + static_cast<unsigned>(rank)));
    CU(cuCtxSynchronize());
  }
  [[nodiscard]] bool right(const std::vector<uint8_t>& want) const {
    return out.get(want.size()) == want;
  }
};

struct Protocol {
  const char* name;
  const Allocator& by;
  size_t bytes;
  int (*run)(const Round& round);
  bool (*right)(const Round& round);
};

int message(const Round& round) {
  const int count = static_cast<int>(round.bytes);
  return rank == 0 ? MPI_Send(round.in.address(), count, MPI_BYTE, 1, 0, MPI_COMM_WORLD)
                   : MPI_Recv(round.out.address(), count, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE);
}
bool message_right(const Round& round) {
  return rank == 0 || round.right(bytes_of(round.bytes, round.seed));
}

MPI_Datatype columns;
int packed(const Round& round) {
  const int count = static_cast<int>(round.bytes / 24);
  return rank == 0 ? MPI_Send(round.in.address(), count, columns, 1, 0, MPI_COMM_WORLD)
                   : MPI_Recv(round.out.address(), count * 4, MPI_INT, 0, 0, MPI_COMM_WORLD,
                              MPI_STATUS_IGNORE);
}
bool packed_right(const Round& round) {
  const auto sent = bytes_of(round.bytes, round.seed);
  std::vector<uint8_t> want;
  for (size_t at = 0; at + 24 <= round.bytes; at += 24)
    want.insert(want.end(), sent.begin() + static_cast<long>(at),
                sent.begin() + static_cast<long>(at + 16));
  return rank == 0 || round.right(want);
}

int reduction(const Round& round) {
  return MPI_Allreduce(round.in.address(), round.out.address(), static_cast<int>(round.bytes),
                       MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
}
bool reduction_right(const Round& round) {
  auto want = bytes_of(round.bytes, round.seed);
  const auto other = bytes_of(round.bytes, round.seed + 1);
  for (size_t i = 0; i < want.size(); ++i) want[i] = static_cast<uint8_t>(want[i] + other[i]);
  return round.right(want);
}

const Protocol kProtocols[] = {
    {"an eager message", kAllocators[0], 1000, message, message_right},
    {"a message by IPC", kAllocators[0], 1 << 20, message, message_right},
    {"a message from several mappings", kAllocators[6], 9 << 18, message, message_right},
    {"a message from a pool", kAllocators[3], 1 << 20, message, message_right},
    {"a message through pinned memory", kAllocators[2], 1 << 20, message, message_right},
    {"a packed message", kAllocators[0], 240000, packed, packed_right},
    {"a small reduction", kAllocators[0], 400, reduction, reduction_right},
    {"a large reduction", kAllocators[0], 400000, reduction, reduction_right},
};

void run_in_new_memory(const Protocol& protocol) {
  const Round round(protocol.by, protocol.bytes);
  OK(protocol.run(round));
}

// A failing release leaks one object.
bool gives_back(const std::string& fault) {
  for (const char* word : {"Destroy", "Free", "Unmap", "Release", "Close"})
    if (fault.find(word) != std::string::npos) return true;
  return false;
}

void check_left(const std::vector<long long>& before) {
  const auto now = alive();
  long long left = 0;
  for (size_t i = 0; i < now.size(); ++i) left += now[i] - before[i];
  if (left > not_given_back) check_alive(before);
}

void once(const Protocol& protocol, const std::string& fault, int at) {
  std::snprintf(doing, sizeof doing, "[rank %d] hangs or crashes: %s, %s at rank %d\n", rank,
                protocol.name, fault.c_str(), at);
  alarm(10);
  {
    const Round round(protocol.by, protocol.bytes);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == at) control().fault(fault.c_str());
    const int code = protocol.run(round);
    control().fault("");
    if (rank == at && gives_back(fault)) ++not_given_back;
    ++codes[code == MPI_SUCCESS ? 0 : 1];
    if (code == MPI_SUCCESS && !protocol.right(round))
      FAIL("%s, %s at rank %d: success with wrong data", protocol.name, fault.c_str(), at);
  }
  const Round round(protocol.by, protocol.bytes);
  const int code = protocol.run(round);
  if (code != MPI_SUCCESS || !protocol.right(round))
    FAIL("%s after %s at rank %d does not work: %s", protocol.name, fault.c_str(), at,
         error_text(code));
  alarm(0);
}

}  // namespace

int main(int argc, char** argv) {
  begin(&argc, &argv);
  if (!control().there()) return end() == 0 ? 77 : 1;
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  end_with_words();
  start_cuda();
  OK(MPI_Type_vector(1, 4, 6, MPI_INT, &columns));
  MPI_Datatype line = columns;
  OK(MPI_Type_create_resized(line, 0, 24, &columns));
  OK(MPI_Type_commit(&columns));
  OK(MPI_Type_free(&line));
  const auto before = alive();
  const char* const only = argc > 1 ? argv[1] : "";
  for (const Protocol& protocol : kProtocols)
    for (const int at : {0, 1})
      for (const std::string& fault : called(at, [&] { run_in_new_memory(protocol); }))
        for (const char* error : {"2", "999"})
          // A failing cuCtxGetId means a lost context (context_reset.cc).
          if (fault.find(only) == 0 && fault.find("cuCtxGetId") != 0)
            once(protocol, fault + error, at);
  OK(MPI_Type_free(&columns));
  if (std::getenv("FAULT_TELLS") != nullptr)
    std::printf("[rank %d] %d succeed, %d fail\n", rank, codes[0], codes[1]);
  OK(MPI_Finalize());
  check_left(before);
  return 0;
}
