// SPDX-License-Identifier: Apache-2.0
// The kernels of src/cuda/kernels for the host.
#include <atomic>
#include <cstring>
#include <deque>
#include <vector>

#include "tests/softcuda/shim/device_host.hpp"
// CUDA's stand-in must precede the kernels.
#include "cuda/kernels/kernels.cu"
#include "tests/softcuda/shim/test_kernels.cu"

namespace tern::softcuda {
namespace {

struct Registered {
  std::vector<TernHostKernel> kernels;
  std::vector<Body> bodies;
};
Registered& registered() {
  static Registered all;
  return all;
}

std::atomic<void* (*)(const void*)> translation{nullptr};
std::atomic<int (*)()> taking{nullptr};
std::atomic<void (*)()> giving{nullptr};
std::atomic<int (*)(const void*)> arriving{nullptr};
std::atomic<int (*)(const void*, void**, int)> copying{nullptr};

const TernHostKernel* find(const char* name) {
  for (const TernHostKernel& kernel : registered().kernels)
    if (std::strcmp(kernel.name, name) == 0) return &kernel;
  return nullptr;
}
void set_translate(void* (*translate)(const void*)) { translation.store(translate); }
void set_places(int (*take)(), void (*give)()) {
  giving.store(give);
  taking.store(take);
}
void set_arrival(int (*arrival)(const void*)) { arriving.store(arrival); }
void set_copies(int (*copies)(const void*, void**, int)) { copying.store(copies); }
int launch(const TernHostKernel* kernel, const TernLaunch* launch, const void* parameter, char* why,
           size_t room) {
  return run_grid(*kernel, *launch, parameter, why, room);
}

}  // namespace

Registration::Registration(TernHostKernel kernel, Body body) {
  registered().kernels.push_back(kernel);
  registered().bodies.push_back(body);
}

Body body_of(const TernHostKernel& kernel) noexcept {
  return registered().bodies[static_cast<size_t>(&kernel - registered().kernels.data())];
}

bool take_place() noexcept {
  int (*const take)() = taking.load(std::memory_order_acquire);
  return take == nullptr || take() != 0;
}
void give_place() noexcept {
  if (taking.load(std::memory_order_acquire) != nullptr) giving.load()();
}

Arrival arrival_at(const void* address) noexcept {
  int (*const arrival)(const void*) = arriving.load(std::memory_order_acquire);
  return arrival == nullptr ? Arrival::kInOrder : static_cast<Arrival>(arrival(address));
}

Copies copies_behind(const void* address) noexcept {
  Copies found;
  if (auto* const copies = copying.load(std::memory_order_acquire))
    found.count = copies(address, found.at, Copies::kMost);
  return found;
}

void* translate(const void* address) noexcept {
  auto* const translate = translation.load(std::memory_order_acquire);
  return translate != nullptr ? translate(address) : const_cast<void*>(address);
}

}  // namespace tern::softcuda

__attribute__((visibility("default"))) const TernHostKernels* tern_host_kernels(void) {
  using namespace tern::softcuda;
  static const TernHostKernels table = {TERN_HOST_KERNELS_VERSION,
                                        registered().kernels.size(),
                                        registered().kernels.data(),
                                        set_translate,
                                        set_places,
                                        set_arrival,
                                        set_copies,
                                        find,
                                        launch};
  return &table;
}
