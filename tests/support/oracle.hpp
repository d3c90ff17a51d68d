// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_SUPPORT_ORACLE_HPP
#define ACCRUE_TESTS_SUPPORT_ORACLE_HPP

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// The update of one full batch, formed from the definitions in long double: it keeps all microbatches of a group and
/// adds them up at the end. It shares no code with the library.
///
/// Beside every number stands a bound on how far rounding may carry the library from it, from the number of operations
/// and their unit roundoff u; `slack` covers the terms of second order in u.
namespace oracle {

using real = long double;
using number = std::complex<real>;  // real numbers have no imaginary part

inline constexpr real slack = 1.01L;
inline constexpr real double_roundoff = 0x1p-53L;

struct estimate {
  number value;
  real error = 0;
};

enum class unit { sample, token, microbatch, weight };
enum class bound_on { nothing, norm, value };

/// What a recipe says, as plain numbers.
struct settings {
  unit normalization = unit::sample;
  bool sum_objective = false;

  bound_on clip = bound_on::nothing;
  bool clip_microbatch = false;
  double bound = 1;
  double order = 2;
  double epsilon = 0;

  double learning_rate = 0.1;
  double weight_decay = 0;
  bool has_momentum = false;
  double factor = 0;
  double dampening = 0;
  bool nesterov = false;
};

/// What a view of parameters is stored and summed in.
struct precision {
  real buffer;         ///< unit roundoff
  real parameter;      ///< unit roundoff
  real smallest_half;  ///< half of the smallest parameter above 0: what narrowing may lose near 0
};

struct loss {
  double value;
  bool is_mean;
};

struct microbatch {
  bool is_mean = true;
  std::int64_t samples = 0, tokens = 0;
  double weight = 0;
  std::vector<std::optional<std::vector<number>>> gradients;  ///< one for each view
  std::optional<oracle::loss> loss;

