// SPDX-License-Identifier: Apache-2.0
// Options, timeouts, hooks, coalescing and shutdown. Turns operations into Works.
#include "lifecycle.hpp"

namespace torch_tern {

Lifecycle::Lifecycle(std::shared_ptr<Group> group, int rank, OptionsPointer options)
    : c10d::Backend(rank, group->size()), group_(std::move(group)), options_(std::move(options)) {
  init();
}

void Lifecycle::setTimeout(std::chrono::milliseconds timeout) {
  options_->timeout = timeout;
  group_->timeouts.set_usual(timeout);
}

void Lifecycle::addEphemeralTimeout(const std::chrono::milliseconds& more) {
  group_->timeouts.extend(more);
}

Error Lifecycle::getError() {
  if (!group_->fate().dead()) {
    return Error::SUCCESS;
  }
  return group_->fate().by_timeout() ? Error::TIMEOUT : Error::COMM_ERROR;
}

void Lifecycle::eagerConnectSingleDevice(at::Device device) {
  if (device.is_cuda() && StreamComm::is_possible(device) && !group_->stream_comm()) {
    Operation operation(group_, "init_process_group", Milliseconds(-1), true);
    operation.on_device().allow_stream();
    operation.on_device().use(device);
  }
}

void Lifecycle::abort() { group_->end("it was aborted"); }

// Shutdown is local, because the last owner frees the communicator.
void Lifecycle::shutdown() {}

#ifdef C10D_BACKEND_HAS_HOOKS
void Lifecycle::registerAbortHook(int64_t id, c10d::AbortHook hook) {
  group_->fate().set_abort_hook(id, std::move(hook));
}

void Lifecycle::unregisterAbortHook(int64_t id) { group_->fate().remove_abort_hook(id); }

void Lifecycle::registerCompletionHook(int64_t id, c10d::CompletionHook hook) {
  const std::lock_guard lock(hooks_mutex_);
  completion_hooks_[id] = std::move(hook);
}

void Lifecycle::unregisterCompletionHook(int64_t id) {
  const std::lock_guard lock(hooks_mutex_);
  completion_hooks_.erase(id);
}

void Lifecycle::call_completion_hooks(std::uint64_t key) {
  std::vector<c10d::CompletionHook> hooks;
  {
    const std::lock_guard lock(hooks_mutex_);
    for (const auto& [id, hook] : completion_hooks_) {
      hooks.push_back(hook);
    }
  }
  for (const auto& hook : hooks) {
    hook({key, std::nullopt});
  }
}
#endif

void Lifecycle::startCoalescing() {
  is_coalescing_ = true;
  coalesced_.clear();
}

WorkPointer Lifecycle::endCoalescing() {
  is_coalescing_ = false;
  return c10::make_intrusive<Works>(rank_, c10d::OpType::COALESCED, std::move(coalesced_));
}

Lifecycle::OperationPointer Lifecycle::start(const char* words, Milliseconds timeout,
                                             bool is_async) {
  auto operation =
      std::make_shared<Operation>(group_, words, timeout, !is_async && !is_coalescing_);
  operation->on_device().allow_stream();
  operation->set_sequence(group_->sequence++);
  return operation;
}

WorkPointer Lifecycle::finish(const OperationPointer& operation, c10d::OpType type,
                              const char* title, const Tensors& inputs, const Tensors& outputs) {
  operation->set_value(c10::IValue(outputs), outputs);
  auto work = c10::make_intrusive<Work>(rank_, type, title, inputs, operation);
#ifdef C10D_BACKEND_HAS_HOOKS
  bool has_hooks = false;
  {
    const std::lock_guard lock(hooks_mutex_);
    has_hooks = !completion_hooks_.empty();
  }
  if (has_hooks) {
    auto self = c10::intrusive_ptr<Lifecycle>::reclaim_copy(this);
    operation->set_completion_hook(
        [self, key = work->getCompletionKey()] { self->call_completion_hooks(key); });
  }
#endif
  operation->begin();
  if (is_coalescing_) {
    coalesced_.push_back(work);
  } else if (operation->is_sync()) {
    operation->wait(Milliseconds::zero());
  } else {
    group_->remembered.add(operation);
  }
  return work;
}

}  // namespace torch_tern
