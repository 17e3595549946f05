// SPDX-License-Identifier: Apache-2.0
#include "stream/call.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "base/attempt.hpp"
#include "core/progress.hpp"

namespace tern::stream {

namespace {

template <class Work>
Failure result_of(const char* name, Work&& work) noexcept {
  return attempt(
      [&] {
        const int code = work();
        return code == MPI_SUCCESS ? Failure{} : Failure{code, take_last_error().text};
      },
      [&] { return failure(MPI_ERR_NO_MEM, "no memory for the host's part of %s", name); });
}

}  // namespace

Failure Pass::begin(std::byte* half) noexcept {
  return result_of(call->name, [&] { return call->begin(number, half, &requests); });
}

Failure Pass::end(std::byte* half, const core::Outcome& first) noexcept {
  return result_of(call->name, [&] { return call->end(number, half, first); });
}

bool Pass::done() const noexcept {
  return std::all_of(requests.begin(), requests.end(),
                     [](const core::Request* one) { return one->done(); });
}

Failure Pass::collect(core::Outcome* first) noexcept {
  Failure why;
  if (!requests.empty()) *first = requests.front()->outcome;
  for (core::Request* one : requests) {
    if (!why && one->outcome.error != MPI_SUCCESS)
      why = failure(one->outcome.error, "%s",
                    one->error_text != nullptr ? one->error_text->c_str() : "the operation failed");
    one->let_communicator_go();
    one->release();
  }
  requests.clear();
  return why;
}

void Pass::describe(WaitReport* report) const {
  for (const core::Request* one : requests)
    if (!one->done()) return one->describe(report);
}

int run_now(core::Progress& progress, Call& call, size_t chunk) noexcept {
  const std::unique_ptr<std::byte[]> half(new (std::nothrow) std::byte[chunk]);
  if (half == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for %zu bytes", chunk);
  for (Pass pass{&call, 0, {}}; pass.number < call.passes; ++pass.number) {
    Failure why = pass.begin(half.get());
    {
      const core::ChannelLock lock(progress);
      progress.wait([&] { return pass.done(); },
                    [&](WaitReport* report) { pass.describe(report); });
    }
    core::Outcome first;
    Failure collected = pass.collect(&first);
    if (!why) why = std::move(collected);
    if (!why) why = pass.end(half.get(), first);
    if (!why) continue;
    call.failed(why.code);
    return fail(why);
  }
  return MPI_SUCCESS;
}

}  // namespace tern::stream
