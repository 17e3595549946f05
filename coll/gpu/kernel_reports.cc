// SPDX-License-Identifier: Apache-2.0
#include "coll/gpu/kernel_reports.hpp"

#include <atomic>

namespace tern::coll {
namespace {

using cuda::KernelReport;

template <class Word>
Word get(Word& word) noexcept {
  return std::atomic_ref<Word>(word).load(std::memory_order_relaxed);
}

}  // namespace

std::optional<KernelReports::Said> KernelReports::waiting() const noexcept {
  return find(KernelReport::kWaits);
}

std::optional<KernelReports::Said> KernelReports::given_up() const noexcept {
  const auto late = find(KernelReport::kLate);
  return late ? late : find(KernelReport::kTold);
}

std::optional<KernelReports::Said> KernelReports::find(uint32_t state) const noexcept {
  for (int part = 0; part < count_ && reports_ != nullptr; ++part) {
    KernelReport& one = reports_[part];
    if (std::atomic_ref<uint32_t>(one.state).load(std::memory_order_acquire) != state) continue;
    return Said{part,
                {state, get(one.number), get(one.peer), get(one.message), get(one.step),
                 get(one.call), get(one.pass), 0}};
  }
  return std::nullopt;
}

}  // namespace tern::coll
