// SPDX-License-Identifier: Apache-2.0
#include "stream/backlog.hpp"

#include <new>
#include <utility>

namespace tern::stream {

Backlog::~Backlog() {
  const std::lock_guard<std::mutex> guard(released_->mutex);
  released_->ended = true;
  GraphHold* hold = released_->first.exchange(nullptr);
  while (hold != nullptr) delete std::exchange(hold, hold->next);
}

void Backlog::count_outstanding(cuda::Device& device, int more) noexcept {
  device.count_waiting(more);
  if (outstanding_.fetch_add(more) != 0 || more < 0) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  woken_.notify_one();
}

void Backlog::count_captured(int more) noexcept {
  if (captured_.fetch_add(more) != 0 || more < 0) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  woken_.notify_one();
}

void Backlog::give_to_graph(const Stream& stream, const Capture& capture, Calls& of,
                            uint32_t number) noexcept {
  const cuda::Driver& driver = stream.device().driver;
  if (driver.cuUserObjectCreate == nullptr || driver.cuGraphRetainUserObject == nullptr ||
      capture.graph == nullptr)
    return;
  auto* const hold = new (std::nothrow) GraphHold{released_, &of, number, nullptr};
  if (hold == nullptr) return;
  const cuda::Current current(stream.device());
  CUuserObject object = nullptr;
  if (driver.cuUserObjectCreate(&object, hold, end_hold, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) !=
      CUDA_SUCCESS) {
    delete hold;
    return;
  }
  if (driver.cuGraphRetainUserObject(capture.graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE) !=
      CUDA_SUCCESS)
    (void)driver.cuUserObjectRelease(object, 1);  // calls end_hold()
}

void Backlog::end_hold(void* given) noexcept {
  auto* const hold = static_cast<GraphHold*>(given);
  const std::shared_ptr<Released> released = hold->released;
  const std::lock_guard<std::mutex> guard(released->mutex);
  if (released->ended) {
    delete hold;
    return;
  }
  hold->next = released->first.load();
  released->first.store(hold, std::memory_order_release);
}

GraphHold* Backlog::take_released() noexcept {
  if (TERN_LIKELY(released_->first.load(std::memory_order_relaxed) == nullptr)) return nullptr;
  const std::lock_guard<std::mutex> guard(released_->mutex);
  return released_->first.exchange(nullptr);
}

}  // namespace tern::stream
