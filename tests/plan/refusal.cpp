// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/refusal.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <ostream>
#include <string>

namespace plan = accrue::plan;
using plan::refusal;

namespace {

constexpr std::array all{refusal::empty_microbatch,
                         refusal::empty_group,
                         refusal::no_replicas,
                         refusal::no_length,
                         refusal::no_ranks,
                         refusal::no_target,
                         refusal::ranks_left_over,
                         refusal::experts_left_over,
                         refusal::off_target,
                         refusal::partial_group,
                         refusal::never_reached,
                         refusal::no_terms,
                         refusal::terms_not_combined,
                         refusal::smallest_microbatch,
                         refusal::no_room,
                         refusal::one_measurement,
                         refusal::no_stage,
                         refusal::no_number,
                         refusal::no_lengths,
                         refusal::more_than_data,
                         refusal::longer_than_row,
                         refusal::too_large};
static_assert(static_cast<std::size_t>(refusal::too_large) + 1 == all.size());

constexpr bool every_refusal_has_a_text_of_its_own() {
  for (std::size_t i = 0; i < all.size(); ++i) {
    auto const text = plan::explain(all[i]);
    if (static_cast<std::size_t>(all[i]) != i) return false;
    if (!text.what.starts_with("accrue::plan: ") || text.why.empty() || text.way_out.empty()) return false;
    for (std::size_t j = 0; j < i; ++j) {
      if (plan::explain(all[j]).what == text.what) return false;
    }
  }
  return true;
}
static_assert(every_refusal_has_a_text_of_its_own());

// [snippet refusal]
static_assert(plan::explain(refusal::empty_group).what == "accrue::plan: a group of 0 microbatches");
static_assert(plan::explain(refusal::empty_group).why == "it would never be full");
static_assert(plan::explain(refusal::empty_group).way_out == "give 1 microbatch or more");
// [/snippet refusal]

}  // namespace

TEST_CASE("refusal: its error says what, why and the way out") {
  for (refusal reason : all) {
    auto const text = plan::explain(reason);
    CHECK(plan::as_error(reason).what() ==
          std::string(text.what).append("; ").append(text.why).append("; ").append(text.way_out));
  }
}
