// SPDX-License-Identifier: Apache-2.0
#include "api/memory_kinds.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "api/device_memory.hpp"
#include "api/process.hpp"
#include "cuda/driver.hpp"

namespace tern::api {
namespace {

using std::string_view_literals::operator""sv;

std::vector<std::string_view> cut(std::string_view text, char at) {
  std::vector<std::string_view> pieces;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(at, begin), text.size());
    std::string_view piece = text.substr(begin, end - begin);
    while (!piece.empty() && piece.front() == ' ') piece.remove_prefix(1);
    while (!piece.empty() && piece.back() == ' ') piece.remove_suffix(1);
    if (!piece.empty()) pieces.push_back(piece);
    begin = end + 1;
  }
  return pieces;
}

constexpr std::string_view kOfMpi[] = {"alloc_mem", "win_allocate", "win_allocate_shared"};

bool known(std::string_view kind) {
  const auto words = cut(kind, ':');
  const auto each = [&](auto&& fits) { return std::all_of(words.begin() + 1, words.end(), fits); };
  if (words.empty()) return false;
  if (words[0] == "system") return words.size() == 1;
  if (words[0] == "mpi")
    return each([](std::string_view word) {
      return std::find(std::begin(kOfMpi), std::end(kOfMpi), word) != std::end(kOfMpi);
    });
  return words[0] == "cuda" && each([](std::string_view word) {
           DeviceKind unused;
           return device_kind(word, &unused);
         });
}

bool of_cuda(std::string_view kind) { return kind.substr(0, kind.find(':')) == "cuda"; }

DeviceKind wanted(std::string_view kind) {
  DeviceKind found = DeviceKind::kDevice;
  const auto words = cut(kind, ':');
  if (words.size() > 1) (void)device_kind(words[1], &found);
  return found;
}

int host_memory(size_t bytes, size_t alignment, void** memory) noexcept {
  if ((alignment & (alignment - 1)) != 0 || ::posix_memalign(memory, alignment, bytes) != 0)
    return fail(MPI_ERR_NO_MEM, "no %zu bytes of memory aligned to %zu", bytes, alignment);
  return MPI_SUCCESS;
}

}  // namespace

std::string supported_kinds(const std::string& requested) {
  std::string all = "mpi,system";
  std::vector<std::string_view> listed = {"mpi"sv, "system"sv};
  const auto add = [&](std::string_view kind) {
    if (std::find(listed.begin(), listed.end(), kind) != listed.end()) return;
    listed.push_back(kind);
    all.append(",").append(kind);
  };
  const auto kinds = cut(requested, ',');
  if (cuda::driver() == nullptr && std::any_of(kinds.begin(), kinds.end(), of_cuda))
    cuda::load_driver();
  const bool cuda = cuda::driver() != nullptr;
  if (cuda) add("cuda");
  for (const std::string_view kind : kinds)
    if (known(kind) && (cuda || !of_cuda(kind))) add(kind);
  return all;
}

int alloc_kind(const std::string& kinds, size_t bytes, size_t alignment, void** memory) noexcept {
  std::string refused;
  int code = MPI_SUCCESS;
  try {
    for (const std::string_view kind : cut(kinds, ',')) {
      if (!known(kind)) continue;
      if (!of_cuda(kind)) return host_memory(bytes, alignment, memory);
      const DeviceResult result = take_device_memory(wanted(kind), bytes, alignment, memory);
      if (result.error_class == MPI_SUCCESS) return MPI_SUCCESS;
      code = result.error_class;
      refused += (refused.empty() ? "" : "; ") + std::string(kind) + ": " + result.why;
    }
  } catch (const std::bad_alloc&) {
    return fail(MPI_ERR_NO_MEM, "no host memory to record an allocation");
  }
  if (code != MPI_SUCCESS) return fail(code, "%zu bytes of %s", bytes, refused.c_str());
  return fail(MPI_ERR_INFO_VALUE,
              "the info key mpi_memory_alloc_kinds is \"%s\"; memory comes as system, mpi, "
              "cuda:device, cuda:host or cuda:managed",
              kinds.c_str());
}

bool free_kind(void* memory, int* code) noexcept {
  const DeviceResult result = free_device_memory(memory);
  if (result.not_mine) return false;
  *code = result.error_class == MPI_SUCCESS ? MPI_SUCCESS
                                            : fail(result.error_class, "%s", result.why.c_str());
  return true;
}

}  // namespace tern::api
