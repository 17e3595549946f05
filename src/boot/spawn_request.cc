// SPDX-License-Identifier: Apache-2.0
// SpawnRequest: the blob.
#include "boot/spawn_request.hpp"

#include <cstdint>

#include "base/blob.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

constexpr uint64_t kSpawnMark = 0x316e777073727431;  // changes with the fields
constexpr int64_t kMostRanksOfCommand = 1 << 20;

void write_list(BlobWriter& out, const std::vector<std::string>& list) {
  out.word(list.size());
  for (const std::string& one : list) out.text(one);
}

[[noreturn]] void refuse_request(const char* why) {
  throw Error(MPI_ERR_SPAWN, strf("a request to start ranks %s", why));
}

std::string plain_text_in(BlobReader& in) {
  std::string text = in.text();
  if (text.find('\0') != std::string::npos) refuse_request("has a text with a zero");
  return text;
}

// Each entry has a length, so a false count ends at the blob's end.
std::vector<std::string> list_in(BlobReader& in) {
  std::vector<std::string> list;
  for (uint64_t left = in.word(); left > 0; --left) list.push_back(plain_text_in(in));
  return list;
}

SpawnCommand command_in(BlobReader& in) {
  SpawnCommand command;
  command.program = plain_text_in(in);
  command.arguments = list_in(in);
  const auto ranks = static_cast<int64_t>(in.word());
  if (ranks < 1 || ranks > kMostRanksOfCommand) refuse_request("has an invalid number of ranks");
  command.ranks = static_cast<int>(ranks);
  command.options = list_in(in);
  return command;
}

}  // namespace

std::string pack(const SpawnRequest& request) {
  BlobWriter out;
  out.word(kSpawnMark);
  out.text(request.job);
  out.text(request.port);
  out.text(request.folder);
  out.word(static_cast<uint64_t>(request.universe));
  out.word(request.commands.size());
  for (const SpawnCommand& one : request.commands) {
    out.text(one.program);
    write_list(out, one.arguments);
    out.word(static_cast<uint64_t>(one.ranks));
    write_list(out, one.options);
  }
  write_list(out, request.environment);
  return out.take();
}

SpawnRequest spawn_request_in(std::string_view blob) {
  BlobReader in(blob, MPI_ERR_SPAWN, "a request to start ranks");
  if (in.word() != kSpawnMark) refuse_request("is of another version of Tern");
  SpawnRequest request;
  request.job = plain_text_in(in);
  request.port = plain_text_in(in);
  request.folder = plain_text_in(in);
  request.universe = static_cast<int>(in.word() & INT32_MAX);
  for (uint64_t left = in.word(); left > 0; --left) request.commands.push_back(command_in(in));
  request.environment = list_in(in);
  if (request.commands.empty()) refuse_request("names no program");
  if (in.left() != 0) refuse_request("has bytes behind its end");
  return request;
}

}  // namespace tern::boot
