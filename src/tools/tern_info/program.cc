// SPDX-License-Identifier: Apache-2.0
// Reads imports: undefined names in the table of dynamic symbols. Checks every offset against the
// file's size, because the file may be truncated or no program at all.
#include "tools/tern_info/program.hpp"

#include <elf.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/error.hpp"
#include "mpi.h"
#include "tools/tern_info/json.hpp"
#include "tools/tern_info/words.hpp"

namespace tern::info {
namespace {

const std::vector<std::string_view> kMissing = {
#include "unsupported.inc"
};

class Elf {
 public:
  explicit Elf(const std::string& path) : path_(path) {
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
      throw Error(MPI_ERR_FILE, strf("cannot read %s: a directory", path.c_str()));
    std::ifstream file(path, std::ios::binary);
    if (file) bytes_.assign(std::istreambuf_iterator<char>(file), {});
    if (!file)
      throw Error(MPI_ERR_FILE, strf("cannot read %s: %s", path.c_str(), std::strerror(errno)));
    const auto head = at<Elf64_Ehdr>(0);
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
      refuse("not a 64-bit ELF file; name the program behind a script");
    for (size_t i = 0; i < head.e_shnum; ++i) {
      const auto section = at<Elf64_Shdr>(head.e_shoff + i * sizeof(Elf64_Shdr));
      if (section.sh_type != SHT_DYNSYM) continue;
      symbols_ = section;
      names_ = at<Elf64_Shdr>(head.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
      return;
    }
    refuse("no dynamic symbols: linked statically, or stripped of section headers");
  }

  [[nodiscard]] std::set<std::string> undefined() const {
    std::set<std::string> found;
    for (size_t i = 0; i < symbols_.sh_size / sizeof(Elf64_Sym); ++i) {
      const auto symbol = at<Elf64_Sym>(symbols_.sh_offset + i * sizeof(Elf64_Sym));
      if (symbol.st_shndx == SHN_UNDEF && symbol.st_name != 0)
        found.insert(text(names_.sh_offset + symbol.st_name));
    }
    return found;
  }

 private:
  template <class MachinePart>
  [[nodiscard]] MachinePart at(size_t from) const {
    MachinePart part;
    if (from > bytes_.size() || bytes_.size() - from < sizeof part) refuse("cut off");
    std::memcpy(&part, bytes_.data() + from, sizeof part);
    return part;
  }
  [[nodiscard]] std::string text(size_t from) const {
    const size_t end = bytes_.find('\0', from);
    if (end == std::string::npos) refuse("cut off");
    return bytes_.substr(from, end - from);
  }
  [[noreturn]] void refuse(const char* why) const {
    throw Error(MPI_ERR_FILE, strf("%s: %s", path_.c_str(), why));
  }

  const std::string path_;
  std::string bytes_;
  Elf64_Shdr symbols_{}, names_{};
};

std::string joined(const std::vector<std::string>& words) {
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

}  // namespace

Imports imports_of(const std::string& path) {
  std::set<std::string> functions;
  for (const std::string& name : Elf(path).undefined()) {
    const size_t from = name.starts_with("PMPI") ? 1 : 0;
    if (name.compare(from, 4, "MPI_") == 0 || name.compare(from, 5, "MPIX_") == 0)
      functions.insert(name.substr(from));
  }
  Imports imports{{functions.begin(), functions.end()}, {}};
  std::copy_if(imports.functions.begin(), imports.functions.end(),
               std::back_inserter(imports.missing), [](const std::string& name) {
                 return std::find(std::begin(kMissing), std::end(kMissing), name) !=
                        std::end(kMissing);
               });
  return imports;
}

std::string imports_in_words(const std::string& path, const Imports& imports, size_t columns) {
  const size_t all = imports.functions.size(), missing = imports.missing.size();
  if (all == 0)
    return paragraph(
        "",
        strf("%s imports no MPI function; try the program's libraries (ldd lists them)",
             path.c_str()),
        columns);
  if (missing == 0)
    return paragraph("", strf("%s imports %zu MPI functions, and Tern has all", path.c_str(), all),
                     columns);
  return paragraph("",
                   strf("%s imports %zu MPI functions, and %zu are missing in this version of "
                        "Tern: %s",
                        path.c_str(), all, missing, joined(imports.missing).c_str()),
                   columns);
}

std::string imports_as_json(const std::string& path, const Imports& imports) {
  Json json;
  json.open_object();
  json.text("program", path);
  json.open_list("functions");
  for (const std::string& name : imports.functions) json.text("", name);
  json.close_list();
  json.open_list("missing");
  for (const std::string& name : imports.missing) json.text("", name);
  json.close_list();
  json.close_object();
  return json.document();
}

}  // namespace tern::info
