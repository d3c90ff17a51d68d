// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_IMAGES_EQUALITY_HPP
#define ACCRUE_EXAMPLES_IMAGES_EQUALITY_HPP

#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <iomanip>
#include <iostream>
#include <tuple>
#include <vector>

#include "../support/format.hpp"
#include "../support/gradient_check.hpp"
#include "network.hpp"

namespace examples {

/// The gradient that an accumulator forms from the batch, cut into microbatches of `size` images.
inline std::vector<double> accumulated_gradient(execution const& exec, network const& parameters,
                                                image_set const& images, image_numbers batch, int size,
                                                network_workspace const& work, network const& gradient) {
  accrue::accumulator group(exec,
                            accrue::parameters(parameters.hidden.weight, parameters.hidden.bias,
                                               parameters.output.weight, parameters.output.bias),
                            accrue::per_sample{});
  int const all = static_cast<int>(batch.extent(0));
  for (int first = 0; first < all; first += size) {
    int const last = std::min(first + size, all);
    mean_gradient(exec, parameters, images, Kokkos::subview(batch, Kokkos::pair<int, int>(first, last)), work,
                  gradient);
    group.accumulate(accrue::mean_gradient{gradient.hidden.weight, gradient.hidden.bias, gradient.output.weight,
                                           gradient.output.bias},
                     accrue::samples{last - first});
  }
  return entries(std::tuple(group.snapshot<0>(), group.snapshot<1>(), group.snapshot<2>(), group.snapshot<3>()));
}

/// Prints, for several ways to cut a batch, how far the accumulated gradient is from that of one full pass.
inline bool groups_equal_full_batch(execution const& exec, network const& parameters, image_set const& images,
                                    image_numbers batch, network_workspace const& work, network const& gradient) {
  constexpr double tolerance = 1e-5;  // float rounding of a sum of 256 terms; a wrong divisor is off by far more
  int const all = static_cast<int>(batch.extent(0));
  mean_gradient(exec, parameters, images, batch, work, gradient);
  auto const reference = entries(gradient.views());

  bool equal = true;
  std::cout << "Gradient of " << all << " images, accumulated, against one pass over all of them\n"
            << "      m      A   relative difference\n";
  for (int const size : {256, 64, 16, 1, 100}) {
    auto const found = accumulated_gradient(exec, parameters, images, batch, size, work, gradient);
    double const difference = relative_difference(found, reference);
    equal = equal && difference < tolerance;
    std::cout << std::setw(7) << size << std::setw(7) << (all + size - 1) / size << std::setw(22)
              << scientific(difference, 2) << (all % size == 0 ? "" : "   (the last one is smaller)") << '\n';
  }
  return equal;
}

}  // namespace examples
#endif
