// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loop of docs/start.md, which grows line by line: to mixed precision, to replicas, to a run that can be killed.
#include <accrue/accrue.hpp>
#include <accrue/reduce/mpi_replicas.hpp>
#include <accrue/replicas.hpp>
#include <accrue/restart.hpp>

#include <mpi.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <iostream>
#include <string>

#include "backward.hpp"

namespace {

using namespace examples;
using halves = Kokkos::View<accrue::float16*>;

constexpr int samples = 100;  // 12 microbatches of 8 samples, and one of 4
constexpr int microbatch = 8;
constexpr accrue::microbatches in_group{4};
constexpr int passes = 20;

/// What a run ends with.
struct result {
  accrue::record first, last;
  Kokkos::View<float*, Kokkos::HostSpace> weights;
};
template <class Group>
result result_of(Group& group, vector const& weights) {
  auto const records = group.ledger().records();
  return {records.front(), records.back(), Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, weights)};
}

result one_process() {
  vector const weights("weights", features), gradient("gradient", features);
  scalar const loss("loss");

  accrue::accumulator group(accrue::parameters(weights), accrue::per_sample{}, accrue::every{in_group},
                            accrue::keep_last{}, accrue::clip_by_global_norm{.max_norm = 2.0},
                            accrue::momentum{.learning_rate = 0.25, .factor = 0.5});

  for (int pass = 0; pass < passes; ++pass) {
    for (int first = 0; first < samples; first += microbatch) {
      int const last = std::min(first + microbatch, samples);
      backward(weights, first, last, gradient, loss);
      group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{last - first}, accrue::mean_loss{loss});
      if (group.full()) group.update();
    }
    group.end_of_data();
  }
  return result_of(group, weights);
}

result mixed_precision() {
  vector const weights("weights", features);
  halves const copy("copy", features), gradient("gradient", features);  // what the passes read and write
  scalar const loss("loss");

  accrue::accumulator group(accrue::parameters(accrue::master_weights{weights, copy}), accrue::per_sample{},
                            accrue::every{in_group}, accrue::keep_last{}, accrue::dynamic_scale{.initial = 1024.0},
                            accrue::clip_by_global_norm{.max_norm = 2.0},
                            accrue::momentum{.learning_rate = 0.25, .factor = 0.5});

  for (int pass = 0; pass < passes; ++pass) {
    for (int first = 0; first < samples; first += microbatch) {
      int const last = std::min(first + microbatch, samples);
      backward(copy, first, last, group.loss_scale().view(), gradient, loss);
      group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{last - first}, accrue::mean_loss{loss});
      if (group.full()) group.update();
    }
    group.end_of_data();
  }
  return result_of(group, weights);
}

result replicas_that_can_be_killed(std::string const& file, int until) {
  vector const weights("weights", features);
  halves const copy("copy", features), gradient("gradient", features);
  scalar const loss("loss");
  accrue::mpi_replicas<> const replicas;
  int const member = replicas.member(), members = replicas.members();
  accrue::microbatches const own{in_group.value() / members};  // of a group

  accrue::accumulator group(accrue::parameters(accrue::master_weights{weights, copy}), accrue::per_sample{},
                            accrue::every{own}, accrue::keep_last{}, accrue::dynamic_scale{.initial = 1024.0},
                            accrue::clip_by_global_norm{.max_norm = 2.0}, replicas,
                            accrue::momentum{.learning_rate = 0.25, .factor = 0.5});

  int pass = 0;
  if (std::filesystem::exists(file)) {
    accrue::load_file(group, file);
    pass = static_cast<int>(group.ledger().over_replicas().samples.value() / samples);
  }
  for (; pass < until; ++pass) {
    for (int first = member * microbatch; first < samples; first += members * microbatch) {
      int const last = std::min(first + microbatch, samples);
      backward(copy, first, last, group.loss_scale().view(), gradient, loss);
      group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{last - first}, accrue::mean_loss{loss});
      if (group.full()) group.update();
    }
    group.end_of_data();
    accrue::save_file(group, file);
  }
  return result_of(group, weights);
}

bool same(result const& a, result const& b, double tolerance) {
  double difference = std::abs(a.first.norm - b.first.norm) / a.first.norm;
  for (int k = 0; k < features; ++k)
    difference = std::max(difference, static_cast<double>(std::abs(a.weights(k) - b.weights(k))));
  return a.first.weight == b.first.weight && a.last.weight == b.last.weight && difference <= tolerance;
}

/// Returns whether the loop comes to the same in all its forms.
bool run() {
  accrue::mpi_replicas<> const replicas;
  auto const name = "accrue_start_" + std::to_string(replicas.member()) + "_of_" + std::to_string(replicas.members());
  auto const file = (std::filesystem::temp_directory_path() / name).string();
  std::filesystem::remove(file);

  result const plain = one_process();
  result const mixed = mixed_precision();
  result const whole = replicas_that_can_be_killed(file, passes);
  std::filesystem::remove(file);
  replicas_that_can_be_killed(file, 7);  // and here the process ends
  result const resumed = replicas_that_can_be_killed(file, passes);
  std::filesystem::remove(file);

  if (replicas.member() == 0)
    for (result const& each : {plain, mixed, whole, resumed})
      std::cout << each.first << "\n  ... " << each.last << "\n  weights " << each.weights(0) << ' ' << each.weights(1)
                << ' ' << each.weights(2) << '\n';
  // 32 samples weigh in a group and 4 in the last one, on any number of replicas; float16 has 11 bits.
  return plain.first.weight == 32 && plain.last.weight == 4 && same(plain, mixed, 2e-3) && same(mixed, whole, 1e-3) &&
         same(whole, resumed, 1e-15) && std::abs(whole.weights(2) - 3) < 0.05;
}

}  // namespace

int main(int argc, char* argv[]) {
  MPI_Init(&argc, &argv);
  bool right = false;
  try {
    Kokkos::ScopeGuard const kokkos(argc, argv);
    right = run();
  } catch (accrue::error const& refused) {
    std::cerr << refused.what() << '\n';
  }
  if (!right) MPI_Abort(MPI_COMM_WORLD, 1);  // an error on one process ends all of them
  MPI_Finalize();
}
