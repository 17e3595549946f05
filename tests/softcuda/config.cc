// SPDX-License-Identifier: Apache-2.0
// Reads SOFTCUDA_* and CUDA_VISIBLE_DEVICES.
#include "config.hpp"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <sstream>

namespace softcuda {
namespace {

size_t bytes_of(const char* name, const char* text) {
  char* end = nullptr;
  const unsigned long long number = strtoull(text, &end, 10);
  size_t unit = 1;
  if (*end == 'K') unit = size_t{1} << 10;
  if (*end == 'M') unit = size_t{1} << 20;
  if (*end == 'G') unit = size_t{1} << 30;
  if (end == text || (unit > 1 ? end[1] : end[0]) != '\0')
    give_up("%s=%s: expected a number, optionally with K, M or G", name, text);
  return number * unit;
}

unsigned number_of(const char* name, const char* text) {
  return static_cast<unsigned>(bytes_of(name, text));
}

bool is_on(const char* name, const char* text) {
  if (strcmp(text, "1") == 0 || strcmp(text, "on") == 0) return true;
  if (strcmp(text, "0") == 0 || strcmp(text, "off") == 0) return false;
  give_up("%s=%s: expected on or off", name, text);
}

Fabric fabric_of(const char* name, const char* text) {
  if (strcmp(text, "on") == 0) return Fabric::kOn;
  if (strcmp(text, "export") == 0) return Fabric::kExport;
  if (strcmp(text, "off") == 0) return Fabric::kOff;
  give_up("%s=%s: expected on, export or off", name, text);
}

Rdma rdma_of(const char* name, const char* text) {
  if (strcmp(text, "on") == 0) return Rdma::kOn;
  if (strcmp(text, "ordered") == 0) return Rdma::kOrdered;
  if (strcmp(text, "off") == 0) return Rdma::kOff;
  give_up("%s=%s: expected on, ordered or off", name, text);
}

Pageable pageable_of(const char* name, const char* text) {
  if (strcmp(text, "random") == 0) return Pageable::kRandom;
  if (strcmp(text, "async") == 0) return Pageable::kAsync;
  if (strcmp(text, "sync") == 0) return Pageable::kSync;
  give_up("%s=%s: expected random, async or sync", name, text);
}

Reopen reopen_of(const char* name, const char* text) {
  if (strcmp(text, "itself") == 0) return Reopen::kItself;
  if (strcmp(text, "first") == 0) return Reopen::kFirst;
  if (strcmp(text, "nothing") == 0) return Reopen::kNothing;
  if (strcmp(text, "random") == 0) return Reopen::kRandom;
  give_up("%s=%s: expected itself, first, nothing or random", name, text);
}

// Costs are "copy:8,wait:5" in microseconds.
void set_costs(tern::coll::DriverCosts* costs, const char* name, const char* text) {
  const std::pair<const char*, double*> known[] = {
      {"ask", &costs->ask},   {"call", &costs->call},     {"sync", &costs->sync},
      {"copy", &costs->copy}, {"kernel", &costs->kernel}, {"wait", &costs->wait}};
  for (const std::string& row : split(text, ',')) {
    const size_t colon = std::min(row.find(':'), row.size());
    char* end = nullptr;
    const double cost = colon < row.size() ? strtod(row.c_str() + colon + 1, &end) : -1;
    double* place = nullptr;
    for (const auto& [word, one] : known)
      if (row.compare(0, colon, word) == 0) place = one;
    if (place == nullptr || end == nullptr || *end != '\0' || !(cost >= 0))
      give_up(
          "%s=%s: expected microseconds of ask, call, sync, copy, kernel or wait: copy:8,wait:5",
          name, text);
    *place = cost;
  }
}

struct Variable {
  const char* name;
  void (*set)(Config& config, const char* name, const char* text);
};

#define SET(statement) [](Config& c, [[maybe_unused]] const char* n, const char* t) { statement; }
constexpr Variable kVariables[] = {
    {"SOFTCUDA_DEVICES", SET(c.devices = static_cast<int>(number_of(n, t)))},
    {"SOFTCUDA_PEERS", SET(c.peers = t)},
    {"SOFTCUDA_PCI", SET(c.pci = t)},
    {"SOFTCUDA_NVML", SET(c.nvml = t)},
    {"SOFTCUDA_NVLINK", SET(c.nvlink = number_of(n, t))},
    {"SOFTCUDA_CLUSTER", SET(c.fabric_cluster = t)},
    {"SOFTCUDA_CUFILE", SET(c.cufile = t)},
    {"SOFTCUDA_MEMORY", SET(c.memory = bytes_of(n, t))},
    {"SOFTCUDA_VERSION", SET(c.version = static_cast<int>(number_of(n, t)))},
    {"SOFTCUDA_JITTER", SET(c.jitter_us = number_of(n, t))},
    {"SOFTCUDA_SEED", SET(c.seed = bytes_of(n, t))},
    {"SOFTCUDA_LATE", SET(c.late_us = number_of(n, t))},
    {"SOFTCUDA_POISON", SET(c.poison = bytes_of(n, t))},
    {"SOFTCUDA_PAGEABLE", SET(c.pageable = pageable_of(n, t))},
    {"SOFTCUDA_REOPEN", SET(c.reopen = reopen_of(n, t))},
    {"SOFTCUDA_FABRIC", SET(c.fabric = fabric_of(n, t))},
    {"SOFTCUDA_RDMA", SET(c.rdma = rdma_of(n, t))},
    {"SOFTCUDA_OPEN", SET(c.open = is_on(n, t))},
    {"SOFTCUDA_FAULT", SET(c.faults = t)},
    {"SOFTCUDA_TRACE", SET(c.trace = t)},
    {"SOFTCUDA_LEDGER", SET(c.ledger = t)},
    {"SOFTCUDA_COSTS", SET(set_costs(&c.costs, n, t))},
    {"SOFTCUDA_KERNELS", SET(c.kernels = t)},
    {"SOFTCUDA_EXCLUSIVE", SET(c.exclusive = t)},
    {"SOFTCUDA_PATIENCE", SET(c.patience = number_of(n, t))},
    {"SOFTCUDA_WAITS", SET(c.waits = is_on(n, t))},
    {"SOFTCUDA_SHARED", SET(c.shared = t)},
    {"SOFTCUDA_MPS", SET(c.mps = is_on(n, t))},
    {"SOFTCUDA_MACHINE", SET(c.machine = t)},
    {"SOFTCUDA_MIG", SET(c.mig = is_on(n, t))},
    {"SOFTCUDA_WEAK", SET(c.weak = is_on(n, t))},
    {"SOFTCUDA_MULTICAST", SET(c.multicast = is_on(n, t))},
    {"SOFTCUDA_CONNECTIONS", SET(c.connections = number_of(n, t))},
    {"SOFTCUDA_QUEUE", SET(c.queue = number_of(n, t))},
    {"SOFTCUDA_PROCESSORS", SET(c.processors = number_of(n, t))},
};
#undef SET

/// "NVS12" has the stem NVS and the count 12; without a number the count is 0.
std::pair<std::string, unsigned> stem_and_count(const std::string& word) {
  const size_t digits = std::min(word.find_first_of("0123456789"), word.size());
  const std::string number = word.substr(digits);
  const bool nvlink = word.substr(0, digits) == "NV" || word.substr(0, digits) == "NVS";
  if (!nvlink || number.size() > 2 || number.find_first_not_of("0123456789") != std::string::npos)
    return {word, 0};
  return {word.substr(0, digits), static_cast<unsigned>(atoi(number.c_str()))};
}

Link link_of(const std::string& given) {
  const std::string word = stem_and_count(given).first;
  if (word == "NV" || word == "NVS") return Link::kNvlink;
  if (word == "PCIE") return Link::kPcie;
  if (word == "LIES") return Link::kLies;
  if (word == "NONE" || word == "X") return Link::kNone;
  give_up(
      "SOFTCUDA_PEERS: \"%s\": expected NV, NVS, PCIE or NONE, or rows such as "
      "\"X,NV;NV,X\", with a number of links or none: NV2",
      given.c_str());
}

void set_one(Config& config, const char* entry) {
  const char* equals = strchr(entry, '=');
  const std::string name(entry, equals ? static_cast<size_t>(equals - entry) : strlen(entry));
  for (const Variable& variable : kVariables)
    if (name == variable.name) return variable.set(config, variable.name, equals ? equals + 1 : "");
  std::string known;
  for (const Variable& variable : kVariables) known += std::string(" ") + variable.name;
  give_up("unknown variable %s; known are%s", name.c_str(), known.c_str());
}

}  // namespace

void give_up(const char* format, ...) {
  char text[1024];
  va_list list;
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  fprintf(stderr, "softcuda[%d]: %s\n", getpid(), text);
  fflush(stderr);
  _exit(99);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> words;
  std::stringstream stream(text);
  for (std::string word; std::getline(stream, word, at);) words.push_back(word);
  return words;
}

Config read_config() {
  Config made;
  for (char** entry = environ; *entry; ++entry)
    if (strncmp(*entry, "SOFTCUDA_", 9) == 0) set_one(made, *entry);
  if (made.devices < 0 || made.devices > 64) give_up("SOFTCUDA_DEVICES: expected 0 to 64");
  if (made.processors == 0 || made.processors > 256)
    give_up("SOFTCUDA_PROCESSORS: expected 1 to 256");
  if (!made.pci.empty() && split(made.pci, ',').size() != static_cast<size_t>(made.devices))
    give_up("SOFTCUDA_PCI=%s: %d devices need %d addresses", made.pci.c_str(), made.devices,
            made.devices);
  return made;
}

const Config& config() {
  static const Config& read = *new Config(read_config());
  return read;
}

Links::Row Links::row_of(const Config& config, const std::string& words) {
  Row row;
  for (const std::string& word : split(words, ',')) {
    row.links.push_back(link_of(word));
    row.switched.push_back(stem_and_count(word).first == "NVS");
    row.counts.push_back(stem_and_count(word).second);
  }
  if (row.links.size() != static_cast<size_t>(config.devices))
    give_up("SOFTCUDA_PEERS=%s: %d devices need %d links in each row", config.peers.c_str(),
            config.devices, config.devices);
  return row;
}

Links::Links(const Config& config) : mig_(config.mig), multicast_(config.multicast) {
  const auto count = static_cast<size_t>(config.devices);
  const std::vector<std::string> rows = split(config.peers, ';');
  if (rows.size() == 1 && split(rows[0], ',').size() == 1) {
    const Link all = link_of(rows[0]);
    const auto [stem, links] = stem_and_count(rows[0]);
    rows_.assign(count, {std::vector<Link>(count, all), std::vector<bool>(count, stem == "NVS"),
                         std::vector<unsigned>(count, links)});
    return;
  }
  for (const std::string& row : rows) rows_.push_back(row_of(config, row));
  if (rows_.size() != count)
    give_up("SOFTCUDA_PEERS=%s: %d devices need %d rows", config.peers.c_str(), config.devices,
            config.devices);
}

Link Links::between(int physical, int other) const {
  if (physical == other) return Link::kNvlink;
  if (mig_) return Link::kNone;
  return rows_[static_cast<size_t>(physical)].links[static_cast<size_t>(other)];
}

bool Links::switched(int physical, int other) const {
  if (physical == other || between(physical, other) != Link::kNvlink) return false;
  // Multicast needs a switch.
  return multicast_ || rows_[static_cast<size_t>(physical)].switched[static_cast<size_t>(other)];
}

unsigned Links::count(int physical, int other, unsigned otherwise) const {
  const unsigned given = rows_[static_cast<size_t>(physical)].counts[static_cast<size_t>(other)];
  return given > 0 ? given : otherwise;
}

Link link_between(int physical, int other) {
  static const Links& links = *new Links(config());
  return links.between(physical, other);
}

std::string pci_of(const Config& config, int physical) {
  if (!config.pci.empty()) return split(config.pci, ',')[static_cast<size_t>(physical)];
  char text[32];
  snprintf(text, sizeof text, "0000:%02X:00.0", config.mig ? 1u : unsigned(physical) + 1u);
  return text;
}

const std::vector<int>& visible_devices() {
  static const std::vector<int>& visible = []() -> const std::vector<int>& {
    auto& made = *new std::vector<int>;
    const char* shown = getenv("CUDA_VISIBLE_DEVICES");
    if (shown == nullptr) {
      for (int i = 0; i < config().devices; ++i) made.push_back(i);
      return made;
    }
    // An invalid word ends the list.
    for (const std::string& word : split(shown, ',')) {
      char* end = nullptr;
      const long device = strtol(word.c_str(), &end, 10);
      if (word.empty() || *end != '\0' || device < 0 || device >= config().devices) break;
      made.push_back(static_cast<int>(device));
    }
    return made;
  }();
  return visible;
}

uint64_t random_below(uint64_t limit) {
  static std::atomic<uint64_t> state{config().seed * 0x9E3779B97F4A7C15u};
  uint64_t word = state.fetch_add(0x9E3779B97F4A7C15u, std::memory_order_relaxed);
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return limit == 0 ? 0 : (word ^ (word >> 31)) % limit;
}

}  // namespace softcuda
