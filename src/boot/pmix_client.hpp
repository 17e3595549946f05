// SPDX-License-Identifier: Apache-2.0
// Queries to a PMIx server, with owned answers. Threads: one caller at a time.
#pragma once

#include <pmix.h>

#include <string>

#include "boot/pmix_library.hpp"

namespace tern::boot {

inline constexpr int kPmixSeconds = 10;

[[nodiscard]] pmix_info_t pmix_flag(const char* key) noexcept;
[[nodiscard]] pmix_info_t pmix_seconds(const char* key, int seconds) noexcept;
/// The result keeps a pointer to `value`.
[[nodiscard]] pmix_info_t pmix_text(const char* key, const std::string& value) noexcept;

class PmixValue {
 public:
  PmixValue(const PmixLibrary& pmix, pmix_value_t* value) noexcept : pmix_(pmix), value_(value) {}
  PmixValue(const PmixValue&) = delete;
  PmixValue& operator=(const PmixValue&) = delete;
  ~PmixValue();
  [[nodiscard]] bool number(long long* out) const noexcept;
  [[nodiscard]] bool bytes(std::string* out) const;

 private:
  const PmixLibrary& pmix_;
  pmix_value_t* value_;
};

class PmixQuery {
 public:
  PmixQuery(const PmixLibrary& pmix, const char* key, const pmix_info_t* about = nullptr);
  PmixQuery(const PmixQuery&) = delete;
  PmixQuery& operator=(const PmixQuery&) = delete;
  ~PmixQuery();
  [[nodiscard]] const pmix_value_t* answer() const noexcept;

 private:
  const PmixLibrary& pmix_;
  const char* key_;
  pmix_info_t* answers_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace tern::boot
