// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The acoustic wave equation in two dimensions, and the gradient of a misfit by its discrete adjoint.
#ifndef ACCRUE_EXAMPLES_INVERSION_WAVE_HPP
#define ACCRUE_EXAMPLES_INVERSION_WAVE_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <utility>

namespace examples {

using execution = Kokkos::DefaultExecutionSpace;
using field = Kokkos::View<float**, Kokkos::LayoutRight>;      // depth by distance; a row lies in memory as it is
using history = Kokkos::View<float***, Kokkos::LayoutRight>;   // time by depth by distance
using recording = Kokkos::View<float**, Kokkos::LayoutRight>;  // time by receiver
using scalar = Kokkos::View<double>;

/// How the ground and the time are cut up. Lengths in km, times in s.
struct grid {
  int depth, width;  // points that are looked at
  int sponge;        // points on each side of them that swallow waves
  int times;
  float spacing, interval;

  [[nodiscard]] int rows() const { return depth + 2 * sponge; }
  [[nodiscard]] int columns() const { return width + 2 * sponge; }
  [[nodiscard]] int instrument_row() const { return sponge + 1; }  // sources, and a receiver at each of its points
};

inline constexpr int margin = 2;  // zeros around a wavefield, as far as the stencil reaches

/// Calls f(i, j) for every point of the grid.
template <class F>
void for_all_points(char const* label, execution const& exec, grid const& g, F const& f) {
  using order = Kokkos::Rank<2, Kokkos::Iterate::Right, Kokkos::Iterate::Right>;
  Kokkos::parallel_for(label, Kokkos::MDRangePolicy<execution, order>(exec, {0, 0}, {g.rows(), g.columns()}), f);
}

/// spacing^2 times the Laplacian, of fourth order; symmetric, since the wavefield is zero outside.
template <class Wavefield>
KOKKOS_FORCEINLINE_FUNCTION float laplacian(Wavefield const& u, int i, int j) {
  return -5.0f * u(i, j) + 4.0f / 3.0f * (u(i - 1, j) + u(i + 1, j) + u(i, j - 1) + u(i, j + 1)) -
         1.0f / 12.0f * (u(i - 2, j) + u(i + 2, j) + u(i, j - 2) + u(i, j + 2));
}

/// What one shot is computed in. The wavefield at all times is most of it.
struct wave_workspace {
  grid g;
  field damping;      // the part of itself that a wave loses in one interval
  history wavefield;  // [n + 1] is time n; zero at -1 and 0
  field adjoint[2];

