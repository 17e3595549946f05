// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_trace/symbols.hpp"

#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace tern::trace_tool {
namespace {

constexpr size_t kMostModules = 64, kMostOffsets = 4096;
constexpr size_t kMostOutput = size_t{1} << 24;

using Offsets = std::map<std::string, std::string>;  // "0x12e1" to its frame

struct Frame {
  std::string module, offset;  // empty: resolved already, or unknown
};

Frame split_frame(const std::string& frame) {
  const size_t plus = frame.rfind("+0x");
  if (plus == std::string::npos || plus == 0 || frame.back() == ')') return {};
  const std::string offset = frame.substr(plus + 1);
  if (offset.size() < 3 || offset.size() > 18 ||
      offset.find_first_not_of("0123456789abcdef", 2) != std::string::npos)
    return {};
  return {frame.substr(0, plus), offset};
}

std::vector<std::string> frames_in(const std::string& site) {
  std::vector<std::string> frames;
  for (size_t from = 0; from <= site.size();) {
    const size_t end = std::min(site.find(';', from), site.size());
    frames.push_back(site.substr(from, end - from));
    from = end + 1;
  }
  return frames;
}

bool is_file(const std::string& name) {
  struct stat facts {};
  return stat(name.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

/// The standard output of a program; empty if the program is missing.
std::string output_of(std::vector<std::string> words) {
  int ends[2];
  if (pipe(ends) != 0) return "";
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  posix_spawn_file_actions_addclose(&actions, ends[1]);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output;
  char chunk[4096];
  ssize_t got = 0;
  while (error == 0 && output.size() < kMostOutput &&
         (got = read(ends[0], chunk, sizeof chunk)) > 0)
    output.append(chunk, static_cast<size_t>(got));
  close(ends[0]);
  if (error == 0) waitpid(child, nullptr, 0);
  return output;
}

void resolve_module(const std::string& module, Offsets* offsets) {
  std::vector<std::string> words = {"addr2line", "-f", "-C", "-e", module};
  for (const auto& [offset, frame] : *offsets) words.push_back(offset);
  const std::vector<std::string> frames = frames_of(output_of(words), offsets->size());
  size_t next = 0;
  for (auto& [offset, frame] : *offsets)
    if (next < frames.size()) frame = frames[next++];
}

using Modules = std::map<std::string, Offsets>;

std::string resolved_site(const std::string& site, Modules* modules) {
  std::string resolved;
  for (const std::string& text : frames_in(site)) {
    const Frame frame = split_frame(text);
    const auto module = modules->find(frame.module);
    const std::string& known = module == modules->end() ? text : module->second[frame.offset];
    resolved += (resolved.empty() ? "" : ";") + (known.empty() ? text : known);
  }
  return resolved;
}

/// Sites with equal frames become one: a compiler may repeat a line.
void rename_sites(Trace* trace, Modules* modules) {
  Names names;
  std::vector<uint32_t> numbers;
  for (uint32_t i = 0; i < trace->names.sites.size(); ++i)
    numbers.push_back(names.number(resolved_site(trace->names.sites.text(i), modules)));
  for (Process& process : trace->processes)
    for (auto& [local, site] : process.sites) site = numbers[site];
  trace->names.sites = std::move(names);
}

}  // namespace

std::vector<std::string> frames_of(const std::string& output, size_t count) {
  std::vector<std::string> frames, lines;
  for (size_t from = 0; from < output.size();) {
    const size_t end = std::min(output.find('\n', from), output.size());
    lines.push_back(output.substr(from, end - from));
    from = end + 1;
  }
  if (lines.size() != 2 * count) return frames;
  for (size_t i = 0; i < count; ++i) {
    const std::string& function = lines[2 * i];
    std::string place = lines[2 * i + 1];
    place.erase(std::min(place.find(" (discriminator"), place.size()));
    const bool named = function.find('?') == std::string::npos;
    const bool placed = place.find('?') == std::string::npos;
    place.erase(0, place.rfind('/') + 1);
    frames.push_back(!named ? "" : placed ? place + '(' + function + ')' : function);
  }
  return frames;
}

void resolve_sites(Trace* trace) {
  Modules modules;
  for (size_t i = 0; i < trace->names.sites.size(); ++i)
    for (const std::string& text : frames_in(trace->names.sites.text(static_cast<uint32_t>(i)))) {
      const Frame frame = split_frame(text);
      if (frame.module.empty() || (modules.size() >= kMostModules && !modules.count(frame.module)))
        continue;
      Offsets& offsets = modules[frame.module];
      if (offsets.size() < kMostOffsets) offsets[frame.offset];
    }
  for (auto& [module, offsets] : modules)
    if (module[0] != '-' && is_file(module)) resolve_module(module, &offsets);
  rename_sites(trace, &modules);
}

}  // namespace tern::trace_tool
