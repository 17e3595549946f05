// SPDX-License-Identifier: Apache-2.0
// Trains a small neural network on handwritten digits: each rank computes its part of every batch,
// and nonblocking allreduces sum each layer's gradients while lower layers are computed.
// Why: a minimal complete example of data-parallel training.
// ranks: 1 3
// full-ranks: 2 4 8
// expect-stdout: reads 97\.\d %[^!]*same weights: yes
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device.hpp"
#include "images.hpp"
#include "layer.hpp"

namespace {

constexpr int kClasses = 10;
constexpr std::array<int, 5> kWidths = {kPixels, 256, 256, 128, kClasses};
constexpr int kLayers = static_cast<int>(kWidths.size()) - 1;
constexpr int kBatch = 64;   // images of all ranks together, for any number of ranks
constexpr int kHeldOut = 5;  // every fifth image is for the test

struct Options {
  int epochs = 15;
  bool device = false;
  std::string data;
};

struct World {
  int rank = 0, size = 1;
};

// ---- the network ------------------------------------------------------------------------------

class Network {
 public:
  // Without `streams`, MPI_Iallreduce sums the gradients beside the backward pass. With `streams`,
  // CUDA streams order the parts of a training step, and replay them as a graph from the second
  // step on if `replays`.
  explicit Network(const World& world, Streams* streams = nullptr, bool replays = false)
      : world_(world), streams_(streams), replays_(replays) {
    std::mt19937 random(1998);
    for (int l = 0; l < kLayers; ++l) {
      layers_.emplace_back(kWidths[l], kWidths[l + 1]);
      Layer& layer = layers_.back();
      const float bound = std::sqrt(6.0f / static_cast<float>(layer.in));
      for (int i = 0; i < layer.in * layer.out; ++i)
        layer.values[i] = bound * (static_cast<float>(random()) / 2147483648.0f - 1);
      MPI_Bcast(layer.values.data(), layer.count(), MPI_FLOAT, 0, MPI_COMM_WORLD);
    }
    for (int width : kWidths) {
      activations_.emplace_back(width * kBatch);
      slopes_.emplace_back(width * kBatch);
    }
    if (streams == nullptr) return;
    for (int l = 0; l < kLayers; ++l) {
      parts_[l] = {this, l};
      on_device_[l] = streams->add(layers_[l].gradient);
    }
  }
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;
  ~Network() {
    if (graph_ != nullptr) streams_->end(graph_);
    for (int l = 0; streams_ != nullptr && l < kLayers; ++l)
      streams_->remove(layers_[l].gradient, on_device_[l]);
  }

  // One step over this rank's images of a batch; returns their summed loss.
  double train(const Images& images, const std::vector<int>& mine) {
    if (streams_ != nullptr) return train_in_streams(images, mine);
    const int count = static_cast<int>(mine.size());
    double loss = 0;
    for (int n = 0; n < count; ++n) loss += forward(images.at(mine[n]), images.labels[mine[n]], n);
    std::array<MPI_Request, kLayers> requests;
    requests.fill(MPI_REQUEST_NULL);
    for (int l = kLayers - 1; l >= 0; --l) {
      backward(l, count);
      sum_over_ranks(layers_[l], requests, l);
    }
    timed([&] { MPI_Waitall(kLayers, requests.data(), MPI_STATUSES_IGNORE); });
    for (Layer& layer : layers_) layer.step();
    return loss;
  }

  // The same step in the streams, as calls or as a graph. A graph repeats
  // fixed calls, so these read the step's batch through images_ and mine_.
  double train_in_streams(const Images& images, const std::vector<int>& mine) {
    images_ = &images;
    mine_ = &mine;
    timed([&] {
      if (graph_ != nullptr)
        streams_->replay(graph_);
      else
        put_step();
    });
    streams_->wait();
    if (replays_ && graph_ == nullptr) graph_ = streams_->capture([this] { put_step(); });
    return loss_;
  }

  bool recognises(const float* pixels, int label) {
    forward(pixels, label, 0);
    const float* chance = activation(kLayers, 0);
    return std::max_element(chance, chance + kClasses) - chance == label;
  }

  // FNV-1a over all weights.
  uint64_t hash() const {
    uint64_t h = 14695981039346656037u;
    for (const Layer& layer : layers_)
      for (float value : layer.values) {
        uint32_t bits;
        std::memcpy(&bits, &value, sizeof bits);
        h = (h ^ bits) * 1099511628211u;
      }
    return h;
  }

  int parameters() const {
    int sum = 0;
    for (const Layer& layer : layers_) sum += layer.count();
    return sum;
  }

  double communication_seconds() const { return communication_; }

