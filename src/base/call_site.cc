// SPDX-License-Identifier: Apache-2.0
#include "base/call_site.hpp"

#include <dlfcn.h>

#include "base/error.hpp"
#include "tern_config.h"

#ifdef HAVE_LIBBACKTRACE
#include <backtrace.h>
#endif

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

#ifdef HAVE_LIBBACKTRACE
namespace {

void no_source(void*, const char*, int) {}

/// The innermost function comes first; inlined functions follow.
int take_source(void* data, std::uintptr_t, const char* file, int line, const char* function) {
  if (file != nullptr && function != nullptr)
    *static_cast<std::string*>(data) = strf("%s:%d(%s)", file, line, function);
  return file != nullptr ? 1 : 0;
}

}  // namespace

std::string source_of_call(std::uintptr_t address) {
  static backtrace_state* const state = ::backtrace_create_state(nullptr, 1, no_source, nullptr);
  std::string text;
  if (state != nullptr) ::backtrace_pcinfo(state, address, take_source, no_source, &text);
  return text;
}
#else
std::string source_of_call(std::uintptr_t) { return {}; }
#endif

}  // namespace tern
