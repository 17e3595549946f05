// SPDX-License-Identifier: Apache-2.0
// PlanStore: files.
#include "coll/forest/store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "coll/forest/plan.hpp"
#include "coll/topology/canonical.hpp"
#include "mpi.h"
#include "tern_config.h"

namespace tern::coll::forest {
namespace {

std::string plans_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/tern/plans";
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/tern/plans" : "";
}

bool is_trusted(const struct stat& facts) noexcept {
  return S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
         facts.st_size <= static_cast<off_t>(PlanStore::kMostBytes);
}

std::string whole_file(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat facts {};
  if (!file.valid() || ::fstat(file.get(), &facts) != 0 || !is_trusted(facts)) return {};
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  return got == static_cast<ssize_t>(text.size()) ? text : std::string();
}

void write_file(const std::string& path, const std::string& text) {
  std::string fresh = path + ".XXXXXX";
  Fd file(::mkostemp(fresh.data(), O_CLOEXEC));  // 0600
  if (!file.valid()) return;
  const bool whole =
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!whole || ::rename(fresh.c_str(), path.c_str()) != 0) (void)::unlink(fresh.c_str());
}

std::string absolute_or_empty(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path made = std::filesystem::absolute(path, failed);
  return failed ? std::string() : made.string();
}

void make_folders(const std::string& folder) {
  for (size_t slash = folder.find('/', 1); slash != std::string::npos;
       slash = folder.find('/', slash + 1))
    (void)::mkdir(folder.substr(0, slash).c_str(), S_IRWXU);
  (void)::mkdir(folder.c_str(), S_IRWXU);
}

std::string text_within(Forests forests, size_t most) {
  std::string text = text_of(forests);
  while (text.size() > most) {
    forests.pop_back();
    text = text_of(forests);
  }
  return text;
}

}  // namespace

Forests certified_forests(const std::string& text, const std::string& name,
                          const Topology& machine) {
  Forests forests = forests_in(text, name);
  for (const Forest& one : forests) {
    if (one.k > kMostTrees)
      throw Error(MPI_ERR_ARG, strf("%s: k is %d, above %d", name.c_str(), one.k, kMostTrees));
    if (const std::string fault = certify(one, machine); !fault.empty())
      throw Error(MPI_ERR_ARG, name + ": " + fault);
  }
  return forests;
}

PlanStore::PlanStore(const std::string& asked) {
  if (asked == "off" || asked == "none" || asked.empty()) return;
  folder_ = asked == "auto" ? plans_folder() : absolute_or_empty(asked);
}

std::string PlanStore::path_of(const Topology& machine) const {
  const uint64_t hash =
      hash_of(strf("%s\n%d\n", PACKAGE_VERSION, machine.ranks()) + canonical_text(machine));
  return strf("%s/forests-%016llx", folder_.c_str(), static_cast<unsigned long long>(hash));
}

Forests PlanStore::load(const Topology& machine) const {
  if (folder_.empty()) return {};
  const std::string path = path_of(machine), text = whole_file(path);
  if (text.empty()) return {};
  try {
    return certified_forests(text, path, machine);
  } catch (const Error&) {
    return {};
  }
}

void PlanStore::keep(const Topology& machine, const Forests& forests) const noexcept {
  if (folder_.empty()) return;
  (void)attempt(
      [&] {
        make_folders(folder_);
        write_file(path_of(machine), text_within(forests, kMostBytes));
        return Failure{};
      },
      [] { return Failure{}; });
}

}  // namespace tern::coll::forest