 private:
  struct Part {
    Network* network;
    int layer;
  };
  void put_step() {
    streams_->compute([](void* self) { static_cast<Network*>(self)->forward_all(); }, this);
    for (int l = kLayers - 1; l >= 0; --l) {
      streams_->compute(
          [](void* given) {
            const Part& part = *static_cast<Part*>(given);
            part.network->backward(part.layer, static_cast<int>(part.network->mine_->size()));
          },
          &parts_[l]);
      streams_->sum(layers_[l].gradient.data(), on_device_[l], layers_[l].count());
    }
    streams_->join();
    streams_->compute(
        [](void* self) {
          for (Layer& layer : static_cast<Network*>(self)->layers_) layer.step();
        },
        this);
  }
  void forward_all() {
    loss_ = 0;
    for (int n = 0; n < static_cast<int>(mine_->size()); ++n)
      loss_ += forward(images_->at((*mine_)[n]), images_->labels[(*mine_)[n]], n);
  }

  float* activation(int l, int n) { return &activations_[l][n * kWidths[l]]; }
  float* slope(int l, int n) { return &slopes_[l][n * kWidths[l]]; }

  // forward() computes all layers for image `n` of this rank's part, leaves the softmax and its
  // slope in the top layer, and returns the loss.
  double forward(const float* pixels, int label, int n) {
    std::copy_n(pixels, kPixels, activation(0, n));
    for (int l = 0; l < kLayers; ++l)
      layers_[l].forward(activation(l, n), activation(l + 1, n), l + 1 < kLayers);
    float* top = activation(kLayers, n);
    const float most = *std::max_element(top, top + kClasses);
    float sum = 0;
    for (int k = 0; k < kClasses; ++k) sum += top[k] = std::exp(top[k] - most);
    for (int k = 0; k < kClasses; ++k) {
      top[k] /= sum;
      slope(kLayers, n)[k] = (top[k] - (k == label ? 1.0f : 0.0f)) / kBatch;
    }
    return -std::log(std::max(top[label], 1e-12f));
  }

  void backward(int l, int images) {
    Layer& layer = layers_[l];
    std::fill(layer.gradient.begin(), layer.gradient.end(), 0.0f);
    for (int n = 0; n < images; ++n)
      layer.backward(activation(l, n), slope(l + 1, n), l > 0 ? slope(l, n) : nullptr);
  }

  // Starts the layer's allreduce; the test drives progress of earlier ones.
  void sum_over_ranks(Layer& layer, std::array<MPI_Request, kLayers>& requests, int l) {
    timed([&] {
      MPI_Iallreduce(MPI_IN_PLACE, layer.gradient.data(), layer.count(), MPI_FLOAT, MPI_SUM,
                     MPI_COMM_WORLD, &requests[l]);
      int done;
      MPI_Testall(kLayers, requests.data(), &done, MPI_STATUSES_IGNORE);
    });
  }

  template <class Call>
  void timed(Call call) {
    const double start = MPI_Wtime();
    call();
    communication_ += MPI_Wtime() - start;
  }