  explicit wave_workspace(grid const& of)
      : g(of),
        damping("inversion::damping", g.rows(), g.columns()),
        wavefield("inversion::wavefield", g.times + 2, g.rows() + 2 * margin, g.columns() + 2 * margin),
        adjoint{field("inversion::adjoint", g.rows() + 2 * margin, g.columns() + 2 * margin),
                field("inversion::adjoint", g.rows() + 2 * margin, g.columns() + 2 * margin)} {
    auto const host = Kokkos::create_mirror_view(damping);
    for (int i = 0; i < g.rows(); ++i)
      for (int j = 0; j < g.columns(); ++j) {
        int const inward = std::min(std::min(i, g.rows() - 1 - i), std::min(j, g.columns() - 1 - j));
        float const part = static_cast<float>(std::max(0, g.sponge - inward)) / static_cast<float>(g.sponge);
        host(i, j) = 0.25f * part * part;
      }
    Kokkos::deep_copy(damping, host);
  }
};

/// Lets the wave of a source in a column run through the ground, second order in time, damped in the sponge:
///
///   (1 + d) u[n+1] = 2 u[n] - (1 - d) u[n-1] + m (laplacian(u[n]) + wavelet[n]),   m = (c interval / spacing)^2
inline void run_forward(execution const& exec, wave_workspace const& work, field const& velocity, int source,
                        Kokkos::View<float const*> const& wavelet) {
  auto const u = work.wavefield;
  auto const damping = work.damping;
  float const ratio = work.g.interval / work.g.spacing;
  int const row = work.g.instrument_row();
  for (int n = 0; n < work.g.times; ++n) {
    field const next = Kokkos::subview(u, n + 2, Kokkos::ALL, Kokkos::ALL);
    field const now = Kokkos::subview(u, n + 1, Kokkos::ALL, Kokkos::ALL);
    field const before = Kokkos::subview(u, n, Kokkos::ALL, Kokkos::ALL);
    for_all_points(
        "inversion::forward", exec, work.g, KOKKOS_LAMBDA(int i, int j) {
          float const c = ratio * velocity(i, j), d = damping(i, j);
          int const y = i + margin, x = j + margin;
          float const force = i == row && j == source ? wavelet(n) : 0.0f;
          next(y, x) =
              (2.0f * now(y, x) - (1.0f - d) * before(y, x) + c * c * (laplacian(now, y, x) + force)) / (1.0f + d);
        });
  }
}

/// What the receivers hear: one in each column between the sponges.
inline void listen(execution const& exec, wave_workspace const& work, recording const& heard) {
  auto const u = work.wavefield;
  int const row = work.g.instrument_row() + margin, first = work.g.sponge + margin;
  Kokkos::parallel_for(
      "inversion::listen",
      Kokkos::MDRangePolicy<execution, Kokkos::Rank<2>>(exec, {0, 0}, {heard.extent(0), heard.extent(1)}),
      KOKKOS_LAMBDA(int n, int r) { heard(n, r) = u(n + 2, row, first + r); });
}

/// weight * sum of (u - observed)^2 over times and receivers.
inline void misfit(execution const& exec, wave_workspace const& work, recording const& observed, float weight,
                   scalar const& result) {
  auto const u = work.wavefield;
  int const row = work.g.instrument_row() + margin, first = work.g.sponge + margin;
  Kokkos::parallel_reduce(
      "inversion::misfit",
      Kokkos::MDRangePolicy<execution, Kokkos::Rank<2>>(exec, {0, 0}, {observed.extent(0), observed.extent(1)}),
      KOKKOS_LAMBDA(int n, int r, double& sum) {
        double const residual = u(n + 2, row, first + r) - observed(n, r);
        sum += weight * residual * residual;
      },
      result);
}

/// The gradient of the misfit by the velocity, after a forward run: the same recursion backward in time, driven by the
/// residuals, meets the wavefield. It is exact for this discretization, but for rounding.
///
///   (1 + d) l[n-1] = 2 l[n] - (1 - d) l[n+1] + m (laplacian(l[n]) + 2 weight residual[n])
///   gradient = 2 / (c m) * sum over n of l[n] ((1 + d) u[n+1] - 2 u[n] + (1 - d) u[n-1])
inline void run_adjoint(execution const& exec, wave_workspace const& work, field const& velocity,
                        recording const& observed, float weight, field const& gradient) {
  auto const u = work.wavefield;
  auto const damping = work.damping;
  float const ratio = work.g.interval / work.g.spacing;
  int const row = work.g.instrument_row(), first = work.g.sponge, last = first + work.g.width;
  field now = work.adjoint[0], after = work.adjoint[1];
  Kokkos::deep_copy(exec, now, 0.0f);
  Kokkos::deep_copy(exec, after, 0.0f);
  Kokkos::deep_copy(exec, gradient, 0.0f);
  for (int n = work.g.times; n >= 1; --n) {
    field const later = Kokkos::subview(u, n + 1, Kokkos::ALL, Kokkos::ALL);
    field const there = Kokkos::subview(u, n, Kokkos::ALL, Kokkos::ALL);
    field const earlier = Kokkos::subview(u, n - 1, Kokkos::ALL, Kokkos::ALL);
    for_all_points(
        "inversion::adjoint", exec, work.g, KOKKOS_LAMBDA(int i, int j) {
          float const c = ratio * velocity(i, j), d = damping(i, j);
          int const y = i + margin, x = j + margin;
          bool const heard = i == row && j >= first && j < last;
          float const force = heard ? 2.0f * weight * (later(y, x) - observed(n - 1, j - first)) : 0.0f;
          float const value =
              (2.0f * now(y, x) - (1.0f - d) * after(y, x) + c * c * (laplacian(now, y, x) + force)) / (1.0f + d);
          after(y, x) = value;
          gradient(i, j) += value * ((1.0f + d) * later(y, x) - 2.0f * there(y, x) + (1.0f - d) * earlier(y, x));
        });
    std::swap(now, after);
  }
  for_all_points(
      "inversion::gradient", exec, work.g, KOKKOS_LAMBDA(int i, int j) {
        float const c = velocity(i, j);
        gradient(i, j) *= 2.0f / (c * c * c * ratio * ratio);
      });
}

}  // namespace examples
#endif
