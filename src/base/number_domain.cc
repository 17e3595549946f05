// SPDX-License-Identifier: Apache-2.0
#include "base/number_domain.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

#include "base/digest.hpp"

namespace tern {

uint64_t number_domain() noexcept {
  static const uint64_t domain = [] {
    char space[64] = {};
    const ssize_t named = ::readlink("/proc/self/ns/pid", space, sizeof space);
    std::string boot;
    std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
    return digest_text({space, named > 0 ? static_cast<size_t>(named) : 0}, digest_text(boot));
  }();
  return domain;
}

}  // namespace tern
