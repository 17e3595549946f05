// SPDX-License-Identifier: Apache-2.0
// The record of an operation's observations.
#include "step.hpp"

#include <cstdarg>
#include <cstring>

#include "buffer.hpp"

Step::Step(uint64_t seed, int index, MPI_Comm comm_, FILE* words)
    : all(mixed(seed, static_cast<uint64_t>(index))),
      mine(0),
      comm(comm_),
      key(mixed(seed, static_cast<uint64_t>(index) + 1000)),
      tags(index % 30 * 1000),
      words_(words) {
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  mine = of(rank);
}

void Step::mix(const char* what, const void* data, size_t bytes) {
  const auto* byte = static_cast<const unsigned char*>(data);
  uint64_t hash = hash_;
  for (const char* letter = what; *letter; ++letter) {
    hash = (hash ^ static_cast<unsigned char>(*letter)) * 0x100000001b3u;
  }
  size_t i = 0;
  for (; i + 8 <= bytes; i += 8) {
    uint64_t word;
    std::memcpy(&word, byte + i, 8);
    hash = (hash ^ word) * 0x9fb21c651e98df25u;
    hash ^= hash >> 29;
  }
  for (; i < bytes; ++i) hash = (hash ^ byte[i]) * 0x100000001b3u;
  hash_ = hash ^ (hash >> 32);
}

void Step::see(const char* what, long long value) {
  mix(what, &value, sizeof value);
  if (words_) std::fprintf(words_, "%s %s = %lld\n", prefix.c_str(), what, value);
}

void Step::see(const char* what, const std::string& text) {
  mix(what, text.data(), text.size());
  if (words_) std::fprintf(words_, "%s %s = \"%s\"\n", prefix.c_str(), what, text.c_str());
}

void Step::see(const char* what, const void* data, size_t bytes) {
  mix(what, data, bytes);
  if (!words_) return;
  constexpr size_t kMost = 100000;
  std::fprintf(words_, "%s %s = %zu bytes, hash %016llx:", prefix.c_str(), what, bytes,
               static_cast<unsigned long long>(hash_));
  for (size_t i = 0; i < bytes && i < kMost; ++i) {
    std::fprintf(words_, i % 4 ? "%02x" : " %02x", static_cast<const unsigned char*>(data)[i]);
  }
  std::fprintf(words_, bytes > kMost ? " ...\n" : "\n");
}

void Step::see(const char* what, Buffer& buffer) {
  buffer.clear_padding();
  see(what, buffer.bytes.data(), buffer.bytes.size());
}

void Step::near(const char* what, double value, double bound) {
  char text[80];
  std::snprintf(text, sizeof text, " %.17g/%.3g", value, bound);
  reals_ += text;
  if (words_) std::fprintf(words_, "%s %s ~%s\n", prefix.c_str(), what, text);
}

bool Step::ok(int error, const char* call) {
  if (error == MPI_SUCCESS) return true;
  see(call, std::string(name_of_class(class_of(error))));
  if (words_) {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error, text, &length);
    std::fprintf(words_, "%s # %s\n", prefix.c_str(), text);
  }
  return false;
}

void Step::see(const char* what, const MPI_Status& status, MPI_Datatype type) {
  int count = -1, cancelled = -1;
  MPI_Get_count(&status, type, &count);
  MPI_Test_cancelled(&status, &cancelled);
  // Constants differ between libraries.
  const auto plain = [](int value, int constant) { return value == constant ? -1 : value; };
  const int source = plain(plain(status.MPI_SOURCE, MPI_PROC_NULL), MPI_ANY_SOURCE);
  char text[100];
  std::snprintf(text, sizeof text, "source %d%s tag %d count %d cancelled %d", source,
                status.MPI_SOURCE == MPI_PROC_NULL ? " (none)" : "",
                plain(status.MPI_TAG, MPI_ANY_TAG), plain(count, MPI_UNDEFINED), cancelled);
  see(what, std::string(text));
}

void Step::say(const char* format, ...) {
  if (!words_) return;
  va_list list;
  va_start(list, format);
  std::fprintf(words_, "%s # ", prefix.c_str());
  std::vfprintf(words_, format, list);
  std::fprintf(words_, "\n");
  va_end(list);
  std::fflush(words_);
}

void Step::add(const Step& other) {
  mix("part", &other.hash_, sizeof other.hash_);
  reals_ += other.reals_;
  if (!other.skipped_.empty()) skipped_ = other.skipped_;
}

int class_of(int error) {
  int error_class = -1;
  MPI_Error_class(error, &error_class);
  return error_class;
}

const char* name_of_class(int error_class) {
  static const struct {
    int value;
    const char* name;
  } kNames[] = {
      {MPI_SUCCESS, "MPI_SUCCESS"},
      {MPI_ERR_BUFFER, "MPI_ERR_BUFFER"},
      {MPI_ERR_COUNT, "MPI_ERR_COUNT"},
      {MPI_ERR_TYPE, "MPI_ERR_TYPE"},
      {MPI_ERR_TAG, "MPI_ERR_TAG"},
      {MPI_ERR_COMM, "MPI_ERR_COMM"},
      {MPI_ERR_RANK, "MPI_ERR_RANK"},
      {MPI_ERR_REQUEST, "MPI_ERR_REQUEST"},
      {MPI_ERR_ROOT, "MPI_ERR_ROOT"},
      {MPI_ERR_GROUP, "MPI_ERR_GROUP"},
      {MPI_ERR_OP, "MPI_ERR_OP"},
      {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY"},
      {MPI_ERR_DIMS, "MPI_ERR_DIMS"},
      {MPI_ERR_ARG, "MPI_ERR_ARG"},
      {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN"},
      {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE"},
      {MPI_ERR_OTHER, "MPI_ERR_OTHER"},
      {MPI_ERR_INTERN, "MPI_ERR_INTERN"},
      {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS"},
      {MPI_ERR_PENDING, "MPI_ERR_PENDING"},
      {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL"},
      {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM"},
      {MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY"},
      {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE"},
      {MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY"},
      {MPI_ERR_INFO, "MPI_ERR_INFO"},
      {MPI_ERR_WIN, "MPI_ERR_WIN"},
      {MPI_ERR_SIZE, "MPI_ERR_SIZE"},
      {MPI_ERR_DISP, "MPI_ERR_DISP"},
      {MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE"},
      {MPI_ERR_ASSERT, "MPI_ERR_ASSERT"},
      {MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT"},
      {MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC"},
      {MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE"},
      {MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH"},
      {MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED"},
      {MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR"},
      {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION"},
      {MPI_ERR_NAME, "MPI_ERR_NAME"},
  };
  for (const auto& one : kNames) {
    if (one.value == error_class) return one.name;
  }
  return "another class";
}
