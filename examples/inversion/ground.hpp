// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Velocities of the ground: the true ones, what is believed at first, and how far two of them are apart.
#ifndef ACCRUE_EXAMPLES_INVERSION_GROUND_HPP
#define ACCRUE_EXAMPLES_INVERSION_GROUND_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>

#include "wave.hpp"

namespace examples {

/// A velocity for each point, by a function of distance and depth in km; in the sponge that of the nearest point.
template <class F>
field make_ground(grid const& g, F const& velocity) {
  field const made("inversion::velocity", g.rows(), g.columns());
  auto const host = Kokkos::create_mirror_view(made);
  for (int i = 0; i < g.rows(); ++i)
    for (int j = 0; j < g.columns(); ++j)
      host(i, j) = velocity(g.spacing * static_cast<float>(std::clamp(j - g.sponge, 0, g.width - 1)),
                            g.spacing * static_cast<float>(std::clamp(i - g.sponge, 0, g.depth - 1)));
  Kokkos::deep_copy(made, host);
  return made;
}

/// Four layers: one level, one that dips, one that is folded.
inline field layered_ground(grid const& g) {
  float const middle = 0.5f * g.spacing * static_cast<float>(g.width);
  return make_ground(g, [middle](float x, float z) {
    float const from_middle = (x - middle) / middle;
    if (z < 0.25f) return 1.8f;
    if (z < 0.5f + 0.08f * from_middle) return 2.1f;
    if (z < 0.9f - 0.2f * std::exp(-8.0f * from_middle * from_middle)) return 2.5f;
    return 3.0f;
  });
}

/// Grows evenly with depth and knows nothing of layers, but for the speed at the surface.
inline field even_ground(grid const& g) {
  return make_ground(g, [](float, float z) { return 1.8f + std::max(0.0f, z - 0.1f); });
}

/// The root of the mean square difference over the points that are looked at, in km/s.
inline double distance(grid const& g, field const& a, field const& b) {
  auto const x = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, a);
  auto const y = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, b);
  double squares = 0;
  for (int i = g.sponge; i < g.sponge + g.depth; ++i)
    for (int j = g.sponge; j < g.sponge + g.width; ++j) squares += std::pow(x(i, j) - y(i, j), 2);
  return std::sqrt(squares / (g.depth * g.width));
}

}  // namespace examples
#endif
