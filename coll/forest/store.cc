// SPDX-License-Identifier: Apache-2.0
// PlanStore: files.
#include "coll/forest/store.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "coll/forest/form.hpp"
#include "coll/forest/graph.hpp"
#include "tern_config.h"

namespace tern::coll::forest {
namespace {

constexpr off_t kMostFile = off_t{16} << 20;

std::string plans_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return std::string(cache) + "/tern/plans";
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache/tern/plans" : "";
}

/// Facts behind a forest: the version, the graph, the routes' latencies, and the call.
std::string words_of_call(const Topology& topology, Collective collective, int32_t root) {
  const std::vector<int32_t> numbers = node_numbers(topology);
  std::vector<std::string> links;
  for (const Topology::Link& link : topology.links)
    links.push_back(strf("%d %d %lld %a\n", numbers[static_cast<size_t>(link.from)],
                         numbers[static_cast<size_t>(link.to)],
                         static_cast<long long>(link.capacity), link.latency));
  std::sort(links.begin(), links.end());
  std::string text =
      strf("%s %s %d %d\n", PACKAGE_VERSION, name_of(collective), root, topology.ranks());
  for (const std::string& line : links) text += line;
  for (const Topology::GivenRoute& route : topology.given) {
    text += strf("route %d", numbers[static_cast<size_t>(route.from)]);
    for (const int32_t link : route.links)
      text +=
          strf(" %d", numbers[static_cast<size_t>(topology.links[static_cast<size_t>(link)].to)]);
    text += "\n";
  }
  return text;
}

bool is_trusted(const struct stat& facts) noexcept {
  return S_ISREG(facts.st_mode) && facts.st_uid == ::geteuid() &&
         (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 && facts.st_size <= kMostFile;
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

}  // namespace

PlanStore::PlanStore(const std::string& asked) {
  if (asked == "off" || asked == "none" || asked.empty()) return;
  folder_ = asked == "auto" ? plans_folder() : absolute_or_empty(asked);
}

std::string PlanStore::path_of(const Topology& topology, Collective collective,
                               int32_t root) const {
  const std::string words = words_of_call(topology, collective, root);
  return strf("%s/%s-%016llx", folder_.c_str(), name_of(collective),
              static_cast<unsigned long long>(hash_of(words)));
}

std::optional<Forest> PlanStore::load(const Topology& topology, Collective collective,
                                      int32_t root) const {
  if (folder_.empty()) return {};
  const std::string path = path_of(topology, collective, root), text = whole_file(path);
  if (text.empty()) return {};
  try {
    const Forests forests = forests_in(text, path);
    if (forests.size() != 1 || forests[0].collective != collective || forests[0].root != root ||
        !certify(forests[0], topology).empty())
      return {};
    return forests[0];
  } catch (const Error&) {
    return {};
  }
}

void PlanStore::keep(const Topology& topology, const Forest& forest) const noexcept {
  if (folder_.empty()) return;
  (void)attempt(
      [&] {
        for (size_t slash = folder_.find('/', 1); slash != std::string::npos;
             slash = folder_.find('/', slash + 1))
          (void)::mkdir(folder_.substr(0, slash).c_str(), S_IRWXU);
        (void)::mkdir(folder_.c_str(), S_IRWXU);
        write_file(path_of(topology, forest.collective, forest.root), text_of({forest}));
        return Failure{};
      },
      [] { return Failure{}; });
}

}  // namespace tern::coll::forest
