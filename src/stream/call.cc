// SPDX-License-Identifier: Apache-2.0
#include "stream/call.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "base/error.hpp"
#include "core/progress.hpp"

namespace tern::stream {

int Pass::begin(std::byte* half) noexcept {
  try {
    return call->begin(number, half, &requests);
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no memory for what %s needs of the host", call->name);
  } catch (const Error& error) {
    return fail(error);
  }
}

bool Pass::done() const noexcept {
  return std::all_of(requests.begin(), requests.end(),
                     [](const core::Request* one) { return one->done(); });
}

int Pass::collect(core::Outcome* first) noexcept {
  int code = MPI_SUCCESS;
  std::string text;
  if (!requests.empty()) *first = requests.front()->outcome;
  for (core::Request* one : requests) {
    if (code == MPI_SUCCESS && one->outcome.error != MPI_SUCCESS) {
      code = one->outcome.error;
      text = one->error_text != nullptr ? *one->error_text : "the operation failed";
    }
    one->let_communicator_go();
    one->release();
  }
  requests.clear();
  return code == MPI_SUCCESS ? code : fail(code, "%s", text.c_str());
}

void Pass::describe(WaitReport* report) const {
  for (const core::Request* one : requests)
    if (!one->done()) return one->describe(report);
}

int run_now(core::Progress& progress, Call& call, size_t chunk) noexcept {
  const std::unique_ptr<std::byte[]> half(new (std::nothrow) std::byte[chunk]);
  if (half == nullptr) return fail(MPI_ERR_NO_MEM, "no memory for %zu bytes", chunk);
  for (Pass pass{&call, 0, {}}; pass.number < call.passes; ++pass.number) {
    int code = pass.begin(half.get());
    {
      const core::ChannelLock lock(progress);
      progress.wait([&] { return pass.done(); },
                    [&](WaitReport* report) { pass.describe(report); });
    }
    core::Outcome first;
    const std::string why = code == MPI_SUCCESS ? std::string() : take_last_error().text;
    const int ended = pass.collect(&first);
    if (code != MPI_SUCCESS) code = fail(code, "%s", why.c_str());
    if (code == MPI_SUCCESS) code = ended;
    if (code == MPI_SUCCESS) code = call.end(pass.number, half.get(), first);
    if (code == MPI_SUCCESS) continue;
    call.failed(code);
    return code;
  }
  return MPI_SUCCESS;
}

}  // namespace tern::stream
