// SPDX-License-Identifier: Apache-2.0
// PmixValue, PmixQuery: queries to a PMIx server.
#include "boot/pmix_client.hpp"

#include <cstdlib>
#include <cstring>

#include "boot/pmix_value.hpp"

namespace tern::boot {

pmix_info_t pmix_flag(const char* key) noexcept {
  pmix_info_t info{};
  std::strncpy(info.key, key, PMIX_MAX_KEYLEN);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

pmix_info_t pmix_seconds(const char* key, int seconds) noexcept {
  pmix_info_t info = pmix_flag(key);
  info.value.type = PMIX_INT;
  info.value.data.integer = seconds;
  return info;
}

pmix_info_t pmix_text(const char* key, const std::string& value) noexcept {
  pmix_info_t info = pmix_flag(key);
  info.value.type = PMIX_STRING;
  info.value.data.string = const_cast<char*>(value.c_str());
  return info;
}

PmixValue::~PmixValue() {
  if (value_ == nullptr) return;
  pmix_.Value_destruct(value_);
  std::free(value_);
}

bool PmixValue::number(long long* out) const noexcept {
  return value_ != nullptr && number_of(*value_, out);
}

bool PmixValue::bytes(std::string* out) const {
  return value_ != nullptr && bytes_of(*value_, out);
}

PmixQuery::PmixQuery(const PmixLibrary& pmix, const char* key, const pmix_info_t* about)
    : pmix_(pmix), key_(key) {
  char* keys[] = {const_cast<char*>(key), nullptr};
  pmix_info_t qualifiers[2] = {pmix_seconds(PMIX_TIMEOUT, kPmixSeconds)};
  if (about != nullptr) qualifiers[1] = *about;
  pmix_query_t query{};
  query.keys = keys;
  query.qualifiers = qualifiers;
  query.nqual = about == nullptr ? 1 : 2;
  if (pmix_.Query_info(&query, 1, &answers_, &count_) != PMIX_SUCCESS) count_ = 0;
}

PmixQuery::~PmixQuery() {
  for (std::size_t i = 0; i < count_; ++i) pmix_.Value_destruct(&answers_[i].value);
  std::free(answers_);
}

const pmix_value_t* PmixQuery::answer() const noexcept { return answer_to(key_, answers_, count_); }

}  // namespace tern::boot
