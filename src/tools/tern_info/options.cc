// SPDX-License-Identifier: Apache-2.0
#include "tools/tern_info/options.hpp"

#include "base/error.hpp"
#include "base/param_names.hpp"
#include "mpi.h"

namespace tern::info {
namespace {

struct Option {
  const char* name;
  bool Options::*switched;
  std::string Options::*value;
  const char* argument;
  const char* meaning;
};

constexpr Option kOptions[] = {
    {"--all", &Options::all, nullptr, "", "the next four parts in full"},
    {"--build", &Options::build, nullptr, "", "version, compiler, libraries, launcher"},
    {"--transports", &Options::transports, nullptr, "", "try each transport"},
    {"--topology", &Options::topology, nullptr, "", "draw the machine"},
    {"--parameters", &Options::parameters, nullptr, "", "all parameters, values and sources"},
    {"--json", &Options::json, nullptr, "", "print the named parts, or all, as JSON"},
    {"--svg", nullptr, &Options::svg, "FILE", "draw the machine into FILE (- for standard output)"},
    {"--links", nullptr, &Options::links, "FILE", "draw GPUs and links into FILE"},
    {"--program", nullptr, &Options::program, "FILE",
     "MPI functions needed by FILE and missing in Tern"},
    {"--man", &Options::manual, nullptr, "", "parameters as mdoc, for the manual page"},
    {"--version", &Options::version, nullptr, "", "print the version"},
    {"--help", &Options::help, nullptr, "", "this text"},
};

const Option& option_named(const std::string& name) {
  std::vector<std::string> names;
  for (const Option& option : kOptions) {
    if (name == option.name) return option;
    names.emplace_back(option.name);
  }
  const std::string near = nearest_name(name, names);
  throw Error(MPI_ERR_ARG, strf("%s is no option; %s", name.c_str(),
                                near.empty() ? "tern_info --help lists them"
                                             : strf("did you mean %s?", near.c_str()).c_str()));
}

}  // namespace

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i] == "-h" ? "--help" : words[i] == "-V" ? "--version" : words[i];
    if (word.empty() || word[0] != '-')
      throw Error(MPI_ERR_ARG,
                  strf("\"%s\" is no option, and tern_info takes only options", word.c_str()));
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const Option& option = option_named(name);
    const bool has_value = equals != std::string::npos;
    if (option.switched != nullptr) {
      if (has_value) throw Error(MPI_ERR_ARG, strf("%s takes no value", option.name));
      options.*option.switched = true;
      continue;
    }
    if (!has_value && i + 1 == words.size())
      throw Error(MPI_ERR_ARG, strf("%s needs a %s", option.name, option.argument));
    options.*option.value = has_value ? word.substr(equals + 1) : words[++i];
    if ((options.*option.value).empty())
      throw Error(MPI_ERR_ARG, strf("%s needs a %s", option.name, option.argument));
  }
  if (options.all || (options.json && !chooses(options)))
    options.build = options.transports = options.topology = options.parameters = true;
  return options;
}

std::string help_text() {
  std::string text =
      "usage: tern_info [OPTION...]\n"
      "Describes this installation of Tern MPI, tries transports, lists parameters.\n"
      "Without options: one screen of versions, faults, and settings other than the defaults.\n";
  for (const Option& option : kOptions)
    text += strf("  %-16s %s\n", (std::string(option.name) + " " + option.argument).c_str(),
                 option.meaning);
  return text;
}

}  // namespace tern::info
