// SPDX-License-Identifier: Apache-2.0
#include "api/dynamic/names.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/ended.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "boot/ways.hpp"
#include "mpi.h"

namespace tern::api {
namespace {

using boot::this_host;

std::string folder() {
  if (const char* chosen = std::getenv("TERN_NAMES"); chosen != nullptr && *chosen != '\0')
    return chosen;
  if (const char* runtime = std::getenv("XDG_RUNTIME_DIR"); runtime != nullptr && *runtime != '\0')
    return std::string(runtime) + "/tern-names";
  return strf("/tmp/tern-names-%u", static_cast<unsigned>(::getuid()));
}

/// A folder of another user could redirect connections.
int require_own(const std::string& path) {
  if (::mkdir(path.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return fail(MPI_ERR_SERVICE, "the folder of names %s (TERN_NAMES): %s", path.c_str(),
                std::strerror(errno));
  struct stat facts {};
  if (::lstat(path.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode) || facts.st_uid != ::getuid() ||
      (facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(MPI_ERR_SERVICE,
                "the folder of names %s is not a folder of this user; TERN_NAMES chooses another",
                path.c_str());
  return MPI_SUCCESS;
}

/// Letters and digits stay, other bytes become %XX.
std::string file_of(const std::string& service) {
  std::string name = folder() + "/";
  for (const unsigned char c : service)
    name += std::isalnum(c) != 0 || c == '-' || c == '_' ? std::string(1, static_cast<char>(c))
                                                         : strf("%%%02X", c);
  return name;
}

struct Entry {
  std::string port, host;
  pid_t pid = 0;
};

bool read(const std::string& path, Entry* entry) {
  std::ifstream file(path);
  return static_cast<bool>(file >> entry->port >> entry->pid >> entry->host);
}

/// A dead owner's entry goes.
bool is_stale(const Entry& entry) { return entry.host == this_host() && has_ended(entry.pid); }

}  // namespace

int publish_service(const std::string& service, const std::string& port) {
  if (port.empty() || port.size() >= MPI_MAX_PORT_NAME ||
      port.find_first_of(" \t\n") != std::string::npos)
    return fail(MPI_ERR_PORT, "port_name \"%s\" is not a port of MPI_Open_port", port.c_str());
  if (const int code = require_own(folder()); code != MPI_SUCCESS) return code;
  const std::string path = file_of(service);
  if (Entry old; read(path, &old) && is_stale(old)) ::unlink(path.c_str());
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.valid())
    return errno == EEXIST
               ? fail(MPI_ERR_SERVICE, "service_name \"%s\" is published already", service.c_str())
               : fail(MPI_ERR_SERVICE, "service_name \"%s\": %s: %s", service.c_str(), path.c_str(),
                      std::strerror(errno));
  const std::string text = strf("%s %d %s\n", port.c_str(), ::getpid(), this_host().c_str());
  if (::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()))
    return MPI_SUCCESS;
  ::unlink(path.c_str());
  return fail(MPI_ERR_SERVICE, "service_name \"%s\": %s cannot be written", service.c_str(),
              path.c_str());
}

int unpublish_service(const std::string& service) {
  if (const int code = require_own(folder()); code != MPI_SUCCESS) return code;
  if (::unlink(file_of(service).c_str()) == 0) return MPI_SUCCESS;
  return fail(MPI_ERR_SERVICE, "service_name \"%s\" is not published", service.c_str());
}

int look_up_service(const std::string& service, std::string* port) {
  if (const int code = require_own(folder()); code != MPI_SUCCESS) return code;
  Entry entry;
  const std::string path = file_of(service);
  if (read(path, &entry)) {
    if (!is_stale(entry) && entry.port.size() < MPI_MAX_PORT_NAME) {
      *port = entry.port;
      return MPI_SUCCESS;
    }
    ::unlink(path.c_str());
  }
  return fail(
      MPI_ERR_NAME,
      "no process has published the service_name \"%s\" (in %s; TERN_NAMES chooses the folder)",
      service.c_str(), folder().c_str());
}

}  // namespace tern::api
