// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Foreign policies for loss scale, non-finite and veto, with what their concepts document and nothing more.
#include "support/host.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace foreign {

/// Doubles after every group without overflow, halves at every other.
struct restless {
  using fills = accrue::slot::loss_scale;
  static constexpr bool scales = true;
  explicit restless(int) {}
  accrue::loss_scale_state initial_state() const { return {.scale = 8.0f}; }
  KOKKOS_FUNCTION accrue::loss_scale_state after(accrue::loss_scale_state state, bool overflow) const {
    state.scale *= overflow ? 0.5f : 2.0f;
    return state;
  }
  bool stops_at_floor() const { return false; }
};

/// Leaves out what is not finite or longer than 50, and stops at the second group in a row that this leaves empty.
struct strict {
  using fills = accrue::slot::non_finite;
  static constexpr bool rejects = true;
  static constexpr bool raises = false;
  explicit strict(int) {}
  double largest_norm() const { return 50.0; }
  std::int64_t most_skips_in_a_row() const { return 2; }
};

/// No update of fewer than four samples.
struct four_samples {
  using fills = accrue::slot::veto;
  static constexpr bool on_device = true;
  static constexpr bool on_host = false;
  explicit four_samples(int) {}
  KOKKOS_FUNCTION bool operator()(accrue::group_finding const& found) const { return found.samples < 4; }
};

/// Asks somebody on the host.
struct second_opinion {
  using fills = accrue::slot::veto;
  static constexpr bool on_device = false;
  static constexpr bool on_host = true;
  explicit second_opinion(std::vector<double>* to) : norms(to) {}
  bool operator()(accrue::group_finding const& found) const {
    norms->push_back(found.norm);
    return norms->size() == 1;
  }
  std::vector<double>* norms;
};

static_assert(accrue::loss_scale_policy<restless>);
static_assert(accrue::non_finite_policy<strict>);
static_assert(accrue::veto_policy<four_samples> && accrue::veto_policy<second_opinion>);

}  // namespace foreign

using accrue::mean_gradient;
using accrue::outcome;
using accrue::samples;
using support::make_view;
using support::not_a_number;
using support::values;

TEST_CASE("foreign loss scale, non-finite and veto run together, and every one of them is felt") {
  auto const theta = make_view<float>({0});
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, foreign::restless(0), foreign::strict(0),
                            foreign::four_samples(0), accrue::sgd{.learning_rate = 1.0});
  auto const update = [&](float true_gradient, int n) {
    float const scale = group.loss_scale().value();
    group.accumulate(mean_gradient{make_view<float>({true_gradient * scale})}, samples{n});
    return group.update().result();
  };
  CHECK(update(2, 4) == outcome::applied);
  CHECK(group.loss_scale().value() == 16.0f);
  CHECK(update(4, 3) == outcome::vetoed);
  CHECK(update(51, 4) == outcome::empty);
  CHECK(group.loss_scale().value() == 16.0f);
  std::string said;
  try {
    update(not_a_number<float>, 4);
  } catch (accrue::error const& e) {
    said = e.what();
  }
  CHECK(said.find("the last of 2 in a row") != std::string::npos);
  CHECK(group.loss_scale().value() == 8.0f);
  CHECK(update(1, 4) == outcome::applied);
  CHECK(values(theta) == std::vector<float>{-3});

  std::ostringstream out;
  out << group.policies();
  CHECK(out.str() ==
        "per_sample, mean_objective, user_closes, one_at_a_time, widened, one_replica, user_policy, late, user_policy, "
        "no_clip, user_policy, no_last_group, sgd{learning_rate=1, weight_decay=0}");
}

TEST_CASE("a foreign veto on the host and a foreign scale that is shared close two accumulators together") {
  auto const theta = make_view<double>({0}), phi = make_view<double>({0});
  std::vector<double> norms;
  accrue::shared_scale const scale(foreign::restless(0));
  accrue::accumulator first(accrue::parameters(theta), accrue::per_sample{}, scale, foreign::second_opinion(&norms),
                            accrue::sgd{.learning_rate = 1.0});
  accrue::accumulator second(accrue::parameters(phi), accrue::per_sample{}, scale, accrue::sgd{.learning_rate = 1.0});
  for (outcome const expected : {outcome::vetoed, outcome::applied}) {
    first.accumulate(mean_gradient{make_view<double>({24})}, samples{1});
    second.accumulate(mean_gradient{make_view<double>({40})}, samples{1});
    auto const [one, other] = accrue::update_together(first, second);
    CHECK(one == expected);
    CHECK(other == expected);
  }
  CHECK(norms == std::vector<double>{3, 3});
  CHECK(values(theta) == std::vector<double>{-3});
  CHECK(values(phi) == std::vector<double>{-5});
  CHECK(scale.cell().value() == 16.0f);
}
