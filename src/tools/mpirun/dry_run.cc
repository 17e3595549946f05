// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/dry_run.hpp"

#include "base/error.hpp"
#include "topo/cpus.hpp"

namespace tern::mpirun {
namespace {

std::string quoted_word(const std::string& word) {
  const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string variables(const Options& options, const App& app) {
  std::vector<std::string> words;
  for (const auto& [name, value] : variables_of(options, app)) words.push_back(name + "=" + value);
  std::string text = quoted(words);
  for (const std::string& name : options.unset)
    text += (text.empty() ? "without " : " without ") + name;
  return text;
}

}  // namespace

std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + quoted_word(word);
  return text;
}

std::string dry_run_text(const Options& options, const Places& places,
                         const std::vector<std::string>& paths) {
  const int ranks = options.ranks();
  std::string text = strf("%d rank%s on host %s; nothing is started\n", ranks,
                          ranks == 1 ? "" : "s", topo::host_name().c_str());
  if (!places.remark.empty()) text += places.remark + "\n";
  int rank = 0;
  for (std::size_t i = 0; i < options.apps.size(); ++i) {
    const App& app = options.apps[i];
    std::vector<std::string> command = app.command;
    command[0] = paths[i];
    const std::string changed = variables(options, app);
    for (int k = 0; k < app.ranks; ++k, ++rank) {
      const Cpus& cpus = places.cpus[static_cast<std::size_t>(rank)];
      text += binding_in_words(rank, cpus, places.machine.cores) + "\n";
      if (!app.directory.empty()) text += "  in   " + app.directory + "\n";
      if (!changed.empty()) text += "  with " + changed + "\n";
      text += "  runs " + quoted(command) + "\n";
    }
  }
  return text +
         "each rank also gets PMIX_RANK, OMPI_COMM_WORLD_RANK and similar variables; see "
         "mpirun(1)\n";
}

}  // namespace tern::mpirun
