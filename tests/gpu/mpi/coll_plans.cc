// SPDX-License-Identifier: Apache-2.0
// Forests of a graph, and plans of files, on device memory: blocking, nonblocking and enqueued
// calls equal the host's results; sums of floats have the host's bits while a pass holds the data.
// The engine of the variant serves the enqueued calls.
// ranks: 4
// full-ranks: 8
// configurations: 8-peers
// timeout: 180
// env: TERN_EXPLAIN=1
// variant: stream
//   ranks: 4 8
//   env: TERN_EXPLAIN=1 TERN_GPU_ENGINE=stream
// variant: kernel
//   ranks: 4 8
//   env: TERN_EXPLAIN=1 TERN_GPU_ENGINE=kernel
//   configurations: 8-peers
//   full-configurations: weak
// variant: proxy
//   env: TERN_EXPLAIN=1 TERN_GPU_ENGINE=host
// variant: files
//   Plans of files.
//   env: TERN_EXPLAIN=1 PLANS=files
// variant: files_kernel
//   env: TERN_EXPLAIN=1 TERN_GPU_ENGINE=kernel PLANS=files
// variant: files_stream
//   ranks: 4 8
//   env: TERN_EXPLAIN=1 TERN_GPU_ENGINE=stream PLANS=files
// variant: many_messages
//   More messages per pair than kernels have semaphores for.
//   ranks: 2
//   env: TERN_EXPLAIN=1 PLANS=150
// variant: too_many_messages
//   More messages per pair than streams have semaphores for.
//   ranks: 2
//   env: TERN_EXPLAIN=1 PLANS=300
#include <sys/stat.h>

#include "said.hpp"
#include "stream.hpp"

using namespace tern::test;

