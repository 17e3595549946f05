// SPDX-License-Identifier: Apache-2.0
// drive_pmix_values: values of any type and content, as from a PMIx server.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "boot/pmix_value.hpp"
#include "tests/fuzz/bytes.hpp"

namespace tern::fuzz {

inline void drive_pmix_values(const uint8_t* data, size_t size) {
  Bytes bytes(data, size);
  pmix_value_t value{};
  value.type = bytes.take<uint8_t>();
  std::vector<std::byte> content;
  std::string text;
  if (value.type == PMIX_STRING) {
    text = bytes.text(size);
    value.data.string = bytes.take<uint8_t>() == 1 ? nullptr : text.data();
  } else if (value.type == PMIX_BYTE_OBJECT) {
    content = bytes.block(bytes.take<uint8_t>());
    value.data.bo.size = content.size();
    value.data.bo.bytes = content.empty() ? nullptr : reinterpret_cast<char*>(content.data());
    if (content.empty()) value.data.bo.size = bytes.take<uint16_t>();
  } else {
    value.data.uint64 = bytes.take<uint64_t>();
  }
  long long number = 0;
  if (boot::number_of(value, &number)) {
    const int narrow = boot::count_of(number, -1);
    TERN_ASSERT(narrow == -1 || narrow == number);
  }
  std::string taken;
  if (!boot::bytes_of(value, &taken)) return;
  TERN_ASSERT(taken.size() == std::max(text.size(), content.size()) || taken.size() < text.size());
  const std::vector<int> ranks = boot::ranks_of(taken, 1000);
  for (size_t i = 0; i < ranks.size(); ++i) {
    TERN_ASSERT(ranks[i] >= 0 && ranks[i] < 1000);
    TERN_ASSERT(i == 0 || ranks[i] > ranks[i - 1]);
  }
  static_cast<void>(boot::connection_info_of(taken));
}

}  // namespace tern::fuzz
