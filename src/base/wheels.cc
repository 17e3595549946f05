// SPDX-License-Identifier: Apache-2.0
// Reads the file RECORD of each package: lines "path,hash,bytes", by path. Sorted paths, as pip
// writes them, begin with "../../../bin", so the first block has the claim of a launcher.
#include "base/wheels.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/fd.hpp"

namespace tern {
namespace {

constexpr std::array<std::string_view, 4> kWheelFiles = {"lib/libmpi_abi.so.1", "bin/mpirun",
                                                         "bin/mpicc", "include/mpi.h"};
constexpr const char* kWheelMark = "/share/tern/wheel";
constexpr size_t kRecordHead = 16384;  // bytes

std::vector<std::string> names_in(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> opened(::opendir(folder.c_str()), ::closedir);
  std::vector<std::string> names;
  while (const dirent* entry = opened ? ::readdir(opened.get()) : nullptr)
    names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

// The first lines of a RECORD, if the first names a file outside the package's folder.
std::string record_head(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char start[2];
  if (!file.valid() || ::pread(file.get(), start, sizeof start, 0) != 2 || start[0] != '.' ||
      start[1] != '.')
    return {};
  std::string head(kRecordHead, '\0');
  const ssize_t got = ::pread(file.get(), head.data(), head.size(), 0);
  head.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return head;
}

std::string mark_of(const std::string& prefix) {
  const Fd file(::open((prefix + kWheelMark).c_str(), O_RDONLY | O_CLOEXEC));
  char mark[256];
  const ssize_t got = file.valid() ? ::read(file.get(), mark, sizeof mark) : 0;
  return {mark, got > 0 ? static_cast<size_t>(got) : 0};
}

struct WheelClaim {
  std::string package;
  std::vector<std::string_view> files;
};

// lib/x is "../../../lib/x", or shorter "../../x".
bool claims(const std::string& head, std::string_view file) {
  const std::string whole = "../" + std::string(file) + ",";
  if (head.find(whole) != std::string::npos) return true;
  return file.starts_with("lib/") &&
         head.find("../" + std::string(file.substr(4)) + ",") != std::string::npos;
}

WheelClaim claim_of(const std::string& package, const std::string& head) {
  WheelClaim claim{package, {}};
  std::copy_if(kWheelFiles.begin(), kWheelFiles.end(), std::back_inserter(claim.files),
               [&](std::string_view file) { return claims(head, file); });
  return claim;
}

void add_claims(const std::string& packages, std::vector<WheelClaim>* claims) {
  constexpr std::string_view kDistInfo = ".dist-info";
  for (const std::string& name : names_in(packages)) {
    if (!name.ends_with(kDistInfo)) continue;
    WheelClaim claim =
        claim_of(name.substr(0, std::min(name.find('-'), name.size() - kDistInfo.size())),
                 record_head(packages + "/" + name + "/RECORD"));
    if (!claim.files.empty() && claim.package != "tern_mpi") claims->push_back(std::move(claim));
  }
}

// lib64 may be a link to lib.
std::vector<WheelClaim> claims_below(const std::string& prefix) {
  std::vector<WheelClaim> claims;
  for (const char* lib : {"/lib", "/lib64"}) {
    for (const std::string& python : names_in(prefix + lib))
      if (python.starts_with("python3"))
        for (const char* packages : {"/site-packages", "/dist-packages"})
          add_claims(prefix + lib + "/" + python + packages, &claims);
    if (!claims.empty()) break;
  }
  return claims;
}

long bytes_of(const std::string& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? static_cast<long>(found.st_size) : -1;
}

std::string removed(const std::string& prefix) {
  for (const std::string_view file : kWheelFiles)
    if (const std::string path = prefix + "/" + std::string(file); bytes_of(path) < 0)
      return strf(
          "%s of the wheel tern-mpi is missing, perhaps removed with another MPI's wheel: pip "
          "install --force-reinstall FILE, the tern_mpi-*.whl of the release",
          path.c_str());
  return {};
}

}  // namespace

std::string wheel_conflict(const std::string& prefix) {
  const std::string mark = mark_of(prefix);
  if (mark.empty()) return {};
  const std::vector<WheelClaim> others = claims_below(prefix);
  if (others.empty()) return removed(prefix);
  const WheelClaim& other = others.front();
  std::string files;
  for (const std::string_view file : other.files)
    files += (files.empty() ? "" : ", ") + std::string(file);
  const std::string library(kWheelFiles[0]);
  const bool ours = mark.find(strf("%s %ld\n", library.c_str(),
                                   bytes_of(prefix + "/" + library))) != std::string::npos;
  return strf(
      "the wheels tern-mpi and %s both own files of %s (%s), and the library is %s's: keep one, by "
      "pip uninstall %s and pip install --force-reinstall FILE, the tern_mpi-*.whl of the release",
      other.package.c_str(), prefix.c_str(), files.c_str(), ours ? "Tern" : other.package.c_str(),
      other.package.c_str());
}

}  // namespace tern