  World world_;
  std::vector<Layer> layers_;
  std::vector<std::vector<float>> activations_, slopes_;  // by layer, then image
  double communication_ = 0;
  // In streams:
  Streams* streams_;
  bool replays_;
  std::array<Part, kLayers> parts_;
  std::array<uint64_t, kLayers> on_device_;
  void* graph_ = nullptr;
  const Images* images_ = nullptr;  // of the step
  const std::vector<int>* mine_ = nullptr;
  double loss_ = 0;
};

// ---- training ---------------------------------------------------------------------------------

// All ranks shuffle alike; each takes every size-th image of a batch.
std::vector<int> part_of_batch(const std::vector<int>& order, int batch, const World& world) {
  std::vector<int> mine;
  for (int i = world.rank; i < kBatch; i += world.size) mine.push_back(order[batch * kBatch + i]);
  return mine;
}

void shuffle(std::vector<int>& order, std::mt19937& random) {
  for (int i = static_cast<int>(order.size()) - 1; i > 0; --i)
    std::swap(order[i], order[random() % (i + 1)]);
}

// Share of the held-out images recognised by all ranks together.
double accuracy(Network& network, const Images& images, const World& world) {
  int64_t counts[2] = {0, 0};  // recognised, tested
  for (int i = world.rank * kHeldOut; i < images.count(); i += world.size * kHeldOut) {
    counts[0] += network.recognises(images.at(i), images.labels[i]);
    ++counts[1];
  }
  MPI_Allreduce(MPI_IN_PLACE, counts, 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
  return static_cast<double>(counts[0]) / static_cast<double>(counts[1]);
}

struct Outcome {
  double accuracy = 0, first_loss = 0, loss = 0, seconds = 0, share = 0;
};

Outcome train(Network& network, const Images& images, const Options& options, const World& world) {
  std::vector<int> order;
  for (int i = 0; i < images.count(); ++i)
    if (i % kHeldOut != 0) order.push_back(i);
  const int batches = static_cast<int>(order.size()) / kBatch;
  std::mt19937 random(42);
  Outcome outcome;
  const double begin = MPI_Wtime();
  for (int epoch = 1; epoch <= options.epochs; ++epoch) {
    shuffle(order, random);
    const double start = MPI_Wtime(), communication = network.communication_seconds();
    double loss = 0;
    for (int b = 0; b < batches; ++b) loss += network.train(images, part_of_batch(order, b, world));
    const double seconds = MPI_Wtime() - start;
    double sums[2] = {loss, (network.communication_seconds() - communication) / seconds};
    MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    outcome.loss = sums[0] / (batches * kBatch);
    outcome.share = sums[1] / world.size;
    outcome.accuracy = accuracy(network, images, world);
    if (epoch == 1) outcome.first_loss = outcome.loss;
    if (world.rank == 0)
      std::printf("epoch %3d  loss %.4f  accuracy %5.1f %%  %6.2f ms a step, %4.1f %% in MPI\n",
                  epoch, outcome.loss, 100 * outcome.accuracy, 1e3 * seconds / batches,
                  100 * outcome.share);
    std::fflush(stdout);
  }
  outcome.seconds = MPI_Wtime() - begin;
  return outcome;
}

// Whether all ranks hold the same weights, bit for bit.
bool same_everywhere(const Network& network) {
  const uint64_t mine = network.hash();
  uint64_t least, most;
  MPI_Allreduce(&mine, &least, 1, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(&mine, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return least == most;
}

const char* plural(int count) { return count == 1 ? "" : "s"; }

void say_what_happened(const Network& network, const Outcome& outcome, bool same, int ranks) {
  std::printf(
      "\n%d rank%s trained %d weights in %.1f s; the loss fell from %.2f to %.4f.\n"
      "The network reads %.1f %% of the held-out images.\n"
      "All ranks hold bitwise the same weights: %s (hash %016llx on rank 0).\n"
      "Gradient sums overlapped the backward pass; MPI took %.1f %% of the last epoch.\n"
      "Try next: mpirun -n 1 or -n 8 (the same accuracy), --epochs 30, examples/ring (one hop).\n",
      ranks, plural(ranks), network.parameters(), outcome.seconds, outcome.first_loss, outcome.loss,
      100 * outcome.accuracy, same ? "yes" : "NO", static_cast<unsigned long long>(network.hash()),
      100 * outcome.share);
}

// ---- streams ----------------------------------------------------------------------------------

// Null without --device or if a rank has no GPU: then the host computes.
std::unique_ptr<Streams> find_streams(const Options& options, const World& world) {
  if (!options.device) return nullptr;
  std::string why;
  auto found = Streams::find(&why);
  if (!why.empty()) std::printf("rank %d: %s; training on the host\n", world.rank, why.c_str());
  return found;
}

// Trains again with enqueued steps instead of a graph.
bool same_without_graph(const Network& replayed, Streams& streams, const Images& images,
                        const Options& options, const World& world) {
  Network eager(world, &streams, false);
  const Outcome outcome = train(eager, images, options, world);
  const bool same = eager.hash() == replayed.hash();
  if (world.rank == 0)
    std::printf(
        "\nTraining without a graph took %.1f s and ends with the same "
        "weights as the graph: %s.\n",
        outcome.seconds, same ? "yes" : "NO");
  return same;
}

// ---- command line -----------------------------------------------------------------------------

// 0: go on; 1: help; 2: wrong use.
int parse_arguments(int argc, char** argv, Options& options, const World& world) {
  const char* usage =
      "usage: digits [--epochs N] [--data FILE] [--device]   (15 epochs, data/digits.txt)\n";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      if (world.rank == 0) std::fputs(usage, stdout);
      return 1;
    }
    if (word == "--device") {
      options.device = true;
      continue;
    }
    const char* value = i + 1 < argc ? argv[++i] : "";
    if (word == "--data" && *value) {
      options.data = value;
    } else if (word == "--epochs" && std::atoi(value) > 0) {
      options.epochs = std::atoi(value);
    } else {
      if (world.rank == 0)
        std::fprintf(stderr, "digits: unknown argument '%s %s'\n%s", word.c_str(), value, usage);
      return 2;
    }
  }
  return 0;
}

int run(int argc, char** argv) {
  World world;
  MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world.size);
  Options options;
  if (const int stop = parse_arguments(argc, argv, options, world)) return stop == 1 ? 0 : 2;
  const Images images = share_images(options.data, 2 * kBatch, world.rank);
  if (images.count() == 0) return 2;
  const std::unique_ptr<Streams> streams = find_streams(options, world);
  Network network(world, streams.get(), true);
  if (world.rank == 0)
    std::printf("digits: %d images, %d weights in %d buckets, batches of %d on %d rank%s\n",
                images.count(), network.parameters(), kLayers, kBatch, world.size,
                plural(world.size));
  const Outcome outcome = train(network, images, options, world);
  const bool same = same_everywhere(network);
  if (world.rank == 0) say_what_happened(network, outcome, same, world.size);
  const bool like_eager =
      streams == nullptr || same_without_graph(network, *streams, images, options, world);
  return same && like_eager ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int code = run(argc, argv);
  MPI_Finalize();
  return code;
}
