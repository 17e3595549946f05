// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/search/trained_model.hpp"

#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "base/error.hpp"
#include "base/text_file.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr double kMostModelNumber = 1e18;
constexpr const char* kLayerForm =
    "layer NAME[*TIMES] parameters=N activations=BYTES output=BYTES flops=N [tensor=N] [cut=no]";

class ModelReader {
 public:
  ModelReader(const std::string& text, std::string name) : name_(std::move(name)) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      ++line_;
      read(line.substr(0, line.find('#')));
    }
    if (made_.layers.empty()) fail(strf("no layer; add a line: %s", kLayerForm));
    for (const char* word : {"memory", "flops", "efficiency", "batch"})
      if (seen_.count(word) == 0) fail(strf("\"%s\" is missing; add a line: %s N", word, word));
    if (made_.batch % made_.microbatch != 0)
      fail(strf("microbatch %lld does not divide batch %lld",
                static_cast<long long>(made_.microbatch), static_cast<long long>(made_.batch)));
  }
  TrainedModel take() { return std::move(made_); }

 private:
  [[noreturn]] void fail(const std::string& cause) const {
    throw Error(MPI_ERR_ARG, strf("%s:%d: %s", name_.c_str(), line_, cause.c_str()));
  }

  [[nodiscard]] double number(const std::string& word, const std::string& what, double least,
                              double most) const {
    double value = 0;
    const char* const end = word.data() + word.size();
    const auto [rest, fault] = std::from_chars(word.data(), end, value);
    static const std::string kUnits = "kmgtp";
    bool good = fault == std::errc();
    if (good && rest + 1 == end) {
      const size_t unit = kUnits.find(*rest);
      good = unit != std::string::npos;
      if (good) value *= std::pow(1000.0, static_cast<double>(unit + 1));
    } else {
      good &= rest == end;
    }
    if (good && value >= least && value <= most) return value;
    fail(strf("%s must be from %g to %g, with k, m, g, t or p for powers of 1000, not \"%.40s\"",
              what.c_str(), least, most, word.c_str()));
  }

  [[nodiscard]] int64_t whole(const std::string& word, const std::string& what, double most) const {
    const double value = number(word, what, 1, most);
    if (value != std::floor(value))
      fail(strf("%s must be whole, not %s", what.c_str(), word.c_str()));
    return static_cast<int64_t>(value);
  }

  void read(const std::string& line) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word && words.size() < 10;) words.push_back(word);
    if (words.empty()) return;
    if (words[0] == "layer") return add_layer(words);
    if (words.size() != 2)
      fail(strf("%zu words; a line has a word and a number, or is %s", words.size(), kLayerForm));
    if (!seen_.insert(words[0]).second) fail(strf("\"%.40s\" is above already", words[0].c_str()));
    set(words[0], words[1]);
  }

  void set(const std::string& name, const std::string& word) {
    if (name == "memory")
      made_.memory = number(word, name, 1, kMostModelNumber);
    else if (name == "flops")
      made_.flops = number(word, name, 1, kMostModelNumber);
    else if (name == "efficiency")
      made_.efficiency = number(word, name, 0.001, 1);
    else if (name == "batch")
      made_.batch = whole(word, name, 1e9);
    else if (name == "microbatch")
      made_.microbatch = whole(word, name, 1e9);
    else if (name == "state")
      made_.state = number(word, name, 0, 1000);
    else if (name == "gradient")
      made_.gradient = number(word, name, 0, 1000);
    else
      fail(
          strf("\"%.40s\" is not a word; known: memory, flops, efficiency, batch, microbatch, "
               "state, gradient, layer",
               name.c_str()));
  }

  void add_layer(const std::vector<std::string>& words) {
    if (words.size() < 2) fail(strf("a name is missing: %s", kLayerForm));
    ModelLayer layer{.name = words[1].substr(0, words[1].find('*'))};
    int64_t times = 1;
    if (layer.name.size() < words[1].size())
      times = whole(words[1].substr(layer.name.size() + 1), "times", kMostLayers);
    std::set<std::string> given;
    for (size_t i = 2; i < words.size(); ++i) {
      const size_t equals = words[i].find('=');
      const std::string property = words[i].substr(0, equals);
      if (equals == std::string::npos || !given.insert(property).second)
        fail(strf("\"%.40s\" is no new property: %s", words[i].c_str(), kLayerForm));
      set_property(&layer, property, words[i].substr(equals + 1));
    }
    for (const char* property : {"parameters", "activations", "output", "flops"})
      if (given.count(property) == 0) fail(strf("%s= is missing: %s", property, kLayerForm));
    if (made_.layers.size() + static_cast<size_t>(times) > kMostLayers)
      fail(strf("more than %zu layers; join layers that stay together", kMostLayers));
    made_.layers.insert(made_.layers.end(), static_cast<size_t>(times), layer);
  }

  void set_property(ModelLayer* layer, const std::string& name, const std::string& word) const {
    double* const places[] = {&layer->parameters, &layer->activations, &layer->output,
                              &layer->flops};
    const char* const names[] = {"parameters", "activations", "output", "flops"};
    for (size_t i = 0; i < std::size(names); ++i)
      if (name == names[i]) {
        *places[i] = number(word, name, 0, kMostModelNumber);
        return;
      }
    if (name == "tensor") {
      layer->tensor = static_cast<int32_t>(whole(word, name, 1 << 20));
    } else if (name == "cut" && (word == "yes" || word == "no")) {
      layer->cut = word == "yes";
    } else {
      fail(strf("\"%.40s=%.40s\" is not a property: %s", name.c_str(), word.c_str(), kLayerForm));
    }
  }

  std::string name_;
  int line_ = 0;
  TrainedModel made_;
  std::set<std::string> seen_;
};

}  // namespace

TrainedModel parse_model(const std::string& text, const std::string& name) {
  return ModelReader(text, name).take();
}

TrainedModel load_model(const std::string& name) {
  try {
    return parse_model(text_of_file(name), name);
  } catch (const Error& error) {
    if (error.mpi_class() != MPI_ERR_FILE) throw;
    throw Error(MPI_ERR_FILE, strf("the model %s", error.what()));
  }
}

}  // namespace tern::coll
