// SPDX-License-Identifier: Apache-2.0
#include "coll/laboratory/search/model_split.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "mpi.h"

namespace tern::coll {
namespace {

constexpr double kMillionth = 1e-6;
constexpr int kSumsOfALayer = 4;
constexpr size_t kMostBounds = 128;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// Sums over the layers before each layer, for a split.
struct Prefix {
  std::vector<double> computation{0}, tensor_sums{0}, parameters{0}, activations{0};
};

/// The best parts of a split with a bound on the longest.
class Stages {
 public:
  Stages(const TrainedModel& model, const SplitCosts& costs, const ModelSplit& shape)
      : model_(model),
        costs_(costs),
        shape_(shape),
        layers_(model.layers.size()),
        parts_(static_cast<size_t>(shape.stages * shape.interleave)) {
    const double rate = model.flops * model.efficiency * kMillionth;
    const auto micro = static_cast<double>(model.microbatch);
    const auto add = [](std::vector<double>& sums, double value) {
      sums.push_back(sums.back() + value);
    };
    for (const ModelLayer& layer : model.layers) {
      const int32_t tensor = std::gcd(shape.tensor, layer.tensor);
      add(sums_.computation, layer.flops * micro / tensor / rate);
      add(sums_.tensor_sums,
          tensor == 1 ? 0 : kSumsOfALayer * costs.tensor_sum(tensor, layer.output * micro));
      add(sums_.parameters, layer.parameters / tensor);
      add(sums_.activations, layer.activations * micro / tensor);
      messages_.push_back(shape.stages == 1 ? 0
                                            : 2 * costs.to_next_stage(shape.tensor, shape.data,
                                                                      layer.output * micro));
    }
    messages_.back() = 0;
  }

  /// False if no parts fit the memory; then least_memory() says the least found.
  bool find(ModelSplit* made) {
    if (parts_ > layers_) return false;
    std::vector<double> bounds = all_times();
    const auto fits = [&](double bound) { return least(bound).feasible; };
    const auto first = std::partition_point(bounds.begin(), bounds.end(),
                                            [&](double bound) { return !fits(bound); });
    double best = kInfinite;
    const double sum = sums_.computation.back() + sums_.tensor_sums.back();
    for (auto bound = first; bound != bounds.end(); ++bound) {
      if (total(*bound * shape_.interleave, sum, 0) >= best) break;
      const Found found = least(*bound);
      if (!found.feasible || found.time >= best) continue;
      best = found.time;
      fill(found.ends, made);
    }
    return best < kInfinite;
  }

  /// Bytes of a GPU if each stage had an equal part.
  [[nodiscard]] double usual_memory() const {
    const double stages = shape_.stages;
    return (sums_.parameters.back() * model_.state +
            sums_.activations.back() * static_cast<double>(in_flight(0))) /
           stages;
  }

 private:
  struct Found {
    bool feasible = false;
    double time = kInfinite;
    std::vector<size_t> ends;
  };
  struct State {  // parts that end before a layer
    double sum, parameters;
    size_t from;     // the last part's first layer
    size_t earlier;  // number of the state before the last part
  };

  [[nodiscard]] double time_of(size_t from, size_t to) const {
    return sums_.computation[to] - sums_.computation[from] + sums_.tensor_sums[to] -
           sums_.tensor_sums[from] + messages_[to - 1];
  }
  [[nodiscard]] int64_t in_flight(int64_t stage) const {
    const int64_t v = shape_.interleave, left = shape_.stages - stage;
    if (v == 1) return std::min(shape_.microbatches, left);
    return std::min(shape_.microbatches * v, 2 * (left - 1) + (v - 1) * shape_.stages + 1);
  }
  // A part of a stage holds its share of the stage's memory.
  [[nodiscard]] double memory_of(size_t part, size_t from, size_t to) const {
    const auto stage = static_cast<int64_t>(part) % shape_.stages;
    return (sums_.parameters[to] - sums_.parameters[from]) * model_.state +
           (sums_.activations[to] - sums_.activations[from]) *
               static_cast<double>(in_flight(stage)) / shape_.interleave;
  }
  [[nodiscard]] double total(double longest, double sum, double gradients) const {
    const double v = shape_.interleave;
    return (static_cast<double>(shape_.microbatches) - 1 / v) * longest + sum / v + gradients;
  }
  [[nodiscard]] double gradients_of(double parameters) const {
    if (shape_.data == 1) return 0;
    return costs_.gradient_sum(shape_.tensor, shape_.data, parameters * model_.gradient);
  }

