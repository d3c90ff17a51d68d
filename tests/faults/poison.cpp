// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Random groups, some with NaN or infinities at random places, against loops in double over plain vectors: a group is
// applied as it should be, or changes no bit of parameters, optimizer state and counts of updates.
#include "faults/training.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iostream>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

namespace faults {

namespace {

constexpr std::size_t views = 3, elements = 11;
using numbers = std::array<std::vector<double>, views>;

/// One microbatch: gradients of some views, and what it weighs.
struct contribution {
  numbers gradient;
  std::array<bool, views> there{};
  std::int64_t count = 0;

  [[nodiscard]] bool finite() const {
    bool all = true;
    for (std::size_t w = 0; w < views; ++w)
      for (double const g : gradient[w]) all = all && (!there[w] || std::isfinite(g));
    return all;
  }
};

/// AdamW on plain vectors, of the mean over tokens, clipped to norm 1. Microbatches that are not finite may be left
/// out.
struct oracle {
  numbers theta, m, v;
  std::array<int, views> updates{};
  bool rejects;
  std::int64_t rejected = 0;

  explicit oracle(bool rejecting) : rejects(rejecting) {
    for (auto* each : {&theta, &m, &v}) each->fill(std::vector<double>(elements));
  }

  outcome close(std::vector<contribution> const& group, adamw const& rule, double max_norm) {
    numbers sum;
    sum.fill(std::vector<double>(elements));
    std::array<bool, views> touched{};
    double tokens = 0;
    for (contribution const& each : group) {
      if (each.count == 0) continue;
      if (rejects && !each.finite()) {
        ++rejected;
        continue;
      }
      tokens += static_cast<double>(each.count);
      for (std::size_t w = 0; w < views; ++w) {
        if (!each.there[w]) continue;
        touched[w] = true;
        for (std::size_t i = 0; i < elements; ++i) sum[w][i] += static_cast<double>(each.count) * each.gradient[w][i];
      }
    }
    if (tokens == 0 || !(touched[0] || touched[1] || touched[2])) return outcome::empty;

    double squares = 0;
    for (std::size_t w = 0; w < views; ++w)
      for (double& g : sum[w]) g /= tokens, squares += g * g;
    double const norm = std::sqrt(squares);
    if (!std::isfinite(norm)) return outcome::skipped_non_finite;
    double const factor = norm > max_norm ? max_norm / norm : 1.0;
    for (std::size_t w = 0; w < views; ++w) {
      if (!touched[w]) continue;
      int const n = ++updates[w];
      for (std::size_t i = 0; i < elements; ++i) {
        double const g = factor * sum[w][i];
        m[w][i] = rule.beta1 * m[w][i] + (1 - rule.beta1) * g;
        v[w][i] = rule.beta2 * v[w][i] + (1 - rule.beta2) * g * g;
        double const mean = m[w][i] / (1 - std::pow(rule.beta1, n)), square = v[w][i] / (1 - std::pow(rule.beta2, n));
        theta[w][i] -=
            rule.learning_rate * (mean / (std::sqrt(square) + rule.epsilon) + rule.weight_decay * theta[w][i]);
      }
    }
    return outcome::applied;
  }
};

/// Random groups; a third of them with one to three bad numbers, which may be in a microbatch that weighs nothing.
class generator {
 public:
  explicit generator(unsigned seed) : random_(seed) {}

  std::vector<contribution> group() {
    std::vector<contribution> all(1 + below(4));
    for (contribution& each : all) {
      each.count = below(6) == 0 ? 0 : static_cast<std::int64_t>(1 + below(50));
      for (std::size_t w = 0; w < views; ++w) {
        each.there[w] = below(4) != 0;
        for (std::size_t i = 0; i < elements; ++i) each.gradient[w].push_back(static_cast<float>(normal_(random_)));
      }
    }
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr std::array<double, 3> bad{std::numeric_limits<double>::quiet_NaN(), infinity, -infinity};
    if (below(3) == 0)
      for (std::size_t n = 1 + below(3); n > 0; --n)
        all[below(all.size())].gradient[below(views)][below(elements)] = bad[below(3)];
    return all;
  }

