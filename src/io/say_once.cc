// SPDX-License-Identifier: Apache-2.0
#include "io/say_once.hpp"

#include <mutex>
#include <set>

#include "base/log.hpp"

namespace tern::io {

void say_once(const std::string& sentence) {
  static std::mutex mutex;
  static auto& said = *new std::set<std::string>;  // outlives the program's own objects
  const std::lock_guard<std::mutex> lock(mutex);
  if (said.insert(sentence).second) log_line("%s", sentence.c_str());
}

}  // namespace tern::io
