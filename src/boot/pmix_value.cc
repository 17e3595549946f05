// SPDX-License-Identifier: Apache-2.0
// Checks of values from a PMIx server.
#include "boot/pmix_value.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

namespace tern::boot {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;  // of a value that makes sense

bool fits(unsigned long long number, long long* out) noexcept {
  *out = static_cast<long long>(number);
  return number <= LLONG_MAX;
}

}  // namespace

bool number_of(const pmix_value_t& value, long long* out) noexcept {
  const auto& data = value.data;
  switch (value.type) {
    case PMIX_INT:
      *out = data.integer;
      return true;
    case PMIX_INT8:
      *out = data.int8;
      return true;
    case PMIX_INT16:
      *out = data.int16;
      return true;
    case PMIX_INT32:
      *out = data.int32;
      return true;
    case PMIX_INT64:
      *out = data.int64;
      return true;
    case PMIX_UINT:
      *out = data.uint;
      return true;
    case PMIX_UINT8:
      *out = data.uint8;
      return true;
    case PMIX_UINT16:
      *out = data.uint16;
      return true;
    case PMIX_UINT32:
      *out = data.uint32;
      return true;
    case PMIX_UINT64:
      return fits(data.uint64, out);
    case PMIX_SIZE:
      return fits(data.size, out);
    case PMIX_PROC_RANK:
      *out = data.rank;
      return true;
    default:
      return false;
  }
}

bool bytes_of(const pmix_value_t& value, std::string* out) {
  if (value.type == PMIX_STRING && value.data.string != nullptr) {
    *out = value.data.string;
    return true;
  }
  if (value.type != PMIX_BYTE_OBJECT) return false;
  const auto& object = value.data.bo;
  if (object.size > kMostBytes || (object.bytes == nullptr && object.size > 0)) return false;
  out->assign(object.size > 0 ? object.bytes : "", object.size);
  return true;
}

int count_of(long long number, int otherwise) noexcept {
  return number >= 0 && number <= INT_MAX ? static_cast<int>(number) : otherwise;
}

std::vector<int> ranks_of(const std::string& list, int size) {
  std::vector<int> ranks;
  for (const char* at = list.c_str(); *at != '\0';) {
    char* end = nullptr;
    const long rank = std::strtol(at, &end, 10);
    if (end == at) break;
    if (rank >= 0 && rank < size) ranks.push_back(static_cast<int>(rank));
    at = *end == ',' ? end + 1 : end;
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Card card_of(const std::string& bytes) noexcept {
  Card card{};
  std::memcpy(card.data(), bytes.data(), std::min(bytes.size(), card.size()));
  return card;
}

}  // namespace tern::boot
