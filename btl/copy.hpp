// SPDX-License-Identifier: Apache-2.0
// Copies between lists of memory pieces in a process.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "btl/capabilities.hpp"

namespace tern::btl {

/// copy_pieces() copies the bytes of the shorter list. Single pieces may overlap.
inline void copy_pieces(const iovec* to, size_t tos, const iovec* from, size_t froms) noexcept {
  size_t i = 0, j = 0, in_to = 0, in_from = 0;
  while (i < tos && j < froms) {
    const size_t bytes = std::min(to[i].iov_len - in_to, from[j].iov_len - in_from);
    std::memmove(static_cast<char*>(to[i].iov_base) + in_to,
                 static_cast<const char*>(from[j].iov_base) + in_from, bytes);
    in_to += bytes;
    in_from += bytes;
    if (in_to == to[i].iov_len) ++i, in_to = 0;
    if (in_from == from[j].iov_len) ++j, in_from = 0;
  }
}

class OwnProcessCopy final : public PeerCopy {
 public:
  bool works() noexcept override { return true; }
  int get(const iovec* local, size_t locals, const iovec* remote,
          size_t remotes) noexcept override {
    copy_pieces(local, locals, remote, remotes);
    return 0;
  }
  int put(const iovec* local, size_t locals, const iovec* remote,
          size_t remotes) noexcept override {
    copy_pieces(remote, remotes, local, locals);
    return 0;
  }
};

}  // namespace tern::btl
