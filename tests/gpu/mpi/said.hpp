// SPDX-License-Identifier: Apache-2.0
// Captures a rank's standard error. C++ streams would add a megabyte to a bundled test.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/mpi/check.h"

// The sanitizer's function is null in other builds.
extern "C" [[gnu::weak]] void __sanitizer_set_report_fd(void* descriptor);

namespace tern::test {

/// Only one Heard may exist at a time.
class Heard {
 public:
  Heard() {
    char name[] = "/tmp/tern_said_XXXXXX";
    file_ = mkstemp(name);
    screen_ = dup(2);
    if (file_ < 0 || screen_ < 0 || dup2(file_, 2) < 0)
      FAIL("cannot redirect standard error to %s", name);
    (void)unlink(name);
    report_to(screen_);
    present_ = this;
    before_abort = [] { present_->show(); };
  }
  Heard(const Heard&) = delete;
  Heard& operator=(const Heard&) = delete;
  ~Heard() {
    before_abort = nullptr;
    (void)dup2(screen_, 2);
    report_to(2);
    (void)close(screen_);
    (void)close(file_);
  }

  [[nodiscard]] std::string text(size_t from = 0) const {
    std::string all;
    char part[4096];
    ssize_t got = 0;
    while ((got = pread(file_, part, sizeof part, static_cast<off_t>(from + all.size()))) > 0)
      all.append(part, static_cast<size_t>(got));
    return all;
  }
  [[nodiscard]] bool has(const char* words) const {
    return text().find(words) != std::string::npos;
  }
  [[nodiscard]] bool will_have(const char* words, int seconds) const {
    for (int i = 0; i < seconds * 100 && !has(words); ++i) (void)usleep(10'000);
    return has(words);
  }

 private:
  static void report_to(int descriptor) {
    if (__sanitizer_set_report_fd != nullptr)
      __sanitizer_set_report_fd(reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)));
  }
  void show() {
    (void)std::fflush(stderr);
    (void)dup2(screen_, 2);
    (void)std::fputs(text().c_str(), stderr);
    (void)std::fflush(stderr);
  }

  static inline Heard* present_ = nullptr;
  int file_ = -1, screen_ = -1;
};

}  // namespace tern::test
