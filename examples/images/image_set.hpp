// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_IMAGES_IMAGE_SET_HPP
#define ACCRUE_EXAMPLES_IMAGES_IMAGE_SET_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "../support/random.hpp"
#include "idx_file.hpp"

namespace examples {

/// Labelled images, one a row, as bytes on the device.
struct image_set {
  Kokkos::View<std::uint8_t**> pixels;
  Kokkos::View<int*> labels;
  int classes = 0;

  [[nodiscard]] int size() const { return static_cast<int>(pixels.extent(0)); }
  [[nodiscard]] int pixels_each() const { return static_cast<int>(pixels.extent(1)); }
};

struct image_data {
  image_set training, held_out;
  std::string description;
};

/// At most `limit` images; one pair of IDX files, `prefix`-images-idx3-ubyte and `prefix`-labels-idx1-ubyte.
inline image_set read_images(std::filesystem::path const& folder, std::string const& prefix, int limit) {
  auto const images = read_idx(folder / (prefix + "-images-idx3-ubyte"), 3);
  auto const labels = read_idx(folder / (prefix + "-labels-idx1-ubyte"), 1);
  if (images.extents[0] != labels.extents[0])
    throw std::runtime_error(folder.string() + ": " + prefix + " has " + std::to_string(images.extents[0]) +
                             " images but " + std::to_string(labels.extents[0]) + " labels");

  int const count = std::min(images.extents[0], limit);
  int const pixels = images.extents[1] * images.extents[2];
  image_set set{Kokkos::View<std::uint8_t**>("examples::pixels", count, pixels),
                Kokkos::View<int*>("examples::labels", count)};
  auto const host_pixels = Kokkos::create_mirror_view(set.pixels);
  auto const host_labels = Kokkos::create_mirror_view(set.labels);
  for (int i = 0; i < count; ++i) {
    for (int p = 0; p < pixels; ++p)
      host_pixels(i, p) =
          images.values[static_cast<std::size_t>(i) * static_cast<std::size_t>(pixels) + static_cast<std::size_t>(p)];
    host_labels(i) = labels.values[static_cast<std::size_t>(i)];
    set.classes = std::max(set.classes, host_labels(i) + 1);
  }
  Kokkos::deep_copy(set.pixels, host_pixels);
  Kokkos::deep_copy(set.labels, host_labels);
  return set;
}

inline image_data read_image_folder(std::filesystem::path const& folder, int limit) {
  image_data data{read_images(folder, "train", limit), read_images(folder, "t10k", limit),
                  "images of " + folder.string()};
  if (data.held_out.pixels_each() != data.training.pixels_each())
    throw std::runtime_error(folder.string() + ": training and held-out images differ in size");
  data.training.classes = std::max(data.training.classes, data.held_out.classes);
  return data;
}

/// Stands in for a data set: a random picture for each class, under noise.
inline image_set synthetic_images(int count, int classes, int pixels, generator& random) {
  generator pictures(1);
  matrix const picture("examples::picture", classes, pixels);
  fill_uniform(picture, 1.0f, pictures);
  auto const host_picture = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, picture);

  image_set set{Kokkos::View<std::uint8_t**>("examples::pixels", count, pixels),
                Kokkos::View<int*>("examples::labels", count), classes};
  auto const host_pixels = Kokkos::create_mirror_view(set.pixels);
  auto const host_labels = Kokkos::create_mirror_view(set.labels);
  for (int i = 0; i < count; ++i) {
    host_labels(i) = static_cast<int>(random() % static_cast<unsigned>(classes));
    for (int p = 0; p < pixels; ++p)
      host_pixels(i, p) =
          static_cast<std::uint8_t>(128.0f + 40.0f * host_picture(host_labels(i), p) + 80.0f * uniform(random));
  }
  Kokkos::deep_copy(set.pixels, host_pixels);
  Kokkos::deep_copy(set.labels, host_labels);
  return set;
}

inline image_data synthetic_image_data() {
  generator random(2);
  image_set const training = synthetic_images(3000, 10, 14 * 14, random);
  return {training, synthetic_images(1000, 10, 14 * 14, random), "SYNTHETIC images (random pictures under noise)"};
}

}  // namespace examples
#endif
