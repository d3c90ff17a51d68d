// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Trains in mixed precision: float16 weights and gradients, a loss scale that finds its size, a microbatch with a NaN.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <numeric>
#include <vector>

using halves = Kokkos::View<accrue::float16*>;
using vector = Kokkos::View<float*>;
using scalar = Kokkos::View<float>;

constexpr int features = 4;
constexpr int microbatch_size = 8;
constexpr int groups = 150;
constexpr int poisoned_sample = 1234;  // in the middle of the data: its label is NaN
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

/// What the weights should become.
KOKKOS_FUNCTION float wanted(int k) { return k == 1 ? -1.0f : 0.5f + static_cast<float>(k); }

/// Sample i: numbers in [-1, 1], and a label that is their sum by the wanted weights.
KOKKOS_FUNCTION float feature(int i, int k) { return 0.25f * static_cast<float>((i * (k + 3) + i / 5 + k) % 9) - 1.0f; }
KOKKOS_FUNCTION float label(int i) {
  if (i == poisoned_sample) return not_a_number;
  float sum = 0;
  for (int k = 0; k < features; ++k) sum += wanted(k) * feature(i, k);
  return sum;
}

/// Stands for forward and backward pass over a microbatch: what it writes is the mean gradient of `scale` times the
/// loss, rounded to 16 bits, where it overflows if the scale is too large. The loss is reported without the scale.
void backward(halves const& weights, int first, Kokkos::View<float const> const& scale, halves const& gradient,
              scalar const& loss) {
  Kokkos::parallel_for(
      "backward", 1, KOKKOS_LAMBDA(int) {
        float sums[features] = {}, squares = 0;
        for (int i = first; i < first + microbatch_size; ++i) {
          float error = -label(i);
          for (int k = 0; k < features; ++k) error += float(weights(k)) * feature(i, k);
          squares += error * error;
          for (int k = 0; k < features; ++k) sums[k] += 2 * error * feature(i, k);
        }
        loss() = squares / microbatch_size;
        for (int k = 0; k < features; ++k) gradient(k) = accrue::float16(scale() * sums[k] / microbatch_size);
      });
}

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  vector const weights("weights", features);    // what is trained, in full precision
  halves const copy("copy", features);          // what the forward pass reads
  halves const gradient("gradient", features);  // what the backward pass writes
  scalar const loss("loss");

  accrue::accumulator group(accrue::parameters(accrue::master_weights{weights, copy}), accrue::per_sample{},
                            accrue::every{2},                                                 // microbatches
                            accrue::dynamic_scale{.initial = 0x1p20, .growth_interval = 50},  // far too large at first
                            accrue::reject_microbatch{.max_consecutive = 20},                 // leave out NaN and Inf
                            accrue::clip_by_global_norm{.max_norm = 2.0}, accrue::momentum{.learning_rate = 0.1});

  auto const scale = group.loss_scale();  // on the device, where the backward pass reads it
  std::vector<std::int64_t> ids(microbatch_size);
  for (int first = 0; first < 2 * groups * microbatch_size; first += microbatch_size) {
    backward(copy, first, scale.view(), gradient, loss);
    std::iota(ids.begin(), ids.end(), first);
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{microbatch_size}, accrue::mean_loss{loss},
                     accrue::sample_ids(ids));
    if (group.full()) group.update();
  }

  accrue::ledger const& book = group.ledger();
  std::vector<accrue::record> const records = book.records();
  std::vector<accrue::rejection> const rejections = book.rejections();
  std::cout << "The first group under each scale:\n";
  double shown = 0;
  for (accrue::record const& each : records) {
    if (each.loss_scale != shown) std::cout << "  " << each << '\n';
    shown = each.loss_scale;
  }
  std::cout << "Left out:\n";
  for (accrue::rejection const& each : rejections) std::cout << "  " << each << '\n';
  std::cout << "In all: " << book << '\n';

  bool right = true;
  auto const check = [&right](bool holds, char const* what) {
    if (!holds) std::cout << "wrong: " << what << '\n';
    right = right && holds;
  };
  check(records.size() == groups && book.applied() == accrue::updates{groups - 6}, "updates");
  check(book.empty_groups() == 6 && records[5].loss_scale == 0x1p15, "groups whose microbatches all overflowed");
  check(records[6].loss_scale == 0x1p14 && records[6].norm < 5 && records[6].clip_factor == 2.0 / records[6].norm,
        "the clip, which sees the gradient without the scale");
  check(rejections.size() == 2 * 6 + 1 && rejections.back().group == 78 &&
            rejections.back().cause == accrue::rejection_cause::not_a_number &&
            rejections.back().sample_ids[2] == poisoned_sample,
        "the poisoned microbatch");
  check(records[77].result == accrue::outcome::applied && records[77].weight == microbatch_size, "its group");
  check(scale.state().overflows == 7 && scale.value() == 0x1p15f, "the scale");
  check(records.back().loss.value_or(1.0) < 1e-4, "the loss");

  auto const trained = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, weights);
  auto const rounded = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, copy);
  for (int k = 0; k < features; ++k) {
    check(std::abs(trained(k) - wanted(k)) < 0.01f, "a weight");
    check(float(rounded(k)) == float(accrue::float16(trained(k))), "the copy of a weight");
  }
  return right ? 0 : 1;
}