namespace {

constexpr const char* kGraph8 =  // DGX-1V
    "gpu g0..g7\n"
    "link g0 g1 25 3\nlink g0 g2 25 3\nlink g0 g3 50 3\nlink g0 g4 50 3\nlink g1 g2 50 3\n"
    "link g1 g3 25 3\nlink g1 g5 50 3\nlink g2 g3 50 3\nlink g2 g6 25 3\nlink g3 g7 25 3\n"
    "link g4 g5 25 3\nlink g4 g6 25 3\nlink g4 g7 50 3\nlink g5 g6 50 3\nlink g5 g7 25 3\n"
    "link g6 g7 50 3\n";
constexpr const char* kGraph4 =
    "gpu a b c d\nlink a b 25 3\nlink b c 25 3\nlink c d 50 3\nlink d a 25 3\n";

bool files = false;
int chunks = 0;  // of the allgather's file; 0: a ring
const char* engine = "";
MPI_Comm world = MPI_COMM_WORLD;

std::string name_of_file(const char* what) {
  return "/tmp/tern_plans." + std::to_string(getppid()) + "." + what;
}

void write_file(const char* what, const std::string& text) {
  const std::string name = name_of_file(what), mine = name + "." + std::to_string(getpid());
  const int file = open(mine.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      close(file) != 0 || rename(mine.c_str(), name.c_str()) != 0)
    FAIL("%s cannot be written", name.c_str());
}

/// A ring, as an MSCCL file.
std::string ring(int gpus, bool reduces) {
  std::string text = "<algo name=\"ring\" nchunksperloop=\"" + std::to_string(gpus) +
                     "\" ngpus=\"" + std::to_string(gpus) + "\" coll=\"" +
                     (reduces ? "allreduce" : "allgather") + "\" inplace=\"0\">\n";
  for (int gpu = 0; gpu < gpus; ++gpu) {
    const auto around = [&](int steps) { return std::to_string((gpu + steps + gpus) % gpus); };
    int number = 0;
    const auto step = [&](const char* type, char from, int source, char to, int chunk) {
      const std::string at = from == 'i' && !reduces ? "0" : around(source);
      text += "<step s=\"" + std::to_string(number++) + "\" type=\"" + type + "\" srcbuf=\"" +
              from + "\" srcoff=\"" + at + "\" dstbuf=\"" + to + "\" dstoff=\"" + around(chunk) +
              "\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n";
    };
    text += "<gpu id=\"" + std::to_string(gpu) + "\" i_chunks=\"" +
            std::to_string(reduces ? gpus : 1) + "\" o_chunks=\"" + std::to_string(gpus) +
            "\" s_chunks=\"0\">\n<tb id=\"0\" send=\"" + around(1) + "\" recv=\"" + around(-1) +
            "\" chan=\"0\">\n";
    step("s", 'i', 0, reduces ? 'i' : 'o', 0);
    for (int i = 1; reduces && i < gpus - 1; ++i) step("rrs", 'i', -i, 'i', -i);
    if (reduces) step("rrcs", 'i', 1, 'o', 1);
    const int first = reduces ? 0 : -1;
    for (int i = 0; i < gpus - 2; ++i) step("rcs", 'o', first - i, 'o', first - i);
    step("r", 'o', first - (gpus - 2), 'o', first - (gpus - 2));
    text += "</tb>\n";
    if (!reduces) {
      text += "<tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">\n";
      number = 0;
      step("cpy", 'i', 0, 'o', 0);
      text += "</tb>\n";
    }
    text += "</gpu>\n";
  }
  return text + "</algo>\n";
}

/// Two GPUs exchange their blocks in many messages, 100 per channel.
std::string exchange(int parts) {
  std::string text = "<algo name=\"exchange\" nchunksperloop=\"" + std::to_string(2 * parts) +
                     "\" ngpus=\"2\" coll=\"allgather\" inplace=\"0\">\n";
  for (int gpu = 0; gpu < 2; ++gpu) {
    const auto put = [&](const char* type, int step, int from, int to) {
      text += "<step s=\"" + std::to_string(step) + "\" type=\"" + type +
              "\" srcbuf=\"i\" srcoff=\"" + std::to_string(from) + "\" dstbuf=\"o\" dstoff=\"" +
              std::to_string(to) + "\" cnt=\"1\" depid=\"-1\" deps=\"-1\" hasdep=\"0\"/>\n";
    };
    const auto block = [&](int number, int send, int recv, int channel) {
      text += "<tb id=\"" + std::to_string(number) + "\" send=\"" + std::to_string(send) +
              "\" recv=\"" + std::to_string(recv) + "\" chan=\"" + std::to_string(channel) +
              "\">\n";
    };
    text += "<gpu id=\"" + std::to_string(gpu) + "\" i_chunks=\"" + std::to_string(parts) +
            "\" o_chunks=\"" + std::to_string(2 * parts) + "\" s_chunks=\"0\">\n";
    int number = 0;
    for (int first = 0; first < parts; first += 100) {
      const int end = std::min(parts, first + 100);
      block(number++, 1 - gpu, -1, first / 100);
      for (int i = first; i < end; ++i) put("s", i - first, i, gpu * parts + i);
      text += "</tb>\n";
      block(number++, -1, 1 - gpu, first / 100);
      for (int i = first; i < end; ++i) put("r", i - first, i, (1 - gpu) * parts + i);
      text += "</tb>\n";
      block(number++, -1, -1, 0);
      for (int i = first; i < end; ++i) put("cpy", i - first, i, gpu * parts + i);
      text += "</tb>\n";
    }
    text += "</gpu>\n";
  }
  return text + "</algo>\n";
}

/// Before MPI_Init. The processes of mpirun know their number by its variable.
void choose_plans() {
  const char* const plans = std::getenv("PLANS");
  files = plans != nullptr;
  chunks = files ? std::atoi(plans) : 0;
  const char* const asked = std::getenv("TERN_GPU_ENGINE");
  engine = asked == nullptr ? "" : asked;
  const char* const ranks = std::getenv("OMPI_COMM_WORLD_SIZE");
  const int number = ranks == nullptr ? 8 : std::atoi(ranks);
  if (!files) {
    write_file("topo", number == 4 ? kGraph4 : kGraph8);
    setenv("TERN_TOPOLOGY", name_of_file("topo").c_str(), 1);
    setenv("TERN_COLL",
           "bcast=forest,reduce=forest,allgather=forest,reduce_scatter=forest,allreduce=forest", 1);
    return;
  }
  write_file("ar.xml", ring(number, true));
  write_file("ag.xml", chunks > 0 ? exchange(chunks) : ring(number, false));
  std::string table;
  for (const char* const where : {"", " streams"})
    table += "allreduce any any file " + name_of_file("ar.xml") + where +
             "\nallgather any any file " + name_of_file("ag.xml") + where + "\n";
  write_file("table", table);
  setenv("TERN_COLL_TABLE", name_of_file("table").c_str(), 1);
}

enum class Way { kHost, kBlocking, kNonblocking, kEnqueued };
constexpr const char* kWays[] = {"host", "blocking", "nonblocking", "enqueued"};

struct Case {
  int count;
  bool in_place;
  int root;
  bool floats;
};

const OnStream* on = nullptr;

uint32_t value(const Case& the, size_t i, unsigned seed) {
  const auto number =
      static_cast<uint32_t>((i * 31 + seed * 1009 + static_cast<unsigned>(rank) * 77) % 1000);
  if (!the.floats) return number;
  const float real = (i % 2 == 0 ? 1e5F : 1e-3F) / static_cast<float>(1 + number);
  uint32_t bits = 0;
  std::memcpy(&bits, &real, sizeof bits);
  return bits;
}

/// Four-byte words, as integers or floats.
class Words {
 public:
  Words(const Case& the, size_t words, unsigned seed) : host_(words), device_(words) {
    for (size_t i = 0; i < words; ++i) host_[i] = value(the, i, seed);
  }
  [[nodiscard]] std::vector<uint32_t>& host() { return host_; }
  void upload() {
    for (size_t i = 0; i < host_.size(); ++i) device_[i] = host_[i];
    device_.put(on->queue);
    on->sync();
  }
  [[nodiscard]] void* there() const { return device_.on_device(); }
  void compare(const Case& the, const char* name, Way way, const std::vector<uint32_t>& want) {
    device_.get(on->queue);
    on->sync();
    for (size_t i = 0; i < want.size(); ++i)
      if (device_[i] != want[i])
        FAIL("MPI_%s, %s, count %d, in place %d, root %d, %s: word %zu is %x, expected %x", name,
             kWays[static_cast<int>(way)], the.count, the.in_place, the.root,
             the.floats ? "floats" : "integers", i, device_[i], want[i]);
  }

