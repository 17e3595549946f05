// SPDX-License-Identifier: Apache-2.0
// The images: rank 0 reads, all ranks receive.
#pragma once

#include <mpi.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

constexpr int kPixels = 64, kInk = 16;

struct Images {
  std::vector<float> pixels;  // kPixels each, 0 to 1
  std::vector<int> labels;
  int count() const { return static_cast<int>(labels.size()); }
  const float* at(int i) const { return &pixels[i * kPixels]; }
};

inline std::vector<std::string> places(const std::string& named) {
  if (!named.empty()) return {named};
  std::error_code no_such_link;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", no_such_link);
  const auto source = std::filesystem::path(__FILE__);
  return {program.parent_path() / "data/digits.txt", source.parent_path() / "data/digits.txt",
          "examples/digits/data/digits.txt"};
}

// A line: label, space, 64 pixels in base 17.
inline void append(const std::string& line, Images& images) {
  const std::string digits = "0123456789ABCDEFG";
  const bool shaped = line.size() == 2 + kPixels && line[0] >= '0' && line[0] <= '9';
  if (!shaped || line.find_first_not_of(digits, 2) != std::string::npos)
    throw std::runtime_error("expected a digit, a space and 64 characters 0-9 or A-G");
  images.labels.push_back(line[0] - '0');
  for (int i = 2; i < 2 + kPixels; ++i)
    images.pixels.push_back(static_cast<float>(digits.find(line[i])) / kInk);
}

inline Images read_images(const std::string& named, int least) {
  std::string tried, line;
  for (const std::string& path : places(named)) {
    tried += "\n  " + path;
    std::ifstream file(path);
    if (!file) continue;
    Images images;
    try {
      while (std::getline(file, line)) append(line, images);
      if (images.count() < least) throw std::runtime_error("the file has too few images");
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(path + ", after " + std::to_string(images.count()) +
                               " images: " + error.what());
    }
    return images;
  }
  throw std::runtime_error("no data file; tried" + tried + "\nGive its path: digits --data FILE");
}

// Rank 0 reads the file (`named`, or the default places) and broadcasts the images. Empty if
// reading fails or the file has fewer than `least` images.
inline Images share_images(const std::string& named, int least, int rank) {
  Images images;
  if (rank == 0) try {
      images = read_images(named, least);
    } catch (const std::runtime_error& error) {
      std::fprintf(stderr, "digits: %s\n", error.what());
    }
  int count = images.count();
  MPI_Bcast(&count, 1, MPI_INT, 0, MPI_COMM_WORLD);
  images.labels.resize(count);
  images.pixels.resize(count * kPixels);
  MPI_Bcast(images.labels.data(), count, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(images.pixels.data(), count * kPixels, MPI_FLOAT, 0, MPI_COMM_WORLD);
  return images;
}
