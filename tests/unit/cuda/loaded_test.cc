// SPDX-License-Identifier: Apache-2.0
// Newly loaded libraries change the last entry of the dynamic linker's list.
#include "cuda/loaded.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <thread>

namespace tern::cuda::test {
namespace {

// These glibc libraries are rarely loaded.
constexpr const char* kSome = "libBrokenLocale.so.1";
constexpr const char* kOther = "libnss_compat.so.2";

struct Library {
  explicit Library(const char* name) : handle(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(handle, nullptr) << ::dlerror();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library() {
    if (handle != nullptr) ::dlclose(handle);
  }
  void* handle;
};

bool loaded(const char* name) {
  void* const there = ::dlopen(name, RTLD_NOW | RTLD_NOLOAD);
  if (there != nullptr) ::dlclose(there);
  return there != nullptr;
}

TEST(LastLoaded, DoubtsUntilItLooksAtAnEntry) {
  LastLoaded last;
  EXPECT_FALSE(last.still());
  last.trust();
  EXPECT_TRUE(last.still());
  last.doubt();
  EXPECT_FALSE(last.still());
}

TEST(LastLoaded, SeesWhatIsLoadedAfterIt) {
  ASSERT_FALSE(loaded(kSome) || loaded(kOther));
  const link_map* entry = load_last();
  ASSERT_NE(entry, nullptr);
  LastLoaded last;
  last.look_at(*entry);
  EXPECT_TRUE(last.still());
  const Library first(kSome);
  EXPECT_FALSE(last.still());
  const link_map* const next = load_last();
  ASSERT_NE(next, nullptr);
  EXPECT_NE(next, entry);
  last.look_at(*next);
  EXPECT_TRUE(last.still());
  std::thread([&last] {
    const Library second(kOther);
    EXPECT_FALSE(last.still());
  }).join();
}

TEST(LastLoaded, WhatIsUnloadedAgainIsNotThere) {
  const link_map* const entry = load_last();
  ASSERT_NE(entry, nullptr);
  LastLoaded last;
  last.look_at(*entry);
  {
    const Library library(kSome);
    EXPECT_FALSE(last.still());
  }
  EXPECT_EQ(last.still(), !loaded(kSome));
}

TEST(LastLoaded, AnotherNamespaceDoesNotCount) {
  const link_map* const entry = load_last();
  ASSERT_NE(entry, nullptr);
  LastLoaded last;
  last.look_at(*entry);
  void* const apart = ::dlmopen(LM_ID_NEWLM, kSome, RTLD_NOW);
  if (apart == nullptr) GTEST_SKIP() << ::dlerror();
  EXPECT_TRUE(last.still());
  ::dlclose(apart);
}

TEST(LastLoaded, StacksStayAsTheyAre) {
  ASSERT_NE(load_last(), nullptr);
  char on_stack = 0;
  std::FILE* const maps = std::fopen("/proc/self/maps", "re");
  ASSERT_NE(maps, nullptr);
  char line[512];
  bool found = false;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    char rights[8] = {};
    if (std::sscanf(line, "%lx-%lx %7s", &begin, &end, rights) != 3) continue;
    const auto at = reinterpret_cast<uintptr_t>(&on_stack);
    if (at < begin || at >= end) continue;
    found = true;
    EXPECT_EQ(std::strchr(rights, 'x'), nullptr) << line;
  }
  std::fclose(maps);
  EXPECT_TRUE(found);
}

TEST(LastLoaded, EndsAfterSomeTimes) {
  int times = 0;
  while (load_last() != nullptr && times < 100) ++times;
  EXPECT_GT(times, 5);
  EXPECT_LT(times, 20);
}

}  // namespace
}  // namespace tern::cuda::test
