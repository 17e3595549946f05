// SPDX-License-Identifier: Apache-2.0
// Calls: argument checks and error texts.
#include "boot/calls.hpp"

#include <algorithm>
#include <climits>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::boot {
namespace {

// The first byte of a gathered value shows whether values or an error text follow.
constexpr char kGood = '+', kRefused = '!';
constexpr std::size_t kLongestJob = 64;

Error refused(const std::string& why) { return {MPI_ERR_ARG, "the MPIX_Boot has " + why}; }

// A store may use the name for a file.
bool is_name(std::string_view job) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !job.empty() && job.size() <= kLongestJob &&
         job.find_first_not_of(kAllowed) == std::string_view::npos;
}

void check_members(const MPIX_Boot& given) {
  if (given.version != MPIX_BOOT_VERSION)
    throw refused(
        strf("version %d, but this library knows version %d", given.version, MPIX_BOOT_VERSION));
  if (given.size < 1) throw refused(strf("size %d, but a job has at least one rank", given.size));
  if (given.rank < 0 || given.rank >= given.size)
    throw refused(
        strf("rank %d, but a job of %d has ranks 0 to %d", given.rank, given.size, given.size - 1));
  if (given.put == nullptr) throw refused("a null pointer as put");
  if (given.get == nullptr) throw refused("a null pointer as get");
  if (given.fence == nullptr) throw refused("a null pointer as fence");
  if (given.job == nullptr) throw refused("a null pointer as job");
  if (!is_name(given.job))
    throw refused(
        strf("job \"%.100s\"; it must be 1 to %zu letters, digits, dots, dashes or "
             "underscores",
             given.job, kLongestJob));
}

}  // namespace

Calls::Calls(const MPIX_Boot& given) : calls_(given) {
  check_members(given);
  job_ = given.job;
  if (given.host != nullptr) host_ = given.host;
  calls_.job = calls_.host = nullptr;
}

Calls::~Calls() {
  if (calls_.done != nullptr) calls_.done(calls_.context);
}

void Calls::check(int code, const char* function, const std::string& what) const {
  if (code == MPI_SUCCESS) return;
  const char* name = error_class_name(code);
  const std::string how = name != nullptr ? name : strf("%d, not an error class of MPI", code);
  throw Error(name != nullptr ? code : MPI_ERR_OTHER,
              strf("rank %d: the function %s given by MPIX_Boot_provide failed%s: it returned %s",
                   rank(), function, what.c_str(), how.c_str()));
}

void Calls::put(const std::string& key, std::string_view value) const {
  const std::string name = full(key);
  check(calls_.put(calls_.context, name.c_str(), value.data(), static_cast<int>(value.size())),
        "put", strf(" for key \"%s\"", name.c_str()));
}

std::string Calls::get(int rank, const std::string& key, std::size_t room) const {
  const std::string name = full(key), what = strf(" for key \"%s\" of rank %d", name.c_str(), rank);
  for (std::string value;;) {
    value.resize(room);
    int bytes = 0;
    const int code = calls_.get(calls_.context, rank, name.c_str(), value.data(),
                                static_cast<int>(room), &bytes);
    const bool longer = bytes > static_cast<int>(room);
    if (code != MPI_ERR_TRUNCATE && !longer) check(code, "get", what);
    if (bytes < 0)
      throw Error(
          MPI_ERR_OTHER,
          strf("rank %d: the function get given by MPIX_Boot_provide returned a size of %d bytes%s",
               calls_.rank, bytes, what.c_str()));
    if (code == MPI_SUCCESS && !longer) {
      value.resize(static_cast<std::size_t>(bytes));
      return value;
    }
    constexpr std::size_t kMost = INT_MAX / 2;
    if (room > kMost) check(MPI_ERR_TRUNCATE, "get", what);
    room = longer ? static_cast<std::size_t>(bytes) : 2 * room;
  }
}

void Calls::fence() const { check(calls_.fence(calls_.context), "fence", ""); }

void Calls::abort(int code, const char* text) const noexcept {
  if (calls_.abort != nullptr) calls_.abort(calls_.context, code, text == nullptr ? "" : text);
}

void Calls::gather(const std::string& key, std::size_t bytes, const Objection& objection,
                   std::string_view rest) const {
  std::string all(1, kGood);
  try {
    for (int from = 0; from < size(); ++from) {
      const std::string value = get(from, key, bytes);
      const std::string wrong = value.size() != bytes
                                    ? strf("rank %d runs another version of Tern than rank 0", from)
                                    : objection(from, value);
      if (!wrong.empty()) throw Error(MPI_ERR_OTHER, wrong);
      all += value;
    }
  } catch (const Error& error) {
    put(key + ".all", kRefused + std::string(error.what()));
    throw;
  }
  put(key + ".all", all.append(rest));
}

std::string Calls::gathered(const std::string& key, std::size_t bytes, std::string* rest) const {
  constexpr std::size_t kRoomForRest = 4096;  // a longer rest needs a second request
  const std::size_t expected = bytes * static_cast<std::size_t>(size());
  std::string all = get(0, key + ".all", 1 + expected + (rest != nullptr ? kRoomForRest : 0));
  const char kind = all.empty() ? '\0' : all[0];
  all.erase(0, 1);
  if (kind == kRefused) throw Error(MPI_ERR_OTHER, all);
  if (rest != nullptr && all.size() > expected) {
    *rest = all.substr(expected);
    all.resize(expected);
  }
  if (kind != kGood || all.size() % bytes != 0)
    throw Error(MPI_ERR_OTHER, strf("rank %d: the function get given by MPIX_Boot_provide returned "
                                    "%zu bytes for key \"%s.all\", not the value of rank 0",
                                    rank(), all.size(), full(key).c_str()));
  if (all.size() / bytes != static_cast<std::size_t>(size()))
    throw Error(MPI_ERR_OTHER, strf("MPIX_Boot_provide was given size %d on rank %d, but %zu on "
                                    "rank 0",
                                    size(), rank(), all.size() / bytes));
  return all;
}

}  // namespace tern::boot