  [[nodiscard]] std::vector<double> all_times() const {
    std::vector<double> times;
    for (size_t to = 1; to <= layers_; ++to)
      for (size_t from = 0; from < to; ++from) times.push_back(time_of(from, to));
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    if (times.size() <= kMostBounds) return times;
    std::vector<double> made;
    for (size_t i = 1; i <= kMostBounds; ++i)
      made.push_back(times[i * times.size() / kMostBounds - 1]);
    return made;
  }

  /// The least step with parts of at most `bound` us: of each end the pairs (sum of times, most
  /// parameters of a part) that no other pair beats.
  [[nodiscard]] Found least(double bound) const {
    std::vector<std::vector<std::vector<State>>> reached(parts_ + 1);
    for (auto& ends : reached) ends.resize(layers_ + 1);
    reached[0][0].push_back({0, 0, 0, 0});
    for (size_t part = 0; part < parts_; ++part)
      for (size_t to = part + 1; to <= layers_ - (parts_ - part - 1); ++to) {
        if (to < layers_ ? !model_.layers[to - 1].cut || part + 1 == parts_ : part + 1 < parts_)
          continue;
        for (size_t from = to; from-- > part && time_of(from, to) <= bound;) {
          if (memory_of(part, from, to) * shape_.interleave > model_.memory) break;
          extend(reached[part][from], from, to, &reached[part + 1][to]);
        }
      }
    Found found;
    for (const State& end : reached[parts_][layers_]) {
      const double time = total(bound * shape_.interleave, end.sum,
                                gradients_of(end.parameters * shape_.interleave));
      if (found.feasible && time >= found.time) continue;
      found.feasible = true;
      found.time = time;
      found.ends = trace(reached, end);
    }
    return found;
  }

  void extend(const std::vector<State>& before, size_t from, size_t to,
              std::vector<State>* after) const {
    for (size_t i = 0; i < before.size(); ++i) {
      const State next{
          before[i].sum + time_of(from, to),
          std::max(before[i].parameters, sums_.parameters[to] - sums_.parameters[from]), from, i};
      const auto beats = [](const State& a, const State& b) {
        return a.sum <= b.sum && a.parameters <= b.parameters;
      };
      if (std::any_of(after->begin(), after->end(),
                      [&](const State& known) { return beats(known, next); }))
        continue;
      after->erase(std::remove_if(after->begin(), after->end(),
                                  [&](const State& known) { return beats(next, known); }),
                   after->end());
      after->push_back(next);
    }
  }

  [[nodiscard]] std::vector<size_t> trace(
      const std::vector<std::vector<std::vector<State>>>& reached, State at) const {
    std::vector<size_t> ends(parts_);
    size_t end = layers_;
    for (size_t part = parts_; part-- > 0;) {
      ends[part] = end;
      end = at.from;
      if (part > 0) at = reached[part][end][at.earlier];
    }
    return ends;
  }

  /// Sums of the stages; an interleaved stage has several parts.
  void fill(const std::vector<size_t>& ends, ModelSplit* made) const {
    *made = shape_;
    made->ends = ends;
    const auto stages = static_cast<size_t>(shape_.stages);
    const auto m = static_cast<double>(shape_.microbatches);
    double longest = 0, sum = 0, gradients = 0;
    for (size_t stage = 0; stage < stages; ++stage) {
      double computation = 0, tensor_sums = 0, messages = 0, parameters = 0, memory = 0;
      for (size_t part = stage; part < parts_; part += stages) {
        const size_t from = part == 0 ? 0 : ends[part - 1], to = ends[part];
        computation += sums_.computation[to] - sums_.computation[from];
        tensor_sums += sums_.tensor_sums[to] - sums_.tensor_sums[from];
        messages += messages_[to - 1];
        parameters += sums_.parameters[to] - sums_.parameters[from];
        memory += memory_of(part, from, to);
      }
      const double time = computation + tensor_sums + messages;
      sum += time;
      gradients = std::max(gradients, gradients_of(parameters));
      made->memory = std::max(made->memory, memory);
      if (time < longest) continue;
      longest = time;
      made->computation = m * computation;
      made->tensor_sums = m * tensor_sums;
      made->messages = m * messages;
    }
    made->gradients = gradients;
    made->time = total(longest, sum, gradients);
    made->waiting = made->time - m * longest - gradients;
  }

