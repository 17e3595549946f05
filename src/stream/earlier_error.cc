// SPDX-License-Identifier: Apache-2.0
#include "stream/earlier_error.hpp"

#include <new>
#include <optional>

#include "base/error.hpp"
#include "coll/coll.hpp"

namespace tern::stream {

int EarlierError::take_kept() noexcept {
  const std::lock_guard<std::mutex> guard(mutex_);
  const int code = code_.exchange(0);
  return code == 0 ? MPI_SUCCESS : fail(code, "%s", text_.c_str());
}

void EarlierError::keep(const Call& call, int code, const std::string& text) noexcept {
  if (const auto whole = whole_.lock()) {
    whole->keep(call, code, text);
    return whole->tell_ranks(code, text);
  }
  try {
    keep(code, strf("%s, which was enqueued earlier, has failed: %s", call.name, text.c_str()));
  } catch (const std::bad_alloc&) {
    code_.store(code, std::memory_order_release);
  }
}

void EarlierError::keep(int code, const std::string& words) noexcept {
  try {
    raise_(communicator_, code, words);
    const std::lock_guard<std::mutex> guard(mutex_);
    if (code_.load() != 0) return;
    text_ = words;
    code_.store(code, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    code_.store(code, std::memory_order_release);
  }
}

void EarlierError::tell_ranks(int code, const std::string& text) noexcept {
  if (std::exchange(told_ranks_, true)) return;
  (void)fail(code, "%s", text.c_str());
  shadow_.channel().coll->refusals().refuse(shadow_, false, code, std::nullopt);
}

}  // namespace tern::stream
