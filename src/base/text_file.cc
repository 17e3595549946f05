// SPDX-License-Identifier: Apache-2.0
// Text files: reading.
#include "base/text_file.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/error.hpp"
#include "mpi.h"

namespace tern {

std::string text_of_file(const std::string& name) {
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(name.c_str(), "rbe"), std::fclose);
  std::string text;
  std::array<char, 65536> part{};
  size_t size = 0;
  while (file != nullptr && (size = std::fread(part.data(), 1, part.size(), file.get())) > 0) {
    text.append(part.data(), size);
    if (text.size() > kMostText)
      throw Error(MPI_ERR_FILE,
                  strf("%s has more than %zu MiB: it is not read", name.c_str(), kMostText >> 20));
  }
  if (file == nullptr || std::ferror(file.get()) != 0)
    throw Error(MPI_ERR_FILE, strf("%s cannot be read: %s", name.c_str(), std::strerror(errno)));
  return text;
}

}  // namespace tern
