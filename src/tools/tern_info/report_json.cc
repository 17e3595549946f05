// SPDX-License-Identifier: Apache-2.0
// The facts as one JSON object.
#include "tools/tern_info/json.hpp"
#include "tools/tern_info/report.hpp"

namespace tern::info {
namespace {

void write_dependencies(Json& json, const Facts& facts) {
  json.open_list("dependencies");
  for (const Dependency& library : facts.dependencies) {
    json.open_object();
    json.text("name", library.name);
    json.truth("in_this_build", !library.built_with.empty());
    if (!library.built_with.empty()) {
      json.text("built_with", library.built_with);
      json.truth("opened", library.opened);
      json.text(library.opened ? "version" : "problem", library.found);
    }
    json.close_object();
  }
  json.close_list();
}

void write_build(Json& json, const Facts& facts) {
  json.open_object("build");
  for (const Fact& fact : facts.build) json.text(fact.name, fact.value);
  json.close_object();
  write_dependencies(json, facts);
  json.open_object("gpus");
  for (const Fact& one : facts.gpus) json.text(one.name, one.value);
  json.close_object();
  json.open_object("launch");
  json.text("way", facts.launch.way);
  json.text("because", facts.launch.because);
  json.close_object();
}

void write_transports(Json& json, const Facts& facts) {
  json.open_list("transports");
  for (const btl::Trial& trial : facts.transports) {
    json.open_object();
    json.text("name", trial.name);
    json.text("reaches", trial.reaches);
    json.truth("works", trial.works);
    json.text("finding", trial.finding);
    json.text("cure", trial.cure);
    json.close_object();
  }
  json.close_list();
}

void write_part(Json& json, const topo::MachinePart& part, const std::string& name) {
  json.open_object(name);
  json.text("kind", topo::name_of(part.kind));
  json.number("number", static_cast<unsigned long long>(part.number));
  if (part.bytes > 0) json.number("bytes", part.bytes);
  if (part.kind == topo::MachinePart::Kind::kPu) json.truth("allowed", part.allowed);
  if (!part.parts.empty()) {
    json.open_list("parts");
    for (const topo::MachinePart& inner : part.parts) write_part(json, inner, {});
    json.close_list();
  }
  json.close_object();
}

void write_parameters(Json& json, const Facts& facts) {
  json.open_list("parameters");
  for (const Parameter& parameter : facts.parameters) {
    json.open_object();
    json.text("name", parameter.name);
    json.text("kind", parameter.kind);
    json.text("value", parameter.value);
    json.text("default", parameter.standard);
    json.text("source", parameter.source);
    json.text("range", parameter.range);
    json.text("sharing", parameter.sharing);
    json.text("meaning", parameter.meaning);
    json.close_object();
  }
  json.close_list();
  json.open_list("files");
  for (const ConfigFile& file : facts.files) {
    json.open_object();
    json.text("path", file.path);
    json.text("state", file.state);
    json.close_object();
  }
  json.close_list();
  json.open_list("complaints");
  for (const std::string& complaint : facts.complaints) json.text({}, complaint);
  json.close_list();
}

}  // namespace

std::string report_json(const Facts& facts) {
  Json json;
  json.open_object();
  if (!facts.build.empty()) write_build(json, facts);
  if (!facts.transports.empty()) write_transports(json, facts);
  if (facts.topology) {
    json.truth("this_machine", facts.topology->this_machine);
    write_part(json, facts.topology->machine, "topology");
  }
  if (!facts.topology_problem.empty()) json.text("topology_problem", facts.topology_problem);
  if (!facts.parameters.empty()) write_parameters(json, facts);
  json.close_object();
  return json.document();
}

}  // namespace tern::info
