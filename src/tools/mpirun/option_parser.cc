// SPDX-License-Identifier: Apache-2.0
// Reads mpirun's options: one or two dashes, "--name value" or "--name=value".
#include "tools/mpirun/option_parser.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "base/param_names.hpp"
#include "mpi.h"

namespace tern::mpirun {
namespace {

std::vector<std::string> shown_names() {
  std::vector<std::string> known;
  for (const OptionRow& row : option_table()) {
    if (row.shown == nullptr) continue;
    for (const char* names = row.names; *names != '\0';) {
      const std::size_t length = std::strcspn(names, " ");
      known.emplace_back(names, length);
      names += length + (names[length] == ' ' ? 1 : 0);
    }
  }
  return known;
}

std::string unknown_option(const std::string& typed, const std::string& name) {
  if (const char* answer = answer_to_elsewhere(name)) return strf("%s %s", typed.c_str(), answer);
  const std::string nearest = nearest_name(name, shown_names());
  if (nearest.empty()) return strf("unknown option %s; mpirun --help lists them", typed.c_str());
  return strf("unknown option %s; did you mean %s%s?", typed.c_str(),
              nearest.size() > 5 ? "--" : "-", nearest.c_str());
}

const OptionRow* find_row(const std::string& name) {
  for (const OptionRow& row : option_table())
    if (names_contain(row.names, name)) return &row;
  return nullptr;
}

std::string no_program(const std::vector<std::string>& words, std::size_t begin, std::size_t end) {
  if (begin == 0 && end == words.size()) return "no program to start; mpirun -n 4 ./program";
  const auto sections = [](auto first, auto last) { return std::count(first, last, ":") + 1; };
  std::string typed;
  for (std::size_t i = begin; i < end; ++i) typed += (i == begin ? "" : " ") + words[i];
  return strf(
      "section %d of %d (%s) names no program: each section between ':' needs a program, as in "
      "mpirun -n 1 ./server : -n 3 ./client",
      static_cast<int>(sections(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(begin))),
      static_cast<int>(sections(words.begin(), words.end())),
      typed.empty() ? "nothing" : strf("\"%s\"", typed.c_str()).c_str());
}

}  // namespace

bool names_contain(const char* names, const std::string& name) noexcept {
  const std::size_t length = name.size();
  for (const char* at = names; (at = std::strstr(at, name.c_str())) != nullptr; ++at) {
    if (length == 0) return false;
    if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0')) return true;
  }
  return false;
}

std::string OptionParser::at_place(const std::string& text) const {
  return place_.empty() ? text : place_ + ": " + text;
}

void OptionParser::refuse(const std::string& why) const {
  throw Error(MPI_ERR_ARG, at_place(strf("%s: %s", option_.c_str(), why.c_str())));
}

int OptionParser::number(const char* text, const char* of_what, int least, int most) const {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < least || value > most)
    refuse(strf("\"%s\" is not a number of %s from %d to %d", text, of_what, least, most));
  return static_cast<int>(value);
}

double OptionParser::seconds(const char* text) const {
  char* end = nullptr;
  const double value = std::strtod(text, &end);
  if (end == text || *end != '\0' || !std::isfinite(value) || value <= 0)
    refuse(strf("\"%s\" is not a positive number of seconds", text));
  return value;
}

void OptionParser::variable(Pairs* pairs, const std::string& name, const std::string& value) {
  if (name.empty() || name.find('=') != std::string::npos)
    refuse(strf("a variable needs a name, and \"%s\" is not a name", name.c_str()));
  const auto found = std::find_if(pairs->begin(), pairs->end(),
                                  [&name](const auto& pair) { return pair.first == name; });
  if (adds_up(name) && found != pairs->end())
    found->second += "," + value;
  else
    pairs->emplace_back(name, value);
}

void OptionParser::inherited_variable(const std::string& name) const {
  if (std::getenv(name.c_str()) == nullptr)
    refuse(strf("%s is not set here; set it, or give the value: -x %s=VALUE", name.c_str(),
                name.c_str()));
}

