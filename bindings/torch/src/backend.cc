// SPDX-License-Identifier: Apache-2.0
// The backend's life: options, split, hooks, coalescing, end.
#include "backend.hpp"

#include <algorithm>

namespace torch_tern {

namespace {

// Where options have a group's name: it becomes theirs, too. A template, as older versions have
// none.
template <class Pointer>
std::string take_name(const Pointer& from, Pointer& to) {
  if constexpr (requires { from->group_name; }) {
    if (from) {
      to->group_name = from->group_name;
      return "/" + from->group_name;
    }
  }
  return {};
}

}  // namespace

Backend::Backend(std::shared_ptr<Group> group, int rank, OptionsPointer options)
    : c10d::Backend(rank, static_cast<int>(group->ranks().size())),
      group_(std::move(group)),
      options_(std::move(options)) {
  init();
}

Backend::~Backend() = default;

void Backend::setTimeout(std::chrono::milliseconds timeout) {
  options_->timeout = timeout;
  group_->set_timeout(timeout);
}

void Backend::addEphemeralTimeout(const std::chrono::milliseconds& more) {
  group_->extend_timeout(more);
}

Error Backend::getError() {
  if (!group_->is_dead()) {
    return Error::SUCCESS;
  }
  return group_->timed_out() ? Error::TIMEOUT : Error::COMM_ERROR;
}

// What the first collective on the device would make.
void Backend::eagerConnectSingleDevice(at::Device device) {
  if (device.is_cuda() && StreamComm::is_possible(device) && !group_->stream_comm()) {
    Operation operation(group_, "init_process_group", Milliseconds(-1), true);
    operation.allow_stream();
    operation.use(device);
  }
}

void Backend::abort() { group_->end("it was aborted", false); }

// Not collective; the communicator is freed with the last operation and the backend.
void Backend::shutdown() {}

c10::intrusive_ptr<c10d::Backend> Backend::split(const c10::intrusive_ptr<c10d::Store>&,
                                                 const std::vector<int>& ranks,
                                                 const OptionsPointer& options) {
  const auto me = std::find(ranks.begin(), ranks.end(), rank_);
  if (me == ranks.end()) {
    return nullptr;
  }
  group_->refuse_dead();
  std::vector<int> members;
  for (const int rank : ranks) {
    TORCH_CHECK_VALUE(rank >= 0 && rank < size_, "tern: split names rank ", rank,
                      ", but the group has ranks 0..", size_ - 1);
    members.push_back(group_->ranks()[rank]);
  }
  auto own = c10::make_intrusive<c10d::Backend::Options>(
      "tern", options ? options->timeout : options_->timeout);
  const std::string name = group_->name() + "/split" + take_name(options, own);
  auto group = make_group(group_->session(), members, name, own->timeout);
  return c10::make_intrusive<Backend>(std::move(group), static_cast<int>(me - ranks.begin()), own);
}

#ifdef C10D_BACKEND_HAS_HOOKS
void Backend::registerAbortHook(int64_t id, c10d::AbortHook hook) {
  group_->set_abort_hook(id, std::move(hook));
}

void Backend::unregisterAbortHook(int64_t id) { group_->remove_abort_hook(id); }

void Backend::registerCompletionHook(int64_t id, c10d::CompletionHook hook) {
  const std::lock_guard lock(hooks_mutex_);
  completion_hooks_[id] = std::move(hook);
}

void Backend::unregisterCompletionHook(int64_t id) {
  const std::lock_guard lock(hooks_mutex_);
  completion_hooks_.erase(id);
}

void Backend::call_completion_hooks(std::uint64_t key) {
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

void Backend::startCoalescing() {
  is_coalescing_ = true;
  coalesced_.clear();
}

WorkPointer Backend::endCoalescing() {
  is_coalescing_ = false;
  return c10::make_intrusive<Works>(rank_, c10d::OpType::COALESCED, std::move(coalesced_));
}

Backend::OperationPointer Backend::start(const char* words, Milliseconds timeout, bool is_async) {
  auto operation =
      std::make_shared<Operation>(group_, words, timeout, !is_async && !is_coalescing_);
  operation->allow_stream();
  operation->set_sequence(group_->sequence++);
  return operation;
}

WorkPointer Backend::finish(const OperationPointer& operation, c10d::OpType type, const char* title,
                            const Tensors& inputs, const Tensors& outputs) {
  operation->set_value(c10::IValue(outputs), outputs);
  auto work = c10::make_intrusive<Work>(rank_, type, title, inputs, operation);
#ifdef C10D_BACKEND_HAS_HOOKS
  bool has_hooks = false;
  {
    const std::lock_guard lock(hooks_mutex_);
    has_hooks = !completion_hooks_.empty();
  }
  if (has_hooks) {
    auto self = c10::intrusive_ptr<Backend>::reclaim_copy(this);
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
    group_->remember(operation);
  }
  return work;
}

}  // namespace torch_tern
