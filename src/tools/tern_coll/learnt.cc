// SPDX-License-Identifier: Apache-2.0
// tern_coll show and forget: the lines measured by jobs on this machine.
#include <sstream>

#include "base/config.hpp"
#include "base/error.hpp"
#include "base/learnt_file.hpp"
#include "tools/tern_coll/commands.hpp"
#include "topo/cpus.hpp"

extern "C" char** environ;

namespace tern::coll_tool {
namespace {

/// Jobs with bound and unbound ranks have separate files; TERN_COLL_LEARNT replaces both.
template <class Work>
void for_each_file(const Work& work) {
  const std::string asked = load_params(environ, nullptr).coll_learnt,
                    words = topo::machine_words(topo::allowed_cpu_count());
  for (const bool bound : {true, false})
    work(LearntFile(asked, LearntFile::machine_of(words, bound)), bound);
}

}  // namespace

int show(const Options& options) {
  std::string text, remark;
  for_each_file([&](const LearntFile& file, bool bound) {
    std::istringstream lines(file.read(&remark));
    bool first = true;
    for (std::string line; std::getline(lines, line);) {
      if (!options.collective.empty() && line.rfind(options.collective + " ", 0) != 0) continue;
      if (first)
        text += strf("# %s, ranks %s\n", file.path().c_str(), bound ? "bound" : "not bound");
      first = false;
      text += line + "\n";
    }
  });
  if (text.empty() && !remark.empty()) text = "# " + remark + "\n";
  write_output(options, text.empty() ? "# nothing was measured on this machine yet\n" : text);
  return 0;
}

int forget(const Options& options) {
  std::string text;
  for_each_file([&](const LearntFile& file, bool /*bound*/) {
    if (file.forget()) text += "removed " + file.path() + "\n";
  });
  write_output(options, text.empty() ? "nothing was measured on this machine\n" : text);
  return 0;
}

}  // namespace tern::coll_tool
