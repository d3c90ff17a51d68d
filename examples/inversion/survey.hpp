// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shots along the surface, and what was recorded of them.
#ifndef ACCRUE_EXAMPLES_INVERSION_SURVEY_HPP
#define ACCRUE_EXAMPLES_INVERSION_SURVEY_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <vector>

#include "wave.hpp"

namespace examples {

/// The wavelet of Ricker, with its peak frequency in Hz.
inline Kokkos::View<float*> ricker(grid const& g, double frequency) {
  Kokkos::View<float*> const made("inversion::wavelet", static_cast<std::size_t>(g.times));
  auto const host = Kokkos::create_mirror_view(made);
  for (int n = 0; n < g.times; ++n) {
    double const phase = 3.14159265358979 * (frequency * g.interval * n - 1.2);
    host(n) = static_cast<float>((1 - 2 * phase * phase) * std::exp(-phase * phase));
  }
  Kokkos::deep_copy(made, host);
  return made;
}

/// All shots with one wavelet. Recordings are a linear function of it: filtering both is the same as shooting again.
struct survey {
  Kokkos::View<float*> wavelet;
  std::vector<int> columns;           // where the sources are
  std::vector<recording> recordings;  // what the receivers heard of each
  float weight = 0;                   // makes 1 of the mean misfit of silence

  survey(execution const& exec, wave_workspace const& work, field const& ground, int shots, double frequency)
      : wavelet(ricker(work.g, frequency)) {
    scalar const of_silence("inversion::of_silence");
    recording const silence("inversion::silence", work.g.times, work.g.width);
    double energy = 0;
    for (int s = 0; s < shots; ++s) {
      columns.push_back(work.g.sponge + 2 + s * (work.g.width - 5) / (shots - 1));
      recordings.emplace_back("inversion::recording", work.g.times, work.g.width);
      run_forward(exec, work, ground, columns.back(), wavelet);
      listen(exec, work, recordings.back());
      misfit(exec, work, silence, 1.0f, of_silence);
      energy += Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, of_silence)();
    }
    weight = static_cast<float>(shots / energy);
  }
};

}  // namespace examples
#endif
