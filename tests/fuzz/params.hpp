// SPDX-License-Identifier: Apache-2.0
// drive_params: any text as a tern.conf, as an environment, and as single values.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/params.hpp"
#include "tests/fuzz/bytes.hpp"

namespace tern::fuzz {

inline void drive_params(const uint8_t* data, size_t size) {
  const std::string text = Bytes(data, size).text(size);
  std::vector<std::string> complaints;
  Params params;
  params.take_file(text, "tern.conf", &complaints);
  const std::string entry = "TERN_" + text;
  const char* environment[] = {entry.c_str(), text.c_str(), nullptr};
  params.take_environment(environment, &complaints);
  const std::vector<ParamRow> rows = Params::rows();
  const ParamRow& row = rows[size % rows.size()];
  try {
    params.set(row.name, text);
    const std::string taken = params.get(row.name);
    params.set(row.name, taken);  // a printed value can be read
    TERN_ASSERT(params.get(row.name) == taken);
  } catch (const Error& error) {
    TERN_ASSERT(error.what()[0] != '\0');
  }
}

}  // namespace tern::fuzz
