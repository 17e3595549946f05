// SPDX-License-Identifier: Apache-2.0
#include "topo/attribute.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <system_error>

namespace tern::topo {
namespace {

constexpr size_t kMostBytes = 256, kMostNames = 65536;

}  // namespace

std::string attribute(const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::is_regular_file(file, none)) return {};
  std::ifstream stream(file, std::ios::binary);
  std::string text(kMostBytes, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(stream.gcount(), 0)));
  text.resize(std::min(text.size(), text.find('\n')));
  const size_t first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
  return first == std::string::npos ? std::string() : text.substr(first, last - first + 1);
}

std::optional<uint64_t> attribute_number(const std::filesystem::path& file, uint64_t most) {
  const std::string text = attribute(file);
  if (text.empty() || text[0] < '0' || text[0] > '9') return std::nullopt;
  errno = 0;
  const uint64_t value = std::strtoull(text.c_str(), nullptr, text.starts_with("0x") ? 16 : 10);
  if (errno != 0 || value > most) return std::nullopt;
  return value;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code fault;
  std::filesystem::directory_iterator at(folder, fault);
  for (; !fault && at != std::filesystem::directory_iterator() && names.size() < kMostNames;
       at.increment(fault))
    names.push_back(at->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace tern::topo