 private:
  std::vector<uint32_t> host_;
  Vector<uint32_t> device_;
};

template <class Call>
void compare(const Case& the, const char* name, size_t sent, size_t received, Call&& call) {
  Words want(the, received, 2), send(the, sent, 1);
  call(Way::kHost, world, send.host().data(), want.host().data());
  for (const Way way : {Way::kBlocking, Way::kNonblocking, Way::kEnqueued}) {
    Words input(the, sent, 1), found(the, received, 2);
    input.upload();
    found.upload();
    call(way, way == Way::kEnqueued ? on->comm : world, input.there(), found.there());
    found.compare(the, name, way, want.host());
    input.compare(the, name, way, send.host());
  }
}

#define COMPARE(the, name, sent, received, ...)                                 \
  compare(the, #name, static_cast<size_t>(sent), static_cast<size_t>(received), \
          [&](Way way, MPI_Comm comm, const void* send, void* recv) {           \
            (void)send;                                                         \
            MPI_Request request = MPI_REQUEST_NULL;                             \
            if (way == Way::kEnqueued)                                          \
              OK(MPIX_##name##_enqueue(__VA_ARGS__, comm));                     \
            else if (way == Way::kNonblocking)                                  \
              OK(MPI_I##name(__VA_ARGS__, comm, &request));                     \
            else                                                                \
              OK(MPI_##name(__VA_ARGS__, comm));                                \
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));                          \
          })
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IReduce MPI_Ireduce
#define MPI_IBcast MPI_Ibcast
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block

void vectors(const Case& the) {
  const int n = the.count;
  const MPI_Datatype type = the.floats ? MPI_FLOAT : MPI_INT;
  const auto input = [&](const void* send) { return the.in_place ? MPI_IN_PLACE : send; };
  COMPARE(the, Allreduce, n, n, input(send), recv, n, type, MPI_SUM);
  if (files && the.floats) return;  // the host's own rows have other orders
  COMPARE(the, Reduce, n, n, the.in_place && rank == the.root ? MPI_IN_PLACE : send, recv, n, type,
          MPI_SUM, the.root);
  COMPARE(the, Bcast, 0, n, recv, n, type, the.root);
}

void blocks(const Case& the) {
  const int n = the.count, all = n * size;
  const MPI_Datatype type = the.floats ? MPI_FLOAT : MPI_INT;
  const auto input = [&](const void* send) { return the.in_place ? MPI_IN_PLACE : send; };
  COMPARE(the, Allgather, n, all, input(send), n, type, recv, n, type);
  if (!the.in_place) COMPARE(the, Reduce_scatter_block, all, n, send, recv, n, type, MPI_SUM);
  std::vector<int> counts, displs;
  int sum = 0;
  for (int i = 0; i < size; ++i) {
    counts.push_back(i == 2 ? 0 : n / (i + 1) + 1);
    displs.push_back(sum + i);
    sum += counts.back();
  }
  const int mine = counts[static_cast<size_t>(rank)];
  const int* const c = counts.data();
  const int* const d = displs.data();
  COMPARE(the, Allgatherv, mine, sum + size, input(send), mine, type, recv, c, d, type);
  if (!the.in_place) COMPARE(the, Reduce_scatter, sum, mine, send, recv, c, type, MPI_SUM);
}

/// The host's own results of integers, without a plan's code.
void check_host(int count) {
  std::vector<int> mine(static_cast<size_t>(count)), sums(mine.size());
  for (int i = 0; i < count; ++i) mine[static_cast<size_t>(i)] = rank * 1000 + i % 997;
  OK(MPI_Allreduce(mine.data(), sums.data(), count, MPI_INT, MPI_SUM, world));
  for (int i = 0; i < count; ++i)
    if (sums[static_cast<size_t>(i)] != size * (size - 1) / 2 * 1000 + size * (i % 997))
      FAIL("%d ints: the host's sum %d is %d", count, i, sums[static_cast<size_t>(i)]);
}

void all_cases() {
  int root = 0;
  for (const int count : {0, 1, 7, 1000, 8192, 100003}) {
    check_host(count);
    for (const bool in_place : {false, true})
      for (const bool floats : {false, true}) {
        // Engines, and the proxy, cut long vectors into other passes.
        if (floats && count > (std::strcmp(engine, "host") == 0 ? 8192 : 1000)) continue;
        const Case the{count, in_place, root++ % size, floats};
        vectors(the);
        if (!files || !floats) blocks(the);
      }
  }
}

void check_said(const Heard& heard) {
  if (rank != 0) return;
  if (chunks > 128 && chunks <= 256 &&
      !heard.has("ranks send each other more messages than kernels have semaphores for"))
    FAIL("%d messages go to kernels", chunks);
  if (chunks > 256 && heard.has("allgather file (")) FAIL("%d messages go into a stream", chunks);
  const std::string row = files ? "file" : "forest", text = heard.text();
  const auto want = [&](const std::string& words) {
    if (text.find(words) == std::string::npos) FAIL("\"%s\" is not said", words.c_str());
  };
  want("allreduce of ");
  want(": " + row);
  if (std::strcmp(engine, "host") == 0 || chunks > 256) return;
  for (const std::string name : {"allreduce", "allgather"}) {
    if (name == "allreduce" && chunks > 0) continue;
    for (const char* const comm : {"MPI_COMM_WORLD", "a communicator with a stream"})
      want(name + " " + row + " (" + comm + ") goes into the stream by the " + engine);
  }
}

}  // namespace

int main(int argc, char** argv) {
  choose_plans();
  const Heard heard;
  begin(&argc, &argv);
  start_cuda();
  {
    const OnStream made;
    on = &made;
    all_cases();
  }
  check_said(heard);
  return end();
}
