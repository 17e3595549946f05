// SPDX-License-Identifier: Apache-2.0
#include "base/learnt_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <utility>

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "base/fd.hpp"
#include "mpi.h"
#include "tern_config.h"

namespace tern {
namespace {

constexpr size_t kHead = 512;
constexpr const char* kAnyOrder = "any order";

/// The hash is equal on all builds, unlike std::hash.
uint64_t hash_of(const std::string& text) noexcept {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

std::string cache_folder() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return cache;
  const char* const home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.cache" : "";
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::string calls_of(const std::string& line) {
  std::istringstream stream(line.substr(0, line.find('#')));
  std::string collective, ranks, bytes, algorithm, where;
  stream >> collective >> ranks >> bytes >> algorithm >> where;
  const bool any = line.find(kAnyOrder) != std::string::npos;
  return (any ? "0 " : "1 ") + collective + " " + ranks + " " + bytes + " " + where;
}

int rounds_of(const std::string& line) {
  const size_t comma = line.find(", ");
  return comma == std::string::npos ? 0 : std::atoi(line.c_str() + comma + 1);
}

struct Line {
  std::string text;
  bool is_new;
};
using Lines = std::map<std::string, Line>;  // by calls_of()

void make_room(Lines* all) {
  size_t bytes = kHead;
  std::vector<Lines::const_iterator> leaving;
  for (auto at = all->begin(); at != all->end(); ++at) {
    bytes += at->second.text.size() + 1;
    leaving.push_back(at);
  }
  if (bytes <= LearntFile::kMostBytes) return;
  const auto worth = [](const Line& line) { return std::pair(line.is_new, rounds_of(line.text)); };
  std::stable_sort(leaving.begin(), leaving.end(), [&](const auto& one, const auto& other) {
    return worth(one->second) < worth(other->second);
  });
  for (const auto& at : leaving) {
    if (bytes <= LearntFile::kMostBytes) return;
    bytes -= at->second.text.size() + 1;
    all->erase(at);
  }
}

std::string head_of(const std::string& machine, size_t lines) {
  return strf("# Tern %s; %s; %zu lines", PACKAGE_VERSION, machine.c_str(), lines);
}

const char* objection_to(const struct stat& facts) noexcept {
  if (!S_ISREG(facts.st_mode)) return "not a regular file";
  if (facts.st_uid != ::geteuid() && facts.st_uid != 0) return "another user owns the file";
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write the file";
  if (static_cast<size_t>(facts.st_size) > LearntFile::kMostBytes) return "too large";
  return nullptr;
}

void make_folders(const std::string& path) {
  for (size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1))
    (void)::mkdir(path.substr(0, slash).c_str(), S_IRWXU);
}

}  // namespace

LearntFile::LearntFile(const std::string& asked, std::string machine)
    : machine_(std::move(machine)) {
  if (asked == "none" || asked == "off" || asked.find('\n') != std::string::npos) return;
  if (asked != "auto") {
    path_ = std::filesystem::absolute(asked).string();
    return;
  }
  const std::string folder = cache_folder();
  path_ = folder.empty() ? ""
                         : strf("%s/tern/collectives-%016llx", folder.c_str(),
                                static_cast<unsigned long long>(hash_of(machine_)));
}

std::string LearntFile::read(std::string* remark) const {
  if (path_.empty()) return {};
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return {};
  const auto ignored = [&](const char* why) {
    *remark = strf("%s is ignored: %s", path_.c_str(), why);
    return std::string();
  };
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return {};
  if (const char* const why = objection_to(facts)) return ignored(why);
  std::string text(static_cast<size_t>(facts.st_size), '\0');
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  text.resize(got > 0 ? static_cast<size_t>(got) : 0);
  const std::vector<std::string> lines = lines_of(text);
  if (lines.empty() || lines[0] != head_of(machine_, lines.size() - 1) || text.back() != '\n')
    return ignored(
        "another version of Tern or another machine wrote the file, or the file is torn");
  return text.substr(lines[0].size() + 1);
}

// A stopped process or a network file system may keep the lock.
bool LearntFile::take(const Fd& lock) {
  constexpr int kTries = 50;
  constexpr useconds_t kPause = 4000;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return true;
    ::usleep(kPause);
  }
  return false;
}

bool LearntFile::is_own() const {
  struct stat facts {};
  if (::lstat(path_.c_str(), &facts) != 0) return errno == ENOENT;
  if (!S_ISREG(facts.st_mode) || facts.st_uid != ::geteuid()) return false;
  const Fd file(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  std::string head(kHead, '\0');
  const ssize_t got = file.valid() ? ::read(file.get(), head.data(), head.size()) : -1;
  head.resize(got > 0 ? static_cast<size_t>(got) : 0);
  head.resize(std::min(head.find('\n'), head.size()));
  return head.rfind("# Tern ", 0) == 0 && head.find("; " + machine_ + "; ") != std::string::npos;
}

void LearntFile::merge(const std::vector<std::string>& lines) const noexcept {
  if (path_.empty() || lines.empty()) return;
  (void)attempt(
      [&] {
        make_folders(path_);
        const Fd lock(::open((path_ + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
                             S_IRUSR | S_IWUSR));
        if (!lock.valid() || !take(lock) || !is_own()) return Failure{};
        Lines all;
        std::string remark;
        for (const std::string& line : lines_of(read(&remark))) all[calls_of(line)] = {line, false};
        for (const std::string& line : lines) all[calls_of(line)] = {line, true};
        make_room(&all);
        std::string text;
        for (const auto& [calls, one] : all) text += one.text + "\n";
        replace(head_of(machine_, all.size()) + "\n" + text);
        return Failure{};
      },
      [] { return Failure{}; });
}

void LearntFile::replace(const std::string& text) const {
  const std::string fresh = path_ + strf(".%d", static_cast<int>(::getpid()));
  (void)::unlink(fresh.c_str());
  Fd file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW,
                 S_IRUSR | S_IWUSR));
  if (!file.valid()) return;
  const bool whole =
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!whole || ::rename(fresh.c_str(), path_.c_str()) != 0) (void)::unlink(fresh.c_str());
}

bool LearntFile::forget() const {
  if (path_.empty() || ::access(path_.c_str(), F_OK) != 0 || !is_own()) return false;
  if (::unlink(path_.c_str()) != 0)
    throw Error(MPI_ERR_FILE,
                strf("%s cannot be removed: %s", path_.c_str(), std::strerror(errno)));
  (void)::unlink((path_ + ".lock").c_str());
  return true;
}

std::string LearntFile::pack(std::string* remark) const {
  return path_.empty() ? "" : path_ + "\n" + machine_ + "\n" + read(remark);
}

LearntFile::Packed LearntFile::unpack(const std::string& text) {
  Packed packed{{}, {}};
  const size_t path = text.find('\n');
  const size_t machine = path == std::string::npos ? path : text.find('\n', path + 1);
  if (machine == std::string::npos) return packed;
  packed.file.path_ = text.substr(0, path);
  packed.file.machine_ = text.substr(path + 1, machine - path - 1);
  packed.lines = text.substr(machine + 1);
  return packed;
}

}  // namespace tern
