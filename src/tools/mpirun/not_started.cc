// SPDX-License-Identifier: Apache-2.0
// Finds the cause: a script's interpreter, a program's loader, a foreign binary, a library.
#include "tools/mpirun/not_started.hpp"

#include <elf.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "base/config.hpp"
#include "base/error.hpp"

namespace tern::mpirun {
namespace {

std::string first_page(const std::string& path) {
  char page[4096];
  std::ifstream file(path, std::ios::binary);
  file.read(page, sizeof page);
  return {page, static_cast<size_t>(file.gcount())};
}

bool is_elf(const std::string& page) { return page.compare(0, SELFMAG, ELFMAG) == 0; }

std::string interpreter_of(const std::string& page) {
  if (page.compare(0, 2, "#!") != 0) return {};
  const size_t begin = page.find_first_not_of(" \t", 2);
  if (begin == std::string::npos) return {};
  return page.substr(begin, page.find_first_of(" \t\n", begin) - begin);
}

std::string loader_of(const std::string& page) {
  Elf64_Ehdr head;
  if (!is_elf(page) || page.size() < sizeof head || page[EI_CLASS] != ELFCLASS64) return {};
  std::memcpy(&head, page.data(), sizeof head);
  for (size_t i = 0; i < head.e_phnum; ++i) {
    Elf64_Phdr part;
    const size_t at = head.e_phoff + i * sizeof part;
    if (at > page.size() || page.size() - at < sizeof part) return {};
    std::memcpy(&part, page.data() + at, sizeof part);
    if (part.p_type != PT_INTERP || part.p_offset >= page.size()) continue;
    return page.substr(part.p_offset, std::strlen(page.c_str() + part.p_offset));
  }
  return {};
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace

std::string cause_of_refusal(const std::string& program, int error) {
  const std::string page = first_page(program);
  if (error == ENOENT && exists(program)) {
    const std::string interpreter = interpreter_of(page), loader = loader_of(page);
    if (!interpreter.empty() && interpreter.back() == '\r')
      return " (the file has DOS line ends: sed -i 's/\\r$//' FILE removes them)";
    if (!interpreter.empty() && !exists(interpreter))
      return strf(
          " (the file exists, but the interpreter %s does not: install the interpreter, or write "
          "\"#!/usr/bin/env %s\" in the first line)",
          interpreter.c_str(), interpreter.substr(interpreter.rfind('/') + 1).c_str());
    if (!loader.empty() && !exists(loader))
      return strf(
          " (the file exists, but the loader %s does not: the program was built for another system "
          "or C library)",
          loader.c_str());
  }
  if (error != ENOEXEC) return {};
  return is_elf(page)
             ? " (a program for another machine, or cut off: the command \"file\" tells more)"
             : " (a script may lack the #! line)";
}

const char* limit_of(int signal) noexcept {
  return signal == SIGXFSZ ? ", see ulimit -f" : signal == SIGXCPU ? ", see ulimit -t" : "";
}

std::string cause_of_127(const std::string& program) {
  return strf(
      " (a command or a shared library is missing: \"ldd %s\" lists libraries; Tern's "
      "libmpi_abi.so.1 is in %s/lib: set LD_LIBRARY_PATH, or compile with Tern's mpicc)",
      program.c_str(), install_prefix().c_str());
}

}  // namespace tern::mpirun
