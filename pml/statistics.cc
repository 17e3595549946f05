// SPDX-License-Identifier: Apache-2.0
// P2p: its figures, added up when a tool asks.
#include "pml/p2p.hpp"

#include <algorithm>

namespace tern::pml {
namespace {

bool of_user(uint32_t context, const core::Communicator& communicator) noexcept {
  return context == wire::context_word(communicator.index(), static_cast<uint32_t>(Plane::kUser));
}

}  // namespace

void P2p::add_up(const core::Communicator* of, Statistics* sums) const noexcept {
  for (const auto& peer : peers_.all()) {
    const Traffic& sent = peer->sent;
    sums->eager += sent.eager;
    sums->eager_bytes += sent.eager_bytes;
    sums->announced += sent.announced;
    sums->announced_bytes += sent.announced_bytes;
    sums->in_fragments += sent.piped;
    sums->by_both_ends += sent.shared;
  }
  sums->received += requests_.received();
  sums->unexpected += early_;
  sums->most_kept = std::max(sums->most_kept, most_kept_);
  for (const Message* one = unexpected_.first(); one != nullptr; one = one->later) {
    if (of != nullptr && !of_user(one->key.context, *of)) continue;
    ++sums->kept;
    sums->kept_bytes += one->data.size();
  }
  if (of == nullptr)
    sums->posted += posted_.size();
  else
    for (const auto& receive : requests_.receives())
      if (Posted<RecvRequest>::holds(*receive) && of_user(receive->key.context, *of))
        ++sums->posted;
}

}  // namespace tern::pml
