// SPDX-License-Identifier: Apache-2.0
#include "base/config.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "base/fd.hpp"
#include "install_paths.hpp"

namespace tern {
namespace {

std::string behind_prefix(const char* folder) {
  const size_t length = std::strlen(TERN_PREFIX);
  return std::strncmp(folder, TERN_PREFIX, length) == 0 ? folder + length : "";
}

bool strip_end(std::string* text, const std::string& end) {
  if (end.empty() || text->size() < end.size() ||
      text->compare(text->size() - end.size(), end.size(), end) != 0)
    return false;
  text->resize(text->size() - end.size());
  return true;
}

/// XDG requires absolute paths.
std::string folder_from(const char* variable, const std::string& standard) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value == '/' ? value : standard;
}

std::string user_folder() {
  const char* home = std::getenv("HOME");
  return folder_from("XDG_CONFIG_HOME",
                     home != nullptr && *home == '/' ? std::string(home) + "/.config" : "");
}

bool read_file(const std::string& path, std::string* text, std::vector<std::string>* complaints) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char block[4096];
  ssize_t got = -1;
  while (file.valid() && (got = ::read(file.get(), block, sizeof block)) > 0)
    text->append(block, static_cast<size_t>(got));
  if (got == 0) return true;
  if (errno != ENOENT && errno != ENOTDIR && complaints != nullptr)
    complaints->push_back(strf("cannot read %s: %s", path.c_str(), std::strerror(errno)));
  return false;
}

}  // namespace

std::string install_prefix() {
  Dl_info info{};
  char real[PATH_MAX];
  if (::dladdr(reinterpret_cast<const void*>(&install_prefix), &info) == 0) return TERN_PREFIX;
  // A program's dli_fname is argv[0].
  const bool program = std::strstr(info.dli_fname, ".so") == nullptr;
  if (::realpath(program ? "/proc/self/exe" : info.dli_fname, real) == nullptr) return TERN_PREFIX;
  std::string folder(real, std::strrchr(real, '/'));
  if (strip_end(&folder, behind_prefix(TERN_BINDIR)) ||
      strip_end(&folder, behind_prefix(TERN_LIBDIR)))
    return folder;
  return TERN_PREFIX;
}

std::vector<std::string> config_files() {
  const std::string etc = behind_prefix(TERN_SYSCONFDIR);
  std::vector<std::string> files{(etc.empty() ? TERN_SYSCONFDIR : install_prefix() + etc) +
                                 "/tern.conf"};
  const std::string site = folder_from("XDG_CONFIG_DIRS", "/etc/xdg");
  for (size_t end = site.size(); end != std::string::npos && end > 0;) {
    const size_t colon = site.rfind(':', end - 1);
    const size_t from = colon == std::string::npos ? 0 : colon + 1;
    if (end > from) files.push_back(site.substr(from, end - from) + "/tern/tern.conf");
    end = colon;
  }
  if (const std::string user = user_folder(); !user.empty())
    files.push_back(user + "/tern/tern.conf");
  return files;
}

Params load_params(const char* const* environment, std::vector<std::string>* complaints) {
  Params params;
  for (const std::string& path : config_files()) {
    std::string text;
    if (read_file(path, &text, complaints)) params.take_file(text, path, complaints);
  }
  params.take_environment(environment, complaints);
  return params;
}

}  // namespace tern