void OptionParser::app_section(const std::string& text, const std::string& place) const {
  OptionParser one(options);
  try {
    const auto words = split_words(text);
    if (!words.empty()) one.parse(words, place);
  } catch (const Error& error) {
    const bool named = std::strncmp(error.what(), place.c_str(), place.size()) == 0;
    throw Error(MPI_ERR_ARG, named ? error.what() : place + ": " + error.what());
  }
}

void OptionParser::app_file(const char* path) {
  if (!place_.empty()) refuse("an app file cannot name another");
  std::vector<std::string> lines;
  try {
    lines = read_lines(path);
  } catch (const Error& error) {
    refuse(error.what());
  }
  read_app_file_ = true;
  std::string section;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    section += lines[i];
    const bool goes_on = !section.empty() && section.back() == '\\';
    if (goes_on) section.back() = ' ';
    if (goes_on && i + 1 < lines.size()) continue;
    app_section(section, strf("%s:%zu", path, i + 1));
    section.clear();
  }
  if (options.apps.empty()) refuse(strf("%s names no program", path));
}

std::size_t OptionParser::take_option(const std::vector<std::string>& words, std::size_t at) {
  option_ = words[at++];
  std::string name = option_.substr(option_.compare(0, 2, "--") == 0 ? 2 : 1);
  std::vector<const char*> values;
  std::string attached;
  const std::size_t equals = name.find('=');
  if (equals != std::string::npos) {
    attached = name.substr(equals + 1);
    name.resize(equals);
    option_.resize(option_.find('='));
    values.push_back(attached.c_str());
  }
  const OptionRow* row = find_row(name);
  const WithoutEffect* ignored = row == nullptr ? option_without_effect(name) : nullptr;
  if (row == nullptr && ignored == nullptr)
    throw Error(MPI_ERR_ARG, at_place(unknown_option(option_, name)));
  const int needed = row != nullptr ? row->values : ignored->values;
  if (needed == kOptional && values.empty()) values.push_back(nullptr);
  while (static_cast<int>(values.size()) < needed && at < words.size() && words[at] != ":")
    values.push_back(words[at++].c_str());
  if (needed != kOptional && static_cast<int>(values.size()) != needed)
    refuse(strf("takes %d value%s%s", needed, needed == 1 ? "" : "s",
                row != nullptr ? "; mpirun --help shows it" : ""));
  if (row != nullptr)
    row->act(*this, values.data());
  else
    note_without_effect(*ignored);
  return at;
}

// Scripts repeat options (--mca A 1 --mca B 2), so each name gets a single sentence.
void OptionParser::note_without_effect(const WithoutEffect& row) const {
  const std::string text = at_place(strf("%s has no effect here: %s", option_.c_str(), row.why));
  std::vector<std::string>& said = options.remarks;
  if (std::find(said.begin(), said.end(), text) == said.end()) said.push_back(text);
}

void OptionParser::end_section(const std::vector<std::string>& words, std::size_t begin,
                               std::size_t at) {
  if (read_app_file_ && !app.command.empty())
    throw Error(MPI_ERR_ARG, strf("\"%s\" follows an app file, which names the programs; put "
                                  "':' before another program",
                                  app.command[0].c_str()));
  if (app.command.empty() && !read_app_file_ && !options.help && !options.version)
    throw Error(MPI_ERR_ARG, at_place(no_program(words, begin, at)));
  if (!app.command.empty()) options.apps.push_back(std::move(app));
  app = {};
  read_app_file_ = false;
}

void OptionParser::parse(const std::vector<std::string>& words, const std::string& place) {
  place_ = place;
  std::size_t begin = 0, at = 0;
  while (at < words.size()) {
    if (words[at] == ":") {
      end_section(words, begin, at++);
      begin = at;
    } else if (words[at] == "--") {
      ++at;
      while (at < words.size() && words[at] != ":") app.command.push_back(words[at++]);
    } else if (words[at].size() > 1 && words[at][0] == '-') {
      at = take_option(words, at);
    } else {
      while (at < words.size() && words[at] != ":") app.command.push_back(words[at++]);
    }
  }
  end_section(words, begin, at);
}

