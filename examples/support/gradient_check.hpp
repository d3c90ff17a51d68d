// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compares gradients with each other, and with the loss they are gradients of.
#ifndef ACCRUE_EXAMPLES_SUPPORT_GRADIENT_CHECK_HPP
#define ACCRUE_EXAMPLES_SUPPORT_GRADIENT_CHECK_HPP

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <vector>

namespace examples {

/// The entries of a view of rank 1 or 2, in the order of their indices.
template <class View>
std::vector<double> entries(View const& view) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  std::vector<double> values;
  values.reserve(host.size());
  for (std::size_t i = 0; i < host.extent(0); ++i) {
    if constexpr (View::rank() == 1)
      values.push_back(host(i));
    else
      for (std::size_t j = 0; j < host.extent(1); ++j) values.push_back(host(i, j));
  }
  return values;
}

/// The entries of several views behind each other.
template <class... Views>
std::vector<double> entries(std::tuple<Views...> const& views) {
  std::vector<double> all;
  auto const append = [&](auto const& view) {
    auto const values = entries(view);
    all.insert(all.end(), values.begin(), values.end());
  };
  std::apply([&](auto const&... each) { (append(each), ...); }, views);
  return all;
}

inline double norm(std::vector<double> const& values) {
  double squares = 0;
  for (double const value : values) squares += value * value;
  return std::sqrt(squares);
}

/// |values - reference| / |reference|
inline double relative_difference(std::vector<double> const& values, std::vector<double> const& reference) {
  std::vector<double> difference(reference.size());
  for (std::size_t i = 0; i < reference.size(); ++i) difference[i] = values.at(i) - reference[i];
  return norm(difference) / norm(reference);
}

/// How far one parameter's gradient is from the slope of `loss` along it, measured by moving the parameter both ways.
///
/// Guarantee: the parameter is put back.
template <class View, class Loss>
double slope_error(View const& parameter, View const& gradient, float distance, Loss const& loss) {
  auto const original = Kokkos::create_mirror(Kokkos::HostSpace{}, parameter);
  Kokkos::deep_copy(original, parameter);
  auto const direction = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, gradient);
  auto const moved = Kokkos::create_mirror(Kokkos::HostSpace{}, parameter);
  double const length = norm(entries(gradient));

  auto const loss_at = [&](float along) {
    for (std::size_t i = 0; i < moved.size(); ++i)
      moved.data()[i] = original.data()[i] + along / static_cast<float>(length) * direction.data()[i];
    Kokkos::deep_copy(parameter, moved);
    return loss();
  };
  double const slope = (loss_at(distance) - loss_at(-distance)) / (2.0 * distance);
  Kokkos::deep_copy(parameter, original);
  return std::abs(slope - length) / length;
}

/// The worst `slope_error` of all parameters.
template <class... Views, class Loss>
double worst_slope_error(std::tuple<Views...> const& parameters, std::tuple<Views...> const& gradients,
                         Loss const& loss) {
  double worst = 0;
  auto const check = [&](auto const& parameter, auto const& gradient) {
    worst = std::fmax(worst, slope_error(parameter, gradient, 1e-2f, loss));
  };
  std::apply(
      [&](auto const&... parameter) {
        std::apply([&](auto const&... gradient) { (check(parameter, gradient), ...); }, gradients);
      },
      parameters);
  return worst;
}

}  // namespace examples
#endif
