// SPDX-License-Identifier: Apache-2.0
// The facts as sections of text.
#include "base/error.hpp"
#include "tools/tern_info/report.hpp"
#include "tools/tern_info/words.hpp"

namespace tern::info {
namespace {

constexpr int kNameWide = 16;

std::string build_text(const Facts& facts, const Page& page) {
  std::string text = "Tern MPI\n";
  for (const Fact& each : facts.build) text += fact_text(each.name, each.value, page);
  text += "\nLibraries, opened on demand\n";
  for (const Dependency& library : facts.dependencies) {
    const std::string built = "built with " + library.built_with;
    std::string words = "not in this build";
    if (!library.built_with.empty())
      words = built + (library.opened ? ", opened: " : ", CANNOT BE OPENED: ") + library.found;
    text += fact_text(library.name, words, page);
  }
  text += "\nGPUs (CUDA)\n";
  for (const Fact& one : facts.gpus) text += fact_text(one.name, one.value, page);
  text += "\nA program started here\n";
  return text + fact_text(facts.launch.way.empty() ? "would fail" : facts.launch.way,
                          facts.launch.because, page);
}

std::string transports_text(const Facts& facts, const Page& page) {
  std::string text = "Transports, each tried now\n";
  for (const btl::Trial& trial : facts.transports) {
    text += fact_text(
        trial.name, strf("%s: %s", trial.works ? "works" : "DOES NOT WORK", trial.finding.c_str()),
        page);
    text += fact_text("", "reaches " + trial.reaches, page);
    if (!trial.cure.empty()) text += fact_text("", "cure: " + trial.cure, page);
  }
  return text;
}

std::string topology_text(const Facts& facts, const Page& page) {
  if (!facts.topology)
    return paragraph("", "The machine cannot be drawn: " + facts.topology_problem, page.columns);
  std::string drawn = draw_text(*facts.topology, page);
  if (facts.topology_problem.empty()) return drawn;
  return drawn + paragraph("", facts.topology_problem, page.columns);
}

std::string parameters_text(const Facts& facts, const Page& page) {
  std::string text = "Parameters (the last wins: files in this order, then the environment)\n";
  for (const ConfigFile& file : facts.files)
    text += paragraph("  ", file.path + ": " + file.state, page.columns);
  for (const Parameter& parameter : facts.parameters) {
    text += parameter_text(parameter);
    text += paragraph("      ", parameter.meaning, page.columns);
    for (const std::string& more : {parameter.range, parameter.sharing})
      if (!more.empty()) text += paragraph("      ", more, page.columns);
  }
  if (!facts.complaints.empty()) text += "\nWrong settings\n";
  for (const std::string& complaint : facts.complaints)
    text += paragraph("  ", complaint, page.columns);
  return text;
}

}  // namespace

std::string fact_text(const std::string& name, const std::string& value, const Page& page) {
  return paragraph(strf("  %-*s", kNameWide, name.c_str()), value, page.columns);
}

std::string parameter_text(const Parameter& parameter) {
  return strf("  %s = %s  [%s]\n", parameter.name.c_str(),
              value_in_words(parameter.kind, parameter.value).c_str(), parameter.source.c_str());
}

std::string report_text(const Facts& facts, const Page& page) {
  std::string text;
  const auto add = [&](bool wanted, std::string (*section)(const Facts&, const Page&)) {
    if (wanted) text += (text.empty() ? "" : "\n") + section(facts, page);
  };
  add(!facts.build.empty(), build_text);
  add(!facts.transports.empty(), transports_text);
  add(facts.topology.has_value() || !facts.topology_problem.empty(), topology_text);
  add(!facts.parameters.empty(), parameters_text);
  return text;
}

}  // namespace tern::info