namespace {

using Lookup = std::function<const char*(const std::string&)>;

/// The value that the ranks would get without this job's options; empty if absent.
std::string inherited_value(const Options& options, const Lookup& inherited,
                            const std::string& name) {
  const char* const value = inherited(name);
  const bool drops =
      std::find(options.unset.begin(), options.unset.end(), name) != options.unset.end();
  return value == nullptr || drops ? "" : value;
}

/// Values of TERN_COLL and TERN_TEST add up: the environment's, the job's, the program's.
void join_groups(Options& options, const Lookup& inherited) {
  const auto join = [](const std::string& before, std::string* value) {
    if (!before.empty()) *value = before + "," + *value;
  };
  for (auto& [name, value] : options.environment)
    if (adds_up(name)) join(inherited_value(options, inherited, name), &value);
  for (App& app : options.apps)
    for (auto& [name, value] : app.environment) {
      if (!adds_up(name)) continue;
      const auto of_job =
          std::find_if(options.environment.begin(), options.environment.end(),
                       [&name = name](const auto& pair) { return pair.first == name; });
      join(of_job != options.environment.end() ? of_job->second
                                               : inherited_value(options, inherited, name),
           &value);
    }
}

void refuse_too_many(const Options& options) {
  if (options.ranks() > kMostRanks)
    throw Error(MPI_ERR_ARG, strf("%d ranks are more than the limit of %d per machine",
                                  options.ranks(), kMostRanks));
}

void refuse_lonely_buffer(const Options& options, const Lookup& inherited) {
  const auto gives = [&options](const char* name) {
    return std::any_of(options.environment.begin(), options.environment.end(),
                       [name](const auto& pair) { return pair.first == name; });
  };
  if (gives("TERN_TRACE_BUFFER") && !gives("TERN_TRACE") && inherited("TERN_TRACE") == nullptr)
    throw Error(MPI_ERR_ARG, "--trace-buffer has no effect without --trace=FILE");
}

}  // namespace

Options parse_options(const std::vector<std::string>& words) {
  Options options;
  OptionParser(options).parse(words);
  const auto inherited = [](const std::string& name) { return std::getenv(name.c_str()); };
  join_groups(options, inherited);
  refuse_too_many(options);
  refuse_lonely_buffer(options, inherited);
  return options;
}

// Programs and arguments may be any words, so the parser sees a stand-in.
Options parse_request(const boot::SpawnRequest& request) {
  Options options;
  for (const boot::SpawnCommand& command : request.commands) {
    std::vector<std::string> words = command.options;
    words.emplace_back("program");
    OptionParser(options).parse(words);
    App& app = options.apps.back();
    app.ranks = std::min(command.ranks, kMostRanks + 1);
    app.command = command.arguments;
    app.command.insert(app.command.begin(), command.program);
    if (app.directory.empty())
      app.directory = request.folder;
    else if (app.directory[0] != '/')
      app.directory.insert(0, request.folder + "/");
    refuse_too_many(options);
  }
  join_groups(options,
              [&](const std::string& name) { return value_in(request.environment, name); });
  options.universe = std::min(request.universe, kMostRanks);
  return options;
}

std::string help_text() {
  std::string text =
      "Usage: mpirun [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...\n"
      "Starts the ranks of an MPI program and ends after the last rank. Options take one or two "
      "dashes.\n";
  for (const OptionRow& row : option_table()) {
    if (row.shown == nullptr) continue;
    text += row.names[0] == '\0' ? strf("\n%s\n", row.shown)
                                 : strf("  %-28s %s\n", row.shown, row.meaning);
  }
  return text +
         "\nThe exit code is the first failed rank's (128 + signal if killed).\n"
         "See man mpirun.\n";
}

}  // namespace tern::mpirun
