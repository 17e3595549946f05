// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/environment.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "boot/shared_job.hpp"

namespace tern::mpirun {
namespace {

// Variables with these prefixes would make a rank a member of another job.
constexpr const char* kStrangers[] = {"PMIX_",
                                      "PMI_",
                                      "OMPI_COMM_WORLD_",
                                      "TERN_BOOT_FD=",
                                      "TERN_BOOT_PID=",
                                      "TERN_TRACE_FD=",
                                      "MPI_LOCALRANKID=",
                                      "MPI_LOCALNRANKS=",
                                      "SLURM_PROCID=",
                                      "SLURM_LOCALID=",
                                      "HYDI_",
                                      "PRTE_LAUNCHED="};

constexpr const char* kOfThisLogin[] = {"_=",        "DBUS_",    "DISPLAY=", "HOME=",   "HOST=",
                                        "HOSTNAME=", "LOGNAME=", "MAIL=",    "OLDPWD=", "PRTE_",
                                        "PWD=",      "SHELL=",   "SSH_",     "SHLVL=",  "TERM=",
                                        "USER=",     "WAYLAND",  "XAUTHO",   "XDG_"};

template <std::size_t N>
bool begins_with_one_of(const char* const (&prefixes)[N], const char* entry) {
  return std::any_of(std::begin(prefixes), std::end(prefixes), [entry](const char* prefix) {
    return std::strncmp(entry, prefix, std::strlen(prefix)) == 0;
  });
}

bool is_stranger(const char* entry) {
  return std::strncmp(entry, "PMIX_MCA_", 9) != 0 && begins_with_one_of(kStrangers, entry);
}

// Functions exported by bash have other names.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find_first_not_of(
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") ==
                              std::string::npos;
}

}  // namespace

Environment::Environment(const char* const* inherited, const JobFacts& facts) {
  for (; *inherited != nullptr; ++inherited)
    if (!is_stranger(*inherited)) common_.emplace_back(*inherited);
  const std::string size = std::to_string(facts.size);
  set("PMIX_NAMESPACE", facts.id);
  set("OMPI_COMM_WORLD_SIZE", size);
  set("OMPI_COMM_WORLD_LOCAL_SIZE", size);
  set("OMPI_UNIVERSE_SIZE", std::to_string(facts.universe_size));
  set("MPI_LOCALNRANKS", size);
}

void Environment::put(std::vector<std::string>& into, const std::string& name,
                      const std::string& value) {
  const std::string start = name + "=";
  for (std::string& entry : into)
    if (entry.compare(0, start.size(), start) == 0) {
      entry = start + value;
      return;
    }
  into.push_back(start + value);
}

void Environment::set(const std::string& name, const std::string& value) {
  put(common_, name, value);
}

void Environment::unset(const std::string& name) {
  const std::string start = name + "=";
  const auto named = [&start](const std::string& entry) {
    return entry.compare(0, start.size(), start) == 0;
  };
  common_.erase(std::remove_if(common_.begin(), common_.end(), named), common_.end());
}

char* const* Environment::of_rank(int rank, const Pairs& extra) {
  const std::string number = std::to_string(rank);
  own_.clear();
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                           "OMPI_COMM_WORLD_NODE_RANK", "MPI_LOCALRANKID"})
    own_.push_back(strf("%s=%s", name, number.c_str()));
  for (const auto& [name, value] : extra) put(own_, name, value);
  block_.clear();
  for (std::string& entry : own_) block_.push_back(entry.data());
  const auto replaced = [&extra](const std::string& entry) {
    return std::any_of(extra.begin(), extra.end(), [&entry](const auto& pair) {
      return entry.compare(0, pair.first.size() + 1, pair.first + "=") == 0;
    });
  };
  for (std::string& entry : common_)
    if (!replaced(entry)) block_.push_back(entry.data());
  block_.push_back(nullptr);
  return block_.data();
}

std::vector<std::string> names_for_other_hosts(const char* const* inherited) {
  std::vector<std::string> names;
  for (; *inherited != nullptr; ++inherited) {
    const char* equals = std::strchr(*inherited, '=');
    if (equals == nullptr || is_stranger(*inherited)) continue;
    std::string name(*inherited, equals);
    if (is_plain_name(name) && !begins_with_one_of(kOfThisLogin, *inherited))
      names.push_back(std::move(name));
  }
  return names;
}

}  // namespace tern::mpirun