  const TrainedModel& model_;
  const SplitCosts& costs_;
  const ModelSplit shape_;
  const size_t layers_, parts_;
  Prefix sums_;
  std::vector<double> messages_;  // behind each layer
};

/// Shapes of `gpus` GPUs whose replicas have whole microbatches.
std::vector<ModelSplit> shapes_of(const TrainedModel& model, int32_t gpus) {
  int32_t most_tensor = 1;
  for (const ModelLayer& layer : model.layers) most_tensor = std::max(most_tensor, layer.tensor);
  std::vector<ModelSplit> shapes;
  for (int32_t tensor = 1; tensor <= std::min(gpus, most_tensor); ++tensor)
    for (int32_t data = 1; gpus % tensor == 0 && data <= gpus / tensor; ++data) {
      if (gpus / tensor % data != 0 || model.batch % (data * model.microbatch) != 0) continue;
      const int32_t stages = gpus / tensor / data;
      const int64_t microbatches = model.batch / (data * model.microbatch);
      for (int32_t v = 1; v == 1 || (stages > 1 && microbatches % stages == 0 &&
                                     stages * v <= int32_t{kMostLayers});
           v *= 2)
        shapes.push_back({.data = data,
                          .tensor = tensor,
                          .stages = stages,
                          .interleave = v,
                          .microbatches = microbatches});
    }
  return shapes;
}

}  // namespace

const char* ModelSplit::bound() const noexcept {
  const std::pair<double, const char*> parts[] = {{computation, "computation"},
                                                  {tensor_sums, "sums of tensor groups"},
                                                  {messages, "messages between stages"},
                                                  {gradients, "sums of gradients"},
                                                  {waiting, "waiting of stages"}};
  return std::max_element(std::begin(parts), std::end(parts),
                          [](const auto& a, const auto& b) { return a.first < b.first; })
      ->second;
}

std::vector<ModelSplit> split_model(const TrainedModel& model, int32_t gpus,
                                    const SplitCosts& costs, size_t most) {
  std::vector<ModelSplit> splits;
  double least_memory = kInfinite;
  bool divides = false;
  for (const ModelSplit& shape : shapes_of(model, gpus)) {
    divides = true;
    if (static_cast<size_t>(shape.stages) * shape.interleave > model.layers.size()) continue;
    Stages stages(model, costs, shape);
    ModelSplit made;
    if (stages.find(&made))
      splits.push_back(std::move(made));
    else
      least_memory = std::min(least_memory, stages.usual_memory());
  }
  if (!divides)
    throw Error(
        MPI_ERR_ARG,
        strf("no split of %d GPUs divides a batch of %lld into microbatches of %lld; "
             "change batch or microbatch",
             gpus, static_cast<long long>(model.batch), static_cast<long long>(model.microbatch)));
  if (splits.empty() && least_memory == kInfinite)
    throw Error(MPI_ERR_ARG,
                strf("no split of %d GPUs has a layer for each stage: the model has %zu layers and "
                     "a batch of %lld; change the batch, allow tensor splits, or take other GPUs",
                     gpus, model.layers.size(), static_cast<long long>(model.batch)));
  if (splits.empty())
    throw Error(MPI_ERR_ARG,
                strf("no split of the model fits %d GPUs of %.3g GB: the least needs about %.3g GB "
                     "of each; take more GPUs, a smaller microbatch, or allow tensor splits and "
                     "cuts",
                     gpus, model.memory / 1e9, least_memory / 1e9));
  std::stable_sort(splits.begin(), splits.end(),
                   [](const auto& a, const auto& b) { return a.time < b.time; });
  if (splits.size() > most) splits.resize(most);
  return splits;
}

}  // namespace tern::coll
