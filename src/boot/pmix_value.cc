// SPDX-License-Identifier: Apache-2.0
// Checks of values from a PMIx server.
#include "boot/pmix_value.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"

namespace tern::boot {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

bool fits(unsigned long long number, long long* out) noexcept {
  *out = static_cast<long long>(number);
  return number <= LLONG_MAX;
}

using Version = std::array<int, 3>;

std::string numbers_of(std::string_view version) {
  constexpr const char* kDigits = "0123456789";
  version.remove_prefix(std::min(version.find_first_of(kDigits), version.size()));
  return std::string(version.substr(0, version.find_first_not_of("0123456789.")));
}

Version version_of(std::string_view version) {
  Version parts{};
  std::sscanf(numbers_of(version).c_str(), "%d.%d.%d", &parts[0], &parts[1], &parts[2]);
  return parts;
}

}  // namespace

bool number_of(const pmix_value_t& value, long long* out) noexcept {
  const auto& data = value.data;
  switch (value.type) {
    case PMIX_INT:
      *out = data.integer;
      return true;
    case PMIX_INT8:
      *out = int{data.int8};
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

const pmix_value_t* answer_to(const char* key, const pmix_info_t* answers,
                              std::size_t count) noexcept {
  for (std::size_t i = 0; i < count && answers != nullptr; ++i) {
    const pmix_value_t& value = answers[i].value;
    if (std::strncmp(answers[i].key, key, PMIX_MAX_KEYLEN) == 0) return &value;
    const bool nested = value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr &&
                        value.data.darray->type == PMIX_INFO;
    const pmix_value_t* inner =
        nested ? answer_to(key, static_cast<const pmix_info_t*>(value.data.darray->array),
                           value.data.darray->size)
               : nullptr;
    if (inner != nullptr) return inner;
  }
  return nullptr;
}

std::vector<int> members_of(const pmix_value_t& value, const char* job, int size) {
  if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr ||
      value.data.darray->type != PMIX_PROC || value.data.darray->array == nullptr)
    return {};
  const auto* members = static_cast<const pmix_proc_t*>(value.data.darray->array);
  std::vector<int> ranks;
  for (std::size_t i = 0; i < value.data.darray->size; ++i) {
    if (std::strncmp(members[i].nspace, job, PMIX_MAX_NSLEN) != 0) return {};
    const int rank = count_of(members[i].rank, size);
    if (rank >= size) return {};
    ranks.push_back(rank);
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

std::vector<std::string> names_of(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    if (end > begin) names.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

// Clients before 4.2.3 send a surplus byte in PMIx_Init. Servers from 5.0.9 on read a truncated
// list there, print an error, and continue.
std::string greeting_remark(std::string_view client, std::string_view server) {
  if (version_of(client) >= Version{4, 2, 3} || version_of(server) < Version{5, 0, 9}) return {};
  return strf(
      "libpmix here is version %s, the launcher's is %s: the launcher prints "
      "PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER once for each rank. The message is harmless; "
      "libpmix 4.2.3 and later avoid the message",
      numbers_of(client).c_str(), numbers_of(server).c_str());
}

ConnectionInfo connection_info_of(const std::string& bytes) noexcept {
  ConnectionInfo info{};
  std::memcpy(info.data(), bytes.data(), std::min(bytes.size(), info.size()));
  return info;
}

}  // namespace tern::boot
