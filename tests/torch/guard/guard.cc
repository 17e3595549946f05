// SPDX-License-Identifier: Apache-2.0
// Replaces c10's CUDA in tests without a GPU: devices, streams and events of the loaded driver
// (tests/softcuda), and tensors in device memory. Why: bindings/torch uses devices only through
// c10, so the tests need no GPU. The file replaces three of PyTorch's kernels: empty, copy_, div_.
// Lifetime: the process. Threads: any, as in c10's guards.
#include <dlfcn.h>
#include <torch/extension.h>
#include <torch/library.h>

#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>

namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::DeviceType;
using c10::Stream;
using Address = unsigned long long;

void* driver() {
  static void* const found = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  TORCH_CHECK(found, "no libcuda.so.1: ", dlerror());
  return found;
}

// The driver call must succeed.
template <class... Arguments>
void call(const char* name, Arguments... arguments) {
  auto* const function = reinterpret_cast<int (*)(Arguments...)>(dlsym(driver(), name));
  TORCH_CHECK(function, "the driver has no ", name);
  const int code = function(arguments...);
  TORCH_CHECK(code == 0, name, " gives ", code);
}

int ask(const char* name, void* handle) {
  return reinterpret_cast<int (*)(void*)>(dlsym(driver(), name))(handle);
}

void use_context() {
  static void* const context = [] {
    void* made = nullptr;
    call("cuInit", 0u);
    call("cuDevicePrimaryCtxRetain", &made, 0);
    return made;
  }();
  call("cuCtxSetCurrent", context);
}

// Stream ids are the driver's handles; 0 is the legacy stream.
void* handle_of(const Stream& stream) { return reinterpret_cast<void*>(stream.id()); }
Stream stream_of(void* handle) {
  return Stream(Stream::UNSAFE, Device(DeviceType::CUDA, 0),
                reinterpret_cast<c10::StreamId>(handle));
}
thread_local void* current = nullptr;

void* make_stream() {
  use_context();
  void* made = nullptr;
  call("cuStreamCreate", &made, 1u);  // non-blocking
  return made;
}

struct SoftGuard final : c10::impl::DeviceGuardImplInterface {
  DeviceType type() const override { return DeviceType::CUDA; }
  Device exchangeDevice(Device) const override { return getDevice(); }
  Device getDevice() const override { return {DeviceType::CUDA, 0}; }
  void setDevice(Device) const override { use_context(); }
  void uncheckedSetDevice(Device) const noexcept override {}
  Stream getStream(Device) const override { return stream_of(current); }
  Stream getDefaultStream(Device) const override { return stream_of(nullptr); }
  Stream getStreamFromGlobalPool(Device, bool) const override { return stream_of(make_stream()); }
  Stream exchangeStream(Stream stream) const override {
    return stream_of(std::exchange(current, handle_of(stream)));
  }
  void* getStreamNativeHandle(const Stream stream) const override { return handle_of(stream); }
  DeviceIndex deviceCount() const noexcept override { return 1; }

  void record(void** event, const Stream& stream, const DeviceIndex,
              const c10::EventFlag) const override {
    use_context();
    if (!*event) {
      call("cuEventCreate", event, 2u);
    }
    call("cuEventRecord", *event, handle_of(stream));
  }
  void block(void* event, const Stream& stream) const override {
    use_context();
    call("cuStreamWaitEvent", handle_of(stream), event, 0u);
  }
  bool queryEvent(void* event) const override {
    use_context();
    const int code = ask("cuEventQuery", event);
    TORCH_CHECK(code == 0 || code == 600, "cuEventQuery gives ", code);
    return code == 0;
  }
  void synchronizeEvent(void* event) const override { call("cuEventSynchronize", event); }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override {
    if (event) {
      ask("cuEventDestroy_v2", event);
    }
  }
  bool isStreamCapturing(const Stream& stream) const override {
    use_context();
    int status = 0;
    call("cuStreamIsCapturing", handle_of(stream), &status);
    return status != 0;
  }
};

void* allocate(std::size_t bytes) {
  use_context();
  Address address = 0;
  call("cuMemAlloc_v2", &address, std::max<std::size_t>(bytes, 1));
  return reinterpret_cast<void*>(address);
}

void release(void* address) {
  use_context();
  call("cuMemFree_v2", reinterpret_cast<Address>(address));
}

at::Tensor empty(at::IntArrayRef sizes, at::ScalarType type) {
  std::int64_t elements = 1;
  for (const std::int64_t size : sizes) {
    elements *= size;
  }
  const auto options = at::TensorOptions().dtype(type).device(Device(DeviceType::CUDA, 0));
  return at::from_blob(allocate(elements * c10::elementSize(type)), sizes, release, options,
                       Device(DeviceType::CUDA, 0));
}

