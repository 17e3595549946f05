// SPDX-License-Identifier: Apache-2.0
#include "io/hints.hpp"

#include <optional>
#include <string>

namespace tern::io {
namespace {

Exchanging exchanging_of(const std::string& word, Exchanging before) noexcept {
  return word == "enable"      ? Exchanging::kAlways
         : word == "disable"   ? Exchanging::kNever
         : word == "automatic" ? Exchanging::kAuto
                               : before;
}

const char* word_of(Exchanging value) noexcept {
  return value == Exchanging::kAlways  ? "enable"
         : value == Exchanging::kNever ? "disable"
                                       : "automatic";
}

}  // namespace

void Hints::set(const core::Info& info) {
  if (const auto word = info.get("romio_cb_write"); word)
    exchange_writes_ = exchanging_of(*word, exchange_writes_);
  if (const auto word = info.get("romio_cb_read"); word)
    exchange_reads_ = exchanging_of(*word, exchange_reads_);
}

core::Ref<core::Info> Hints::used() const {
  auto info = core::Ref<core::Info>::adopt(new core::Info);
  info->set("romio_cb_write", word_of(exchange_writes_));
  info->set("romio_cb_read", word_of(exchange_reads_));
  return info;
}

}  // namespace tern::io
