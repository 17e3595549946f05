// SPDX-License-Identifier: Apache-2.0
#include "stream/earlier_error.hpp"

#include <optional>
#include <utility>

#include "coll/coll.hpp"

namespace tern::stream {

void EarlierError::keep(const Call& call, const Failure& failure) noexcept {
  if (const auto whole = whole_.lock()) {
    whole->keep(call, failure);
    return whole->tell_ranks(failure);
  }
  keep(tern::failure(failure.code, "%s, enqueued earlier, has failed: %s", call.name,
                     failure.text.c_str()));
}

void EarlierError::keep(const Failure& failure) noexcept {
  raise_(communicator_, failure);
  fate_.end(failure);
}

void EarlierError::tell_ranks(const Failure& failure) noexcept {
  if (std::exchange(told_ranks_, true)) return;
  shadow_.channel().coll->refusals().refuse(shadow_, false, failure, std::nullopt);
}

}  // namespace tern::stream