  /// c_i
  [[nodiscard]] real count(unit of) const {
    if (of == unit::sample) return static_cast<real>(samples);
    if (of == unit::token) return static_cast<real>(tokens);
    if (of == unit::weight) return weight;
    return samples == 0 || tokens == 0 ? 0 : 1;
  }
  /// Whether it is left out: its count is 0, unless it is a sum under the sum objective, which needs no count.
  [[nodiscard]] bool ignored(settings const& s) const {
    return count(s.normalization) == 0 && !(s.sum_objective && !is_mean);
  }
};

/// A group's gradient k * G, for each touched view.
struct finalized {
  bool empty = true;
  bool finite = true;
  real weight = 0;  ///< N
  real norm = 0;    ///< of G, before the clip
  real norm_error = 0;
  real clip_factor = 1;
  real clip_factor_error = 0;
  std::optional<real> loss;
  real loss_error = 0;
  std::vector<std::optional<std::vector<estimate>>> gradients;
};

inline real modulus(number const& x) { return std::sqrt(std::norm(x)); }  // no powers leave long double here
inline bool is_finite(number const& x) { return std::isfinite(x.real()) && std::isfinite(x.imag()); }

/// The p-norm of magnitudes; of their errors it bounds the error, by the triangle inequality.
inline real norm_of(std::vector<real> const& magnitudes, double p) {
  real sum = 0;
  for (real const x : magnitudes) sum = std::isinf(p) ? std::max(sum, x) : sum + std::pow(x, static_cast<real>(p));
  return std::isinf(p) ? sum : std::pow(sum, 1 / static_cast<real>(p));
}

/// What a double-precision p-norm of n numbers may be off by, relatively: n additions, the powers and the root.
inline real norm_roundoff(std::size_t n) { return (static_cast<real>(n) + 20) * double_roundoff; }

inline real clip_factor(settings const& s, real norm) {
  return std::min<real>(1, s.bound / (norm + static_cast<real>(s.epsilon)));
}

inline number bounded(settings const& s, number x) {
  real const size = modulus(x);
  return size > s.bound ? x * (s.bound / size) : x;
}

/// One microbatch's own gradient: its mean, or its sum under the sum objective, clipped if the recipe says so, times
/// its weight in S. `relative_error` gets what each element may be off by.
inline std::vector<std::optional<std::vector<number>>> weighed(settings const& s, microbatch const& m,
                                                               real& relative_error) {
  real const c = m.count(s.normalization);
  real const to_own = s.sum_objective ? (m.is_mean ? c : 1) : (m.is_mean ? 1 : 1 / c);
  real const in_sum = s.sum_objective ? 1 : c;

  auto own = m.gradients;
  std::vector<real> magnitudes;
  for (auto& view : own) {
    if (!view) continue;
    for (number& x : *view) {
      x *= to_own;
      magnitudes.push_back(modulus(x));
    }
  }
  relative_error = 0;
  real factor = in_sum;
  if (s.clip_microbatch && s.clip == bound_on::norm) {
    factor *= clip_factor(s, norm_of(magnitudes, s.order));
    relative_error = norm_roundoff(magnitudes.size()) + 6 * double_roundoff;
  }
  for (auto& view : own) {
    if (!view) continue;
    for (number& x : *view) x = factor * (s.clip_microbatch && s.clip == bound_on::value ? bounded(s, x) : x);
  }
  return own;
}

/// G, clipped: S / N of everything that the group holds, or S under the sum objective. `padded` multiplies N.
inline finalized finalize(settings const& s, std::vector<precision> const& views, std::vector<microbatch> const& group,
                          real padded = 1) {
  finalized g;
  g.gradients.resize(views.size());
  std::vector<real> terms(views.size(), 0);  // microbatches that touch a view
  for (microbatch const& m : group)
    for (std::size_t v = 0; v < views.size(); ++v) terms[v] += m.gradients[v] && !m.ignored(s) ? 1 : 0;

  real loss_sum = 0, loss_size = 0;
  std::size_t counted = 0, losses = 0;
  for (microbatch const& m : group) {
    if (m.ignored(s)) continue;
    ++counted;
    real const c = m.count(s.normalization);
    g.weight += c;
    if (m.loss) {
      ++losses;
      real const term = (m.loss->is_mean ? c : 1) * m.loss->value;
      loss_sum += term;
      loss_size += std::abs(term);
    }
    real clip_error = 0;
    auto const terms_of_s = weighed(s, m, clip_error);
    for (std::size_t v = 0; v < views.size(); ++v) {
      if (!terms_of_s[v]) continue;
      g.empty = false;
      if (!g.gradients[v]) g.gradients[v].emplace(terms_of_s[v]->size());
      // Each term rounds its weight and its product, a clipped one also its bound, a quotient and two products; the
      // sum rounds once less than it has terms.
      real const relative = (terms[v] - 1 + (s.clip_microbatch ? 6 : 2)) * views[v].buffer + clip_error;
      for (std::size_t i = 0; i < terms_of_s[v]->size(); ++i) {
        estimate& sum = (*g.gradients[v])[i];
        sum.value += (*terms_of_s[v])[i];
        sum.error += modulus((*terms_of_s[v])[i]) * relative;
      }
    }
  }
  if (g.empty) return g;

  real const n = s.sum_objective ? 1 : g.weight;
  if (counted > 0 && losses == counted) {
    g.loss = loss_sum / n;
    g.loss_error = slack * (2 * static_cast<real>(counted) + 3) * double_roundoff * loss_size / n;
  }

  // The divisor: whole numbers are exact, a sum of real weights and the padding are not.
  real const divided =
      ((s.normalization == unit::weight ? static_cast<real>(counted) : 0) + (padded == 1 ? 0 : 3)) * double_roundoff;
  std::vector<real> magnitudes, errors;
  for (auto& view : g.gradients) {
    if (!view) continue;
    for (estimate& x : *view) {
      g.finite = g.finite && is_finite(x.value);
      x.value /= n * padded;
      x.error = x.error / (n * padded) + modulus(x.value) * divided;
      magnitudes.push_back(modulus(x.value));
      errors.push_back(x.error);
    }
  }
  if (!g.finite) return g;

  // A modulus of a complex number may be rounded as its parts are.
  real part = 0;
  for (precision const& view : views) part = std::max(part, 2 * view.buffer);
  bool const by_norm = s.clip == bound_on::norm && !s.clip_microbatch;
  double const order = by_norm ? s.order : 2;
  g.norm = norm_of(magnitudes, order);
  g.norm_error = slack * (norm_of(errors, order) + g.norm * (norm_roundoff(magnitudes.size()) + part));
  if (by_norm) {
    g.clip_factor = clip_factor(s, g.norm);
    real const least = g.norm + static_cast<real>(s.epsilon) - g.norm_error;
    bool const untouched = g.norm + static_cast<real>(s.epsilon) + g.norm_error < s.bound;
    if (!untouched) g.clip_factor_error = g.clip_factor * (g.norm_error / least + 2 * double_roundoff);
  }

  bool const by_value = s.clip == bound_on::value && !s.clip_microbatch;
  for (std::size_t v = 0; v < views.size(); ++v) {
    if (!g.gradients[v]) continue;
    for (estimate& x : *g.gradients[v]) {
      x.error = x.error * g.clip_factor + modulus(x.value) * g.clip_factor_error;
      x.value *= g.clip_factor;
      if (by_value) x.value = bounded(s, x.value);  // brings no two numbers further apart
      x.error +=
          modulus(x.value) * (views[v].buffer + 2 * double_roundoff) + (by_value ? 4 * views[v].buffer * s.bound : 0);
    }
  }
  return g;
}

/// Stochastic gradient descent with or without momentum, on views that start at given parameters.
class model {
 public:
  model(std::vector<precision> views, std::vector<std::vector<number>> parameters)
      : views_(std::move(views)), updates_(views_.size(), 0) {
    for (auto const& view : parameters) velocity_.emplace_back(view.size());
    parameters_.resize(parameters.size());
    for (std::size_t v = 0; v < parameters.size(); ++v) settle(v, parameters[v]);
  }

