// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two replicas of one parameter in one process: together they are the hello world, whatever each of them was given.
#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

#include <Kokkos_Core.hpp>
#include <iostream>
#include <limits>
#include <vector>

using vector = Kokkos::View<float*, Kokkos::HostSpace>;

namespace {

vector filled(float value) {
  vector const made("gradient", 1);
  Kokkos::deep_copy(made, value);
  return made;
}

/// Returns whether both replicas are where one large batch would have brought them.
bool run() {
  std::vector<vector> const theta{vector("theta of 0", 1), vector("theta of 1", 1)};  // begin with equal values
  auto const make = [&](vector const& own) {
    return accrue::accumulator(accrue::parameters(own), accrue::per_token{}, accrue::every{2}, accrue::keep_last{},
                               accrue::in_process_replicas<>{}, accrue::sgd{.learning_rate = 1.0});
  };
  auto first = make(theta[0]), second = make(theta[1]);

  // Unequal numbers of tokens: theta moves by (512 * 2 + 1536 * 4) / 2048, not by the mean of two means.
  first.accumulate(accrue::mean_gradient{filled(2.0f)}, accrue::tokens{512});
  second.accumulate(accrue::mean_gradient{filled(4.0f)}, accrue::tokens{1536});
  accrue::update_replicas(first, second);
  std::cout << "one microbatch each:          " << theta[0](0) << " and " << theta[1](0) << '\n';
  bool right = theta[0](0) == -3.5f && theta[1](0) == -3.5f;

  // What is not finite on one replica is applied on none.
  first.accumulate(accrue::mean_gradient{filled(2.0f)}, accrue::tokens{512});
  second.accumulate(accrue::mean_gradient{filled(std::numeric_limits<float>::infinity())}, accrue::tokens{1536});
  auto const done = accrue::update_replicas(first, second);
  std::cout << "infinity on the second one:   " << theta[0](0) << " and " << theta[1](0) << ", " << done[0].result()
            << '\n';
  right = right && done[0] == accrue::outcome::skipped_non_finite && theta[0](0) == -3.5f && theta[1](0) == -3.5f;

  // The data of the second one end: it takes part with what it has, which is nothing.
  for (float const each : {1.0f, 3.0f}) first.accumulate(accrue::mean_gradient{filled(each)}, accrue::tokens{100});
  accrue::end_of_data_of_replicas(first, second);
  std::cout << "the second one has no data:   " << theta[0](0) << " and " << theta[1](0) << '\n';
  right = right && theta[0](0) == -5.5f && theta[1](0) == -5.5f;

  std::cout << "\nhanded over by the first one: " << first.ledger().tokens()
            << "; to groups of both: " << first.ledger().over_replicas().tokens << '\n';
  return right;
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  return run() ? 0 : 1;
}
