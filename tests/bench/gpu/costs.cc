// SPDX-License-Identifier: Apache-2.0
// Costs of driver calls by one rank, for the model of the software driver: processor time of the
// call (`cost_NAME bytes ranks value us`) and device time (`device_NAME`). Without busy.fatbin
// beside the program, the kernels' lines are absent.
#include <unistd.h>

#include <climits>
#include <fstream>
#include <iterator>
#include <string>

#include "gpu.hpp"

using namespace tern::bench;

namespace {

constexpr int kCalls = 100;  // fewer than a launch queue holds

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void cost(const char* name, size_t bytes, const std::function<void()>& call) {
  CUevent begin = nullptr, end = nullptr;
  CU(cuEventCreate(&begin, 0));
  CU(cuEventCreate(&end, 0));
  std::vector<double> on_host, on_device;
  call();
  CU(cuStreamSynchronize(stream));
  for (int batch = 0; batch < (quick ? 2 : 11); ++batch) {
    CU(cuEventRecord(begin, stream));
    const double start = MPI_Wtime();
    for (int i = 0; i < kCalls; ++i) call();
    on_host.push_back((MPI_Wtime() - start) / kCalls);
    CU(cuEventRecord(end, stream));
    CU(cuStreamSynchronize(stream));
    float milliseconds = 0;
    CU(cuEventElapsedTime(&milliseconds, begin, end));
    on_device.push_back(static_cast<double>(milliseconds) / 1e3 / kCalls);
  }
  CU(cuEventDestroy_v2(begin));
  CU(cuEventDestroy_v2(end));
  report((std::string("cost_") + name).c_str(), bytes, median(on_host) * 1e6, "us");
  report((std::string("device_") + name).c_str(), bytes, median(on_device) * 1e6, "us");
}

void questions(CUdeviceptr at) {
  CUpointer_attribute names[] = {
      CU_POINTER_ATTRIBUTE_CONTEXT,        CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
      CU_POINTER_ATTRIBUTE_BUFFER_ID,      CU_POINTER_ATTRIBUTE_IS_MANAGED,
      CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
      CU_POINTER_ATTRIBUTE_RANGE_SIZE,     CU_POINTER_ATTRIBUTE_MAPPED,
      CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE};
  uint64_t values[std::size(names)];
  void* places[std::size(names)];
  for (size_t i = 0; i < std::size(names); ++i) places[i] = &values[i];
  cost("pointer_attributes", 2, [&] { CU(cuPointerGetAttributes(2, names, places, at)); });
  cost("pointer_attributes", 9, [&] { CU(cuPointerGetAttributes(9, names, places, at)); });
  cost("context_current", 0, [] {
    CUcontext context = nullptr;
    CU(cuCtxGetCurrent(&context));
  });
  cost("exchange_capture_mode", 0, [] {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    CU(cuThreadExchangeStreamCaptureMode(&mode));
    CU(cuThreadExchangeStreamCaptureMode(&mode));
  });
}

void words(CUdeviceptr at) {
  cost("write_value", 4, [&] { CU(cuStreamWriteValue32_v2(stream, at, 1, 0)); });
  cost("wait_value", 4,
       [&] { CU(cuStreamWaitValue32_v2(stream, at, 1, CU_STREAM_WAIT_VALUE_EQ)); });
  for (const unsigned count : {2U, 4U, 8U}) {
    std::vector<CUstreamBatchMemOpParams> batch(count);
    for (auto& one : batch) {
      one = {};
      one.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
      one.writeValue.address = at;
      one.writeValue.value = 1;
    }
    cost("batch_of_words", count,
         [&] { CU(cuStreamBatchMemOp_v2(stream, count, batch.data(), 0)); });
  }
}

void copies(CUdeviceptr from, CUdeviceptr to, CUdeviceptr pinned) {
  for (const size_t bytes : {size_t{4}, size_t{72} << 10, size_t{1} << 20}) {
    cost("copy_on_device", bytes, [&] { CU(cuMemcpyDtoDAsync_v2(to, from, bytes, stream)); });
    cost("copy_to_pinned", bytes,
         [&] { CU(cuMemcpyDtoHAsync_v2(reinterpret_cast<void*>(pinned), from, bytes, stream)); });
  }
  CUevent event = nullptr;
  CU(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  cost("event_record", 0, [&] { CU(cuEventRecord(event, stream)); });
  CU(cuEventDestroy_v2(event));
}

void kernels(CUdeviceptr out) {
  char path[PATH_MAX] = "";
  if (readlink("/proc/self/exe", path, sizeof path - 1) < 0) return;
  std::ifstream file(std::string(path, std::strrchr(path, '/')) + "/busy.fatbin", std::ios::binary);
  const std::string code{std::istreambuf_iterator<char>(file), {}};
  if (code.empty() || quick) return;
  CUlibrary library = nullptr;
  CU(cuLibraryLoadData(&library, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  const auto function = [&](const char* name) {
    CUkernel kernel = nullptr;
    CUfunction found = nullptr;
    CU(cuLibraryGetKernel(&kernel, library, name));
    CU(cuKernelGetFunction(&found, kernel));
    return found;
  };
  char room[4096] = {};
  for (const size_t bytes : {64, 1700, 3900}) {
    const CUfunction empty = function(("empty_" + std::to_string(bytes)).c_str());
    void* arguments[] = {room};
    cost("launch", bytes,
         [&] { CU(cuLaunchKernel(empty, 1, 1, 1, 256, 1, 1, 0, stream, arguments, nullptr)); });
  }
  for (const char* const name : {"fence_system", "fence_alias"}) {
    void* arguments[] = {&out};
    CU(cuLaunchKernel(function(name), 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr));
    long long cycles = 0;
    CU(cuStreamSynchronize(stream));
    CU(cuMemcpyDtoH_v2(&cycles, out, sizeof cycles));
    report(name, 0, static_cast<double>(cycles), "cycles");
  }
  CU(cuLibraryUnload(library));
}

}  // namespace

int main(int argc, char** argv) {
  start(&argc, &argv);
  if (size != 1) FAIL("costs runs with 1 rank, not %d", size);
  {
    const Area from(Kind::kDevice, size_t{1} << 20), to(Kind::kDevice, size_t{1} << 20);
    const Area pinned(Kind::kPinned, size_t{1} << 20);
    questions(from.at);
    words(to.at);
    copies(from.at, to.at, pinned.at);
    kernels(to.at);
  }
  return finish();
}
