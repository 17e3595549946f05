// SPDX-License-Identifier: Apache-2.0
// The facts on one screen: versions, faults with cures, and settings changed from the defaults.
#include <algorithm>

#include "base/error.hpp"
#include "tools/tern_info/report.hpp"
#include "tools/tern_info/words.hpp"

namespace tern::info {
namespace {

std::string value_of(const std::vector<Fact>& facts, const std::string& name) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const Fact& fact) { return fact.name == name; });
  return found == facts.end() ? "" : found->value;
}

std::string libraries_in_words(const Facts& facts) {
  std::string opened, missing;
  for (const Dependency& library : facts.dependencies) {
    std::string* const list = library.opened ? &opened : &missing;
    if (!list->empty()) *list += ", ";
    *list += library.name;
    if (library.opened)
      *list += " " + library.found.substr(0, library.found.find(" ("));
    else
      *list += library.built_with.empty() ? " (not in this build)"
                                          : strf(" (CANNOT BE OPENED: %s)", library.found.c_str());
  }
  if (opened.empty()) opened = "none";
  return missing.empty() ? opened : opened + "; without " + missing;
}

std::string gpus_in_words(const std::vector<Fact>& gpus) {
  const std::string devices = value_of(gpus, "devices"), driver = value_of(gpus, "driver");
  return devices.empty() ? driver : strf("%s; driver %s", devices.c_str(), driver.c_str());
}

std::string transport_in_words(const btl::Trial& trial) {
  if (trial.works) return strf("works, reaches %s", trial.reaches.c_str());
  std::string words = "DOES NOT WORK: " + trial.finding;
  if (!trial.cure.empty()) words += "; cure: " + trial.cure;
  return words;
}

}  // namespace

std::string summary_text(const Facts& facts, const Page& page) {
  std::string text = strf("Tern MPI %s, %s\n", value_of(facts.build, "version").c_str(),
                          value_of(facts.build, "standard").c_str());
  const auto add = [&](const std::string& name, const std::string& value) {
    text += fact_text(name, value, page);
  };
  add("prefix", value_of(facts.build, "prefix"));
  if (const std::string conflict = value_of(facts.build, "WHEELS"); !conflict.empty())
    add("WHEELS", conflict);
  add("host", value_of(facts.build, "host") + ", " + value_of(facts.build, "system"));
  add("libraries", libraries_in_words(facts));
  add("GPUs (CUDA)", gpus_in_words(facts.gpus));
  add("a program here", facts.launch.way.empty() ? "would fail: " + facts.launch.because
                                                 : facts.launch.way + ": " + facts.launch.because);
  text += "\nTransports, each tried now\n";
  for (const btl::Trial& trial : facts.transports) add(trial.name, transport_in_words(trial));
  text += "\nParameters\n";
  size_t set = 0;
  for (const Parameter& parameter : facts.parameters) {
    if (parameter.source == "default") continue;
    ++set;
    text += parameter_text(parameter);
  }
  text += strf("  %zu of %zu have their defaults\n", facts.parameters.size() - set,
               facts.parameters.size());
  if (!facts.complaints.empty()) text += "\nWrong settings\n";
  for (const std::string& complaint : facts.complaints)
    text += paragraph("  ", complaint, page.columns);
  return text + "\ntern_info --all prints all parts, with a picture of the machine.\n";
}

}  // namespace tern::info
