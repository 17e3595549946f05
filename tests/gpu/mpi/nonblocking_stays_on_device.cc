// SPDX-License-Identifier: Apache-2.0
// Large nonblocking and persistent collectives of device memory bypass the host, and neither start
// nor progress waits for a device.
// ranks: 2 4
// configurations: 1 4-peers in-turn
// full-configurations: 12.0
#include "trace.hpp"

using namespace tern::test;

namespace {

constexpr int kCount = (1 << 20) + 4 * 37;
constexpr size_t kBytes = kCount * sizeof(float);
const MPI_Comm kWorld = MPI_COMM_WORLD;

float element(int i) { return static_cast<float>(i % 1000); }

void put_own(const Area& area) {
  std::vector<float> values(kCount);
  for (int i = 0; i < kCount; ++i)
    values[static_cast<size_t>(i)] = static_cast<float>(rank + 1) * element(i);
  area.put(values.data(), kBytes);
}

unsigned long long waits() {
  return control().calls("cuStreamSynchronize") + control().calls("cuEventSynchronize") +
         control().calls("cuCtxSynchronize");
}

struct Case {
  const char* name;
  int (*start)(const void* in, void* out, MPI_Request* request);
  int (*init)(const void* in, void* out, MPI_Request* request);
  float (*expected)(int i);
  int (*length)();
};

float of_all(int i) { return element(i) * static_cast<float>(size * (size + 1) / 2); }
int whole() { return kCount; }
int part() { return kCount / size; }

const Case kCases[] = {
    {"allreduce",
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Iallreduce(in, out, kCount, MPI_FLOAT, MPI_SUM, kWorld, r);
     },
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Allreduce_init(in, out, kCount, MPI_FLOAT, MPI_SUM, kWorld, MPI_INFO_NULL, r);
     },
     of_all, whole},
    {"reduce_scatter_block",
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Ireduce_scatter_block(in, out, part(), MPI_FLOAT, MPI_SUM, kWorld, r);
     },
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Reduce_scatter_block_init(in, out, part(), MPI_FLOAT, MPI_SUM, kWorld,
                                            MPI_INFO_NULL, r);
     },
     [](int i) { return of_all(rank * part() + i); }, part},
    {"allgather",
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Iallgather(in, part(), MPI_FLOAT, out, part(), MPI_FLOAT, kWorld, r);
     },
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Allgather_init(in, part(), MPI_FLOAT, out, part(), MPI_FLOAT, kWorld,
                                 MPI_INFO_NULL, r);
     },
     [](int i) { return static_cast<float>(i / part() + 1) * element(i % part()); }, whole},
    {"alltoall",
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Ialltoall(in, part(), MPI_FLOAT, out, part(), MPI_FLOAT, kWorld, r);
     },
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Alltoall_init(in, part(), MPI_FLOAT, out, part(), MPI_FLOAT, kWorld,
                                MPI_INFO_NULL, r);
     },
     [](int i) { return static_cast<float>(i / part() + 1) * element(rank * part() + i % part()); },
     whole},
    {"bcast",
     [](const void*, void* out, MPI_Request* r) {
       return MPI_Ibcast(out, kCount, MPI_FLOAT, size - 1, kWorld, r);
     },
     [](const void*, void* out, MPI_Request* r) {
       return MPI_Bcast_init(out, kCount, MPI_FLOAT, size - 1, kWorld, MPI_INFO_NULL, r);
     },
     [](int i) { return static_cast<float>(size) * element(i); }, whole},
    {"reduce",
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Ireduce(in, out, kCount, MPI_FLOAT, MPI_SUM, 0, kWorld, r);
     },
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Reduce_init(in, out, kCount, MPI_FLOAT, MPI_SUM, 0, kWorld, MPI_INFO_NULL, r);
     },
     of_all, [] { return rank == 0 ? kCount : 0; }},
    {"gather",
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Igather(in, part(), MPI_FLOAT, out, part(), MPI_FLOAT, 0, kWorld, r);
     },
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Gather_init(in, part(), MPI_FLOAT, out, part(), MPI_FLOAT, 0, kWorld,
                              MPI_INFO_NULL, r);
     },
     [](int i) { return static_cast<float>(i / part() + 1) * element(i % part()); },
     [] { return rank == 0 ? kCount : 0; }},
    {"scatter",
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Iscatter(in, part(), MPI_FLOAT, out, part(), MPI_FLOAT, 0, kWorld, r);
     },
     [](const void* in, void* out, MPI_Request* r) {
       return MPI_Scatter_init(in, part(), MPI_FLOAT, out, part(), MPI_FLOAT, 0, kWorld,
                               MPI_INFO_NULL, r);
     },
     [](int i) { return element(rank * part() + i); }, part},
};

void verify(const Case& one, const Area& out) {
  const int length = one.length();
  std::vector<float> values(static_cast<size_t>(length));
  out.get(values.data(), values.size() * sizeof(float));
  for (int i = 0; i < length; ++i)
    if (values[static_cast<size_t>(i)] != one.expected(i))
      FAIL("%s: element %d is %g, expected %g", one.name, i,
           static_cast<double>(values[static_cast<size_t>(i)]),
           static_cast<double>(one.expected(i)));
}

void prepare(const Area& out) {
  if (rank == size - 1) return put_own(out);
  out.put(std::vector<uint8_t>(kBytes, 0xee));
}

void complete(const Case& one, MPI_Request* request, Trace* trace, unsigned long long waited,
              size_t least) {
  for (int done = 0; done == 0;) OK(MPI_Test(request, &done, MPI_STATUS_IGNORE));
  const unsigned long long waited_now = waits();
  const size_t bytes = trace->through_host();
  if (bytes > least) FAIL("%s copies %zu bytes from or to the host", one.name, bytes);
  if (waited_now != waited) FAIL("%s waits for a device %llu times", one.name, waited_now - waited);
}

void all(const Area& in, const Area& out, Trace* trace) {
  // The first call tests links, loads kernels, and creates streams and events.
  OK(MPI_Allreduce(in.address(), out.address(), kCount, MPI_FLOAT, MPI_SUM, kWorld));
  for (const Case& one : kCases) {
    MPI_Request lasting = MPI_REQUEST_NULL;
    OK(one.init(in.address(), out.address(), &lasting));
    for (int round = 0; round < 4; ++round) {
      prepare(out);
      OK(MPI_Barrier(kWorld));
      (void)trace->through_host();
      const unsigned long long waited = waits();
      MPI_Request request = MPI_REQUEST_NULL;
      if (round % 2 == 0)
        OK(one.start(in.address(), out.address(), &request));
      else
        OK(MPI_Start(&lasting));
      complete(one, round % 2 == 0 ? &request : &lasting, trace, waited, 0);
      verify(one, out);
    }
    OK(MPI_Request_free(&lasting));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Trace trace;
  begin(&argc, &argv);
  start_cuda();
  if (control().there()) {
    const Area in = plain(kBytes), out = plain(kBytes);
    put_own(in);
    all(in, out, &trace);
  }
  OK(MPI_Finalize());
  return control().there() ? 0 : 77;
}
