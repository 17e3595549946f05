// SPDX-License-Identifier: Apache-2.0
#include "base/explain.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/log.hpp"
#include "mpi.h"

namespace tern {
namespace {

std::string quoted(const std::string& text) {
  std::string json = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      json += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      json += strf("\\u%04x", static_cast<unsigned>(c));
    else
      json += c;
  }
  return json + '"';
}

}  // namespace

void Explain::configure(const std::string& setting, int rank) {
  rank_ = rank;
  on_ = setting != "0";
  file_.reset();
  if (setting.compare(0, 5, "json:") != 0) return;
  const std::string path = setting.substr(5);
  file_ = Fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!file_.valid())
    throw Error(MPI_ERR_OTHER, strf("TERN_EXPLAIN is \"%s\", but the file cannot be opened: %s",
                                    setting.c_str(), std::strerror(errno)));
}

void Explain::write_json(const char* topic, std::initializer_list<Field> fields,
                         const std::string& sentence) const {
  std::string line = strf("{\"rank\":%d,\"topic\":\"%s\"", rank_, topic);
  for (const Field& field : fields)
    line += strf(",\"%s\":%s", field.name,
                 field.number ? field.value.c_str() : quoted(field.value).c_str());
  line += ",\"text\":" + quoted(sentence) + "}\n";
  const ssize_t written = ::write(file_.get(), line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size()))
    log_line("cannot write an explanation of %zu bytes to TERN_EXPLAIN's file", line.size());
}

void Explain::say(const char* topic, std::initializer_list<Field> fields,
                  const std::string& sentence) const noexcept {
  if (!on_) return;
  if (!file_.valid()) return log_line("%s", sentence.c_str());
  try {
    write_json(topic, fields, sentence);
  } catch (const std::bad_alloc&) {
    log_line("no memory for an explanation");
  }
}

void Explain::warn(const char* topic, std::initializer_list<Field> fields,
                   const std::string& sentence) const noexcept {
  if (file_.valid() || !on_) log_line("%s", sentence.c_str());
  say(topic, fields, sentence);
}

std::string bytes_in_words(unsigned long long bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return strf("%.3g %s", value, kUnits[unit]);
}

}  // namespace tern
