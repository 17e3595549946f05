// SPDX-License-Identifier: Apache-2.0
#include "base/call_site.hpp"

#include <dlfcn.h>

#include "base/error.hpp"

namespace tern {

std::string call_site_in_words(const void* site) {
  Dl_info info{};
  if (site == nullptr || ::dladdr(site, &info) == 0 || info.dli_fname == nullptr) return "?";
  const auto* at = static_cast<const char*>(site);
  if (info.dli_sname != nullptr)
    return strf("%s(%s+0x%zx)", info.dli_fname, info.dli_sname,
                static_cast<size_t>(at - static_cast<const char*>(info.dli_saddr)));
  return strf("%s(+0x%zx)", info.dli_fname,
              static_cast<size_t>(at - static_cast<const char*>(info.dli_fbase)));
}

}  // namespace tern