 private:
  [[nodiscard]] std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }
  std::mt19937 random_;
  std::normal_distribution<double> normal_;
};

/// Parameters of scalar `T` under a recipe of AdamW.
template <class T, class... Policies>
bool campaign(char const* name, int count, unsigned seed, Policies... policies) {
  using array = Kokkos::View<T*, Kokkos::HostSpace>;
  constexpr double max_norm = 1.0;
  constexpr adamw rule{.learning_rate = 0.01, .weight_decay = 0.1};
  std::vector<array> theta;
  std::vector<std::vector<array>> lent(4);
  for (std::size_t w = 0; w < views; ++w) {
    theta.emplace_back("theta", elements);
    for (auto& set : lent) set.emplace_back("gradient", elements);
  }
  accumulator group(parameters(theta[0], theta[1], theta[2]), per_token{}, keep_last{},
                    clip_by_global_norm{.max_norm = max_norm}, rule, policies...);
  generator next(seed);
  constexpr bool rejects = (std::is_same_v<Policies, reject_microbatch> || ...);
  constexpr bool scales = (std::is_same_v<Policies, dynamic_scale> || ...);
  oracle expected(rejects);
  double scale = scales ? 65536.0 : 1.0;
  [[maybe_unused]] int clean = 0;
  int applied = 0, skipped = 0, other_outcome = 0, other_parameters = 0, half_skipped = 0;
  for (int n = 0; n < count; ++n) {
    std::vector<contribution> const given = next.group();
    std::string const before = bytes_of(group);
    for (std::size_t k = 0; k < given.size(); ++k) {
      std::array<std::optional<array>, views> g;
      for (std::size_t w = 0; w < views; ++w) {
        for (std::size_t i = 0; i < elements; ++i) lent[k][w](i) = static_cast<T>(scale * given[k].gradient[w][i]);
        if (given[k].there[w]) g[w] = lent[k][w];
      }
      group.accumulate(mean_gradient{g[0], g[1], g[2]}, tokens{given[k].count});
    }
    outcome const found = group.update().result();
    std::int64_t const rejected_before = expected.rejected;
    outcome const wanted = expected.close(given, rule, max_norm);
    if constexpr (scales) {  // shrinks once for a group that overflowed, to 1 at least; grows after two that did not
      bool const overflow = wanted == outcome::skipped_non_finite || expected.rejected > rejected_before;
      clean = overflow ? 0 : clean + (wanted == outcome::applied ? 1 : 0);
      if (overflow) scale = std::max(scale / 2, 1.0);
      if (clean == 2) scale = std::min(scale * 2, 0x1p24), clean = 0;
      other_outcome += static_cast<double>(group.loss_scale().value()) == scale ? 0 : 1;
    }
    applied += found == outcome::applied ? 1 : 0;
    skipped += found == outcome::skipped_non_finite ? 1 : 0;
    other_outcome += found == wanted ? 0 : 1;

    bool near = true;
    for (std::size_t w = 0; w < views; ++w)
      for (std::size_t i = 0; i < elements; ++i) {
        double const is = static_cast<double>(theta[w](i)), should = expected.theta[w][i];
        near = near && std::abs(is - should) <= (sizeof(T) == 4 ? 1e-6 : 1e-11) * (1.0 + std::abs(should));
        expected.theta[w][i] = is;  // a rounding is no fault, and none adds up
      }
    other_parameters += near ? 0 : 1;
    if (found == outcome::applied) continue;
    auto const was = sections_of(before), now = sections_of(bytes_of(group));
    for (char const* part : {"parameters", "rule state", "updates", "settings"})
      half_skipped += was.at(part) == now.at(part) ? 0 : 1;
  }
  std::cout << "poison, " << name << ": " << count << " groups, " << applied << " applied, " << skipped << " skipped; "
            << other_outcome << " with another outcome, " << other_parameters << " with wrong parameters, "
            << half_skipped << " skipped by half, " << expected.rejected << " microbatches rejected\n";
  return other_outcome + other_parameters + half_skipped == 0 && (skipped + expected.rejected > 0 || count < 20) &&
         group.ledger().rejected_microbatches().value() == expected.rejected &&
         group.ledger().skipped().value() == skipped && group.ledger().applied().value() == applied;
}

}  // namespace

bool poison(int count, unsigned seed) {
  dynamic_scale const scale{.growth_interval = 2, .at_floor = overflow_at_floor::stays};
  int const quarter = count / 4;
  bool const plain = campaign<double>("double", count - 3 * quarter, seed);
  bool const gathered =
      campaign<float>("float summed in double, gathered", quarter, seed + 1, widened<double>{}, gather<2>{});
  bool const scaled = campaign<double>("double under a dynamic scale", quarter, seed + 2, scale);
  bool const rejecting =
      campaign<double>("double, bad microbatches left out", quarter, seed + 3, scale, reject_microbatch{});
  return plain && gathered && scaled && rejecting;
}

}  // namespace faults
