// SPDX-License-Identifier: Apache-2.0
// The canonical text: a line of words each for a forest, its cut and each tree.
#include "coll/forest/form.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll::forest {
namespace {

constexpr int64_t kMostGpus = 4096, kMostForestTrees = 1 << 16;
constexpr size_t kMostText = size_t{64} << 20;
constexpr Collective kWithForests[] = {Collective::kBcast, Collective::kReduce,
                                       Collective::kAllgather, Collective::kReduceScatter};

class FormReader {
 public:
  FormReader(const std::string& text, std::string name) : name_(std::move(name)), lines_(text) {
    if (text.size() > kMostText) fail("the text is longer than 64 MiB");
  }

  Forests run() {
    Forests made;
    for (begin("forests 1"); next();) made.push_back(forest());
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG, strf("%s:%d: %s; remove the file, and a new plan is made",
                                  name_.c_str(), line_, cause.c_str()));
  }

  bool next() {
    std::string line;
    if (!std::getline(lines_, line)) return false;
    ++line_;
    if (lines_.eof()) fail("the last line is torn");
    words_ = std::istringstream(line);
    return true;
  }

  void begin(const std::string& expected) {
    std::string line;
    line_ = 1;
    if (!std::getline(lines_, line) || line != expected)
      fail("does not begin with \"" + expected + "\"");
  }

  std::string word() {
    std::string one;
    if (!(words_ >> one)) fail("a word is missing");
    return one;
  }

  void expect(const char* expected) {
    if (const std::string one = word(); one != expected)
      fail(strf("\"%s\" instead of \"%s\"", one.c_str(), expected));
  }

  int64_t number(int64_t least, int64_t most) {
    const std::string one = word();
    int64_t value = 0;
    const auto [end, error] = std::from_chars(one.data(), one.data() + one.size(), value);
    if (error != std::errc() || end != one.data() + one.size() || value < least || value > most)
      fail(strf("\"%s\" is no number from %lld to %lld", one.c_str(), static_cast<long long>(least),
                static_cast<long long>(most)));
    return value;
  }

  int32_t small(int64_t least, int64_t most) { return static_cast<int32_t>(number(least, most)); }

  Fraction fraction() {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    const int64_t over = number(0, kMost);
    return {over, number(1, kMost)};
  }

  void end_line() {
    std::string more;
    if (words_ >> more) fail("\"" + more + "\" is an extra word");
  }

  Collective collective() {
    const std::string one = word();
    for (const Collective c : kWithForests)
      if (one == name_of(c)) return c;
    fail("\"" + one + "\" has no forest");
  }

  Forest forest() {
    Forest made;
    expect("forest");
    made.collective = collective();
    made.root = small(0, kMostGpus - 1);
    made.gpus = small(1, kMostGpus);
    made.k = small(1, kMostGpus);
    const int64_t trees = number(0, kMostForestTrees);
    made.time = fraction();
    made.bound = fraction();
    end_line();
    if (!next()) fail("the cut is missing");
    expect("cut");
    for (std::string one; words_ >> one;) made.cut.push_back(one);
    for (int64_t i = 0; i < trees; ++i) made.trees.push_back(tree(made.gpus));
    return made;
  }

  Tree tree(int32_t gpus) {
    if (!next()) fail("a tree is missing");
    Tree made;
    made.root = small(0, gpus - 1);
    made.weight = small(1, kMostGpus);
    for (int32_t gpu = 0; gpu < gpus; ++gpu) made.parents.push_back(small(-1, gpus - 1));
    end_line();
    return made;
  }

  std::string name_;
  std::istringstream lines_, words_;
  int line_ = 0;
};

std::string fraction_text(const Fraction& one) {
  return strf("%lld %lld", static_cast<long long>(one.over), static_cast<long long>(one.under));
}

}  // namespace

int32_t depth_of(const Tree& tree) {
  int32_t deepest = 0;
  for (size_t rank = 0; rank < tree.parents.size(); ++rank) {
    int32_t depth = 0;
    for (auto at = static_cast<int32_t>(rank); tree.parents[static_cast<size_t>(at)] >= 0; ++depth)
      at = tree.parents[static_cast<size_t>(at)];
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

int32_t depth_of(const Forest& forest) {
  int32_t deepest = 0;
  for (const Tree& tree : forest.trees) deepest = std::max(deepest, depth_of(tree));
  return deepest;
}

std::string text_of(const Forests& forests) {
  std::string text = "forests 1\n";
  for (const Forest& forest : forests) {
    text += strf("forest %s %d %d %d %zu %s %s\ncut", name_of(forest.collective), forest.root,
                 forest.gpus, forest.k, forest.trees.size(), fraction_text(forest.time).c_str(),
                 fraction_text(forest.bound).c_str());
    for (const std::string& name : forest.cut) text += " " + name;
    for (const Tree& tree : forest.trees) {
      text += strf("\n%d %d", tree.root, tree.weight);
      for (const int32_t parent : tree.parents) text += strf(" %d", parent);
    }
    text += "\n";
  }
  return text;
}

Forests forests_in(const std::string& text, const std::string& name) {
  Forests made = FormReader(text, name).run();
  if (text_of(made) != text)
    throw Error(MPI_ERR_ARG, name + ": not in canonical form; remove the file");
  return made;
}

// FNV-1a.
uint64_t hash_of(const std::string& text) noexcept {
  uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

}  // namespace tern::coll::forest
