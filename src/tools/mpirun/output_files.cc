// SPDX-License-Identifier: Apache-2.0
#include "tools/mpirun/output_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::mpirun {
namespace {

void make_folders(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string folder = path.substr(0, end);
    if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
      throw Error(MPI_ERR_FILE, strf("--output: cannot make the folder %s: %s", folder.c_str(),
                                     std::strerror(errno)));
    if (end == std::string::npos) return;
  }
}

}  // namespace

void make_output_folders(const std::string& directory, int ranks) {
  for (int rank = 0; rank < ranks; ++rank)
    make_folders(strf("%s/rank.%d", directory.c_str(), rank));
}

Fd open_output(const std::string& directory, int rank, const char* stream) {
  const std::string folder = strf("%s/rank.%d", directory.c_str(), rank);
  make_folders(folder);
  const std::string path = folder + "/" + stream;
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!fd.valid())
    throw Error(MPI_ERR_FILE,
                strf("--output: cannot write %s: %s", path.c_str(), std::strerror(errno)));
  return fd;
}

}  // namespace tern::mpirun