  [[nodiscard]] std::vector<precision> const& views() const { return views_; }
  [[nodiscard]] std::vector<estimate> const& parameters(std::size_t view) const { return parameters_[view]; }

  /// Takes over what the library holds, which is a number of its own type, so that errors do not pile up.
  void settle(std::size_t view, std::vector<number> const& held) {
    parameters_[view].clear();
    for (number const& x : held) parameters_[view].push_back({x, 0});
  }

  void update(settings const& s, finalized const& g) {
    for (std::size_t v = 0; v < views_.size(); ++v) {
      if (!g.gradients[v]) continue;
      ++updates_[v];
      for (std::size_t i = 0; i < parameters_[v].size(); ++i)
        update_one(s, views_[v], (*g.gradients[v])[i], parameters_[v][i], velocity_[v][i], updates_[v] == 1);
    }
  }

 private:
  static void update_one(settings const& s, precision const& at, estimate const& gradient, estimate& parameter,
                         estimate& velocity, bool first) {
    real const u = at.buffer;
    real const rate = s.learning_rate, decay = s.weight_decay, factor = s.factor, fresh = 1 - s.dampening;
    auto const size = [](estimate const& x) { return modulus(x.value) + x.error; };

    // Each product rounds its constant and itself, each sum rounds once: at most 3 u for a term.
    estimate d{gradient.value + decay * parameter.value, 0};
    d.error = gradient.error + 3 * u * (size(gradient) + decay * modulus(parameter.value));
    estimate change = d;
    if (s.has_momentum) {
      estimate const before = velocity;
      if (first) {
        velocity = d;
      } else {
        velocity.value = factor * before.value + fresh * d.value;
        velocity.error = factor * before.error + fresh * d.error + 3 * u * (factor * size(before) + fresh * size(d));
      }
      change = velocity;
      if (s.nesterov) {
        change.value = d.value + factor * velocity.value;
        change.error = d.error + factor * velocity.error + 3 * u * (size(d) + factor * size(velocity));
      }
    }
    parameter.value -= rate * change.value;
    parameter.error = rate * (change.error + 2 * u * size(change)) + (u + at.parameter) * modulus(parameter.value);
    parameter.error = slack * parameter.error + at.smallest_half;
  }

  std::vector<precision> views_;
  std::vector<std::vector<estimate>> parameters_;
  std::vector<std::vector<estimate>> velocity_;
  std::vector<std::int64_t> updates_;
};

}  // namespace oracle

#endif
