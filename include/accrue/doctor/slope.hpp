// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_SLOPE_HPP
#define ACCRUE_DOCTOR_SLOPE_HPP

#include <accrue/doctor/loop_terms.hpp>
#include <accrue/doctor/microbatch.hpp>
#include <accrue/doctor/report.hpp>
#include <accrue/doctor/watched_parameters.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <optional>
#include <sstream>
#include <vector>

namespace accrue::doctor {

/// How many times the slope of the loss a gradient is, found by moving the parameters along it both ways.
///
/// Central differences at two distances; nothing where they disagree by more than 2 %, or where rounding of the loss is
/// more than that of its change: near a minimum, or where the loss is not smooth. The distance moves the loss by the
/// cube root of the unit roundoff of itself, where the errors of rounding and of curvature balance (Nocedal and Wright,
/// Numerical Optimization, 2nd edition, section 8.1). `loss()` is asked on changed parameters; they are left changed.
[[nodiscard]] inline std::optional<double> times_slope(watched_parameters const& parameters, gradient const& along,
                                                       double loss_here, double terms,
                                                       std::function<double()> const& loss) {
  double squares = 0;
  double roundoff = 0;
  for (double const value : along.values) squares += value * value;
  for (tensor const& each : along.tensors) roundoff = std::max(roundoff, each.computed);
  if (!(squares > 0.0) || loss_here == 0.0 || !std::isfinite(loss_here)) return std::nullopt;
  std::vector<double> const start = parameters.numbers();

  struct change {
    double expected;  // of the loss, if its slope is the gradient
    double seen;
  };
  auto const moved = [&](double distance) {
    change across{0, 0};
    std::vector<double> places[2];
    for (int const side : {0, 1}) {
      std::vector<double>& place = places[side];
      place = start;
      for (std::size_t i = 0; i < start.size(); ++i) place[i] += (2 * side - 1) * distance * along.values[i];
      parameters.write(place);
      place = parameters.numbers();  // as they were rounded
      across.seen += (2 * side - 1) * loss();
    }
    for (std::size_t i = 0; i < start.size(); ++i) across.expected += along.values[i] * (places[1][i] - places[0][i]);
    return across;
  };
  double const wanted = 2.0 * std::cbrt(roundoff) * std::abs(loss_here);
  double const noise = 50.0 * roundoff * std::sqrt(terms) * std::abs(loss_here);
  double distance = wanted / (2.0 * squares);
  for (int tries = 0; tries < 4; ++tries) {  // a factor that should not be there makes the first guess a bad one
    double const off = wanted / std::max(std::abs(moved(distance).seen), noise / 64);
    if (!(off < 0.25 || off > 4.0)) break;
    distance *= off;
  }
  change const far = moved(distance);
  change const close = moved(distance / 2);
  if (!(std::abs(close.seen) > noise)) return std::nullopt;
  double const ratio = close.expected / close.seen;
  if (!(std::abs(far.expected / far.seen - ratio) <= 0.02 * std::abs(ratio))) return std::nullopt;
  return ratio;
}

/// Says which number a gradient was multiplied or divided by that its loss was not.
inline void explain_slope(double times, double count, loop_terms const& terms, report& to) {
  struct suspect {
    double times;
    diagnosis means;
  };
  double const nominal = static_cast<double>(terms.microbatches);
  suspect const suspects[] = {{1.0 / nominal, diagnosis::divided_twice},
                              {nominal, diagnosis::not_divided},
                              {terms.loss_scale, diagnosis::never_unscaled},
                              {1.0 / terms.loss_scale, diagnosis::unscaled_twice},
                              {1.0 * terms.replicas, diagnosis::world_size_missing},
                              {1.0 / terms.replicas, diagnosis::world_size_twice},
                              {count, diagnosis::sum_called_mean},
                              {1.0 / count, diagnosis::mean_called_sum}};
  constexpr double near = 0.05;
  if (std::abs(times - 1.0) <= near) return;
  std::ostringstream saw;
  saw << "the gradient that the function hands over is " << times
      << " times the slope of its loss, measured by moving the parameters along it";
  std::vector<diagnosis> fitting;
  for (suspect const& each : suspects)
    if (each.times != 1.0 && std::abs(times / each.times - 1.0) <= near) fitting.push_back(each.means);
  for (diagnosis const d : fitting) to.add({d, saw.str(), fitting.size() == 1});
  if (fitting.empty())
    to.note(saw.str() + "; that is right where a term is in one of them only, such as a weight decay");
}

}  // namespace accrue::doctor
#endif