// The copy runs in the current stream. If one side is host memory, copy_now() waits for the stream
// first.
void copy_now(const at::Tensor& to, const at::Tensor& from) {
  use_context();
  if (to.nbytes() == 0) {  // the driver refuses 0 bytes
    return;
  }
  const auto address = [](const at::Tensor& one) {
    return reinterpret_cast<Address>(one.data_ptr());
  };
  if (to.is_cuda() && from.is_cuda()) {
    call("cuMemcpyDtoDAsync_v2", address(to), address(from), to.nbytes(), current);
    return;
  }
  if (to.is_cuda()) {
    call("cuMemcpyHtoDAsync_v2", address(to), static_cast<const void*>(from.data_ptr()),
         from.nbytes(), current);
  } else {
    call("cuMemcpyDtoHAsync_v2", to.data_ptr(), address(from), to.nbytes(), current);
  }
  call("cuStreamSynchronize", current);
}

at::Tensor to_device(const at::Tensor& host) {
  at::Tensor made = empty(host.sizes(), host.scalar_type());
  copy_now(made, host.contiguous());
  return made;
}

at::Tensor to_host(const at::Tensor& device) {
  at::Tensor made = at::empty(device.sizes(), at::TensorOptions().dtype(device.scalar_type()));
  copy_now(made, device);
  return made;
}

void sleep_on_stream(void* milliseconds) {
  std::this_thread::sleep_for(
      std::chrono::milliseconds(reinterpret_cast<std::intptr_t>(milliseconds)));
}

// As with a slow kernel, the current stream writes the values after the host function returns.
void write_behind(void (*function)(void*), std::intptr_t word, const at::Tensor& device,
                  const at::Tensor& values) {
  static auto* const kept = new std::vector<at::Tensor>;  // sources of pending copies
  kept->push_back(to_device(values));
  call("cuLaunchHostFunc", current, function, reinterpret_cast<void*>(word));
  if (device.nbytes() > 0) {
    call("cuMemcpyDtoDAsync_v2", reinterpret_cast<Address>(device.data_ptr()),
         reinterpret_cast<Address>(kept->back().data_ptr()), device.nbytes(), current);
  }
}

void write_late(const at::Tensor& device, const at::Tensor& values, std::int64_t milliseconds) {
  write_behind(&sleep_on_stream, milliseconds, device, values);
}

// The write waits until the gate opens.
std::atomic<std::intptr_t> gates_made{0}, gates_open{0};

void await_gate(void* number) {
  while (gates_open.load() < reinterpret_cast<std::intptr_t>(number)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void write_gated(const at::Tensor& device, const at::Tensor& values) {
  write_behind(&await_gate, ++gates_made, device, values);
}

at::Tensor empty_kernel(at::IntArrayRef sizes, std::optional<at::ScalarType> type,
                        std::optional<at::Layout>, std::optional<Device>, std::optional<bool>,
                        std::optional<at::MemoryFormat>) {
  return empty(sizes, type.value_or(at::kFloat));
}

at::Tensor& copy_kernel(at::Tensor& self, const at::Tensor& from, bool) {
  copy_now(self, from);
  return self;
}

// div_kernel() takes 50 ms, so a caller without a wait reads wrong values.
at::Tensor& div_kernel(at::Tensor& self, const at::Tensor& divisor) {
  write_late(self, to_host(self).div_(divisor), 50);
  return self;
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("empty.memory_format", empty_kernel);
  library.impl("copy_", copy_kernel);
  library.impl("div_.Tensor", div_kernel);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) {
  static SoftGuard guard;
  const c10::impl::DeviceGuardImplRegistrar registered(DeviceType::CUDA, &guard);
  using release_gil = pybind11::call_guard<pybind11::gil_scoped_release>;
  module.def("to_device", &to_device, release_gil());
  module.def("to_host", &to_host, release_gil());
  module.def("write_late", &write_late, release_gil());
  module.def("write_gated", &write_gated, release_gil());
  module.def("open_gates", [] { gates_open = gates_made.load(); });
  module.def("set", &copy_now, release_gil());
  module.def("new_stream", [] { return reinterpret_cast<std::intptr_t>(make_stream()); });
  module.def("use_stream", [](std::intptr_t handle) { current = reinterpret_cast<void*>(handle); });
  module.def("begin_capture", [] { call("cuStreamBeginCapture_v2", current, 2); });
  module.def("end_capture", [] {
    void* graph = nullptr;
    call("cuStreamEndCapture", current, &graph);
    return reinterpret_cast<std::intptr_t>(graph);
  });
  module.def(
      "launch",
      [](std::intptr_t graph) {
        void* executable = nullptr;
        call("cuGraphInstantiateWithFlags", &executable, reinterpret_cast<void*>(graph), 0ull);
        call("cuGraphLaunch", executable, current);
        call("cuStreamSynchronize", current);
        call("cuGraphExecDestroy", executable);
      },
      release_gil());
  module.def(
      "synchronize", [] { call("cuStreamSynchronize", current); }, release_gil());
}
