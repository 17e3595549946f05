// SPDX-License-Identifier: Apache-2.0
// An enqueued allreduce uses the wire of the matching rule in TERN_COLL_TABLE. If the machine lacks
// the wire, the next rule applies, and TERN_EXPLAIN names the skipped rule and the reason. A
// communicator's hint and TERN_GPU_WIRE override the table.
// ranks: 2 3 4
// configurations: 4-peers weak pcie mps
// env: TERN_EXPLAIN=1
// variant: below
//   TERN_GPU_WIRE overrides the table's rules.
//   ranks: 3
//   configurations: 4-peers
//   env: TERN_EXPLAIN=1 TERN_GPU_WIRE=ll
#include <fcntl.h>

#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr const char* kTable =
    "allreduce any ..4k            two_shot wire simple\n"
    "allreduce any 4097..16k       one_shot wire ll128\n"
    "allreduce any 16385..64k      two_shot wire multimem\n"
    "allreduce any 16385..64k      one_shot wire ll\n"
    "allreduce any 1048577..2m     two_shot wire ll\n"
    "allreduce any 4m..            two_shot wire ll\n"
    "allreduce any 4m..            ring     streams\n";

std::string table_name() { return "/tmp/tern_stream_table." + std::to_string(getppid()); }

void write_table() {
  const std::string name = table_name(), mine = name + "." + std::to_string(getpid());
  const int file = open(mine.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (file < 0 || write(file, kTable, std::strlen(kTable)) < 0 || close(file) != 0 ||
      rename(mine.c_str(), name.c_str()) != 0)
    FAIL("%s cannot be written", name.c_str());
  setenv("TERN_COLL_TABLE", name.c_str(), 1);
}

void allreduce(const OnStream& on, size_t ints, MPI_Op op) {
  Vector<int> data(ints);
  const auto value = [](int of, size_t i) { return (of + 1) * (static_cast<int>(i % 97) + 1); };
  for (size_t i = 0; i < ints; ++i) data[i] = value(rank, i);
  data.put(on.queue);
  OK(MPIX_Allreduce_enqueue(MPI_IN_PLACE, data.on_device(), static_cast<int>(ints), MPI_INT, op,
                            on.comm));
  data.get(on.queue);
  on.sync();
  for (size_t i = 0; i < ints; ++i) {
    int want = value(0, i);
    for (int r = 1; r < size; ++r) want = op == MPI_SUM ? want + value(r, i) : want * value(r, i);
    if (data[i] != want) FAIL("%zu ints: element %zu is %d, expected %d", ints, i, data[i], want);
  }
}

class Expected {
 public:
  Expected(const OnStream& on, const Heard& heard) : on_(on), heard_(heard) {}

  /// In `words`, "LINE" stands for the table's name and ", line".
  void operator()(size_t ints, MPI_Op op, const char* wire, std::string words) {
    const size_t before = heard_.text().size();
    allreduce(on_, ints, op);
    if (rank != 0) return;
    const std::string line = table_name() + ", line";
    for (size_t at = 0; (at = words.find("LINE", at)) != std::string::npos; at += line.size())
      words.replace(at, 4, line);
    const std::string said = heard_.text(before);
    for (const std::string& part : {"(" + std::string(wire) + ", ", words})
      if (said.find(part) == std::string::npos)
        FAIL("%zu ints: \"%s\" is missing in: %s", ints, part.c_str(), said.c_str());
    if (wire_taken() != wire) FAIL("the communicator has %s", wire_taken().c_str());
  }

 private:
  [[nodiscard]] std::string wire_taken() const {
    MPI_Info info = MPI_INFO_NULL;
    char wire[32] = "";
    int room = sizeof wire, found = 0;
    OK(MPI_Comm_get_info(on_.comm, &info));
    OK(MPI_Info_get_string(info, "tern_gpu_wire_taken", &room, wire, &found));
    OK(MPI_Info_free(&info));
    return found != 0 ? wire : "no wire";
  }
  const OnStream& on_;
  const Heard& heard_;
};

bool all_are_linked() {
  for (int i = 0; i < size; ++i)
    for (int j = 0; j < i; ++j) {
      int atomics = 0;
      if (i % devices == j % devices ||
          cuDeviceGetP2PAttribute(&atomics, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED,
                                  i % devices, j % devices) != CUDA_SUCCESS ||
          atomics == 0)
        return false;
    }
  return true;
}

bool has_switch() {
  int multicast = 0;
  CU(cuDeviceGetAttribute(&multicast, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
  return multicast != 0 && devices >= size;
}

void by_table(const OnStream& on, const Heard& heard) {
  Expected expect(on, heard);
  expect(1000, MPI_SUM, "simple", "LINE 1 asks for simple");
  if (all_are_linked())
    expect(2000, MPI_SUM, "ll128", "LINE 2 asks for ll128");
  else
    expect(2000, MPI_SUM, "ll", "; LINE 2 asks for ll128, but: ");
  if (has_switch())
    expect(8000, MPI_SUM, "multimem", "LINE 3 asks for multimem");
  else
    expect(8000, MPI_SUM, "ll", "LINE 4 asks for ll; LINE 3 asks for multimem, but: ");
  if (has_switch())
    expect(8000, MPI_PROD, "ll",
           "LINE 4 asks for ll; LINE 3 asks for multimem, but: switches do not reduce this type by "
           "this operation");
  expect(300000, MPI_SUM, "ll", "LINE 5 asks for ll");
  const bool shared = devices < size;
  expect(1200000, MPI_SUM, shared ? "simple" : "copies",
         "LINE 6 asks for ll, but: the scratch does not hold the data");
}

void by_hint(const Heard& heard) {
  MPI_Info info = MPI_INFO_NULL;
  MPI_Comm hinted = MPI_COMM_NULL;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "tern_gpu_wire", "lll"));
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  SAYS(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &hinted), MPI_ERR_INFO_VALUE,
       "the hint tern_gpu_wire is \"lll\"; allowed are auto, simple, ll, ll128, bulk, multimem");
  OK(MPI_Info_set(info, "tern_gpu_wire", "ll"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &hinted));
  {
    const OnStream on(hinted);
    Expected(on, heard)(1000, MPI_SUM, "ll",
                        "the communicator's hint tern_gpu_wire asks for ll; LINE 1 asks for "
                        "simple, but: the communicator's hint tern_gpu_wire asks for ll");
  }
  OK(MPI_Comm_free(&hinted));
  OK(MPI_Info_free(&info));
}

}  // namespace

int main(int argc, char** argv) {
  write_table();
  begin(&argc, &argv);
  if (rank == 0) (void)unlink(table_name().c_str());
  start_cuda();
  const Heard heard;
  {
    const OnStream on;
    if (std::getenv("TERN_GPU_WIRE") != nullptr) {
      Expected(on, heard)(1000, MPI_SUM, "ll",
                          "TERN_GPU_WIRE asks for ll; LINE 1 asks for simple, but: TERN_GPU_WIRE "
                          "asks for ll");
    } else {
      by_table(on, heard);
      by_hint(heard);
    }
  }
  return end();
}
