// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/plan/planned.hpp>

#include <accrue/core/units.hpp>

#include <doctest/doctest.h>

#include <ostream>
#include <string_view>
#include <type_traits>
#include <utility>

namespace plan = accrue::plan;
using accrue::samples;
using accrue::updates;

namespace {

// [snippet planned]
constexpr plan::planned<samples> half_of(samples batch) {
  if (batch == samples{}) return plan::refusal::no_target;
  return samples{batch.value() / 2};
}

static_assert(half_of(samples{32}) == samples{16});
static_assert(half_of(samples{}) == plan::refusal::no_target);
static_assert(plan::explain(*half_of(samples{}).reason()).what == "accrue::plan: a target of 0");
// [/snippet planned]

// A foreign reason proves that as_error is all that planned asks for.
struct because {
  int code;
  friend bool operator==(because const&, because const&) = default;
  friend accrue::error as_error(because) { return {"what", "why", "way out"}; }
};

template <auto Answer>
concept has_constant_value = requires {
  typename std::bool_constant<(Answer().value(), true)>;
};

static_assert(has_constant_value<[] { return half_of(samples{32}); }>);
static_assert(!has_constant_value<[] { return half_of(samples{}); }>, "a refusal is no value, at compile time either");

static_assert(!std::is_convertible_v<plan::planned<samples>, samples>, "a value is asked for, never assumed");
static_assert(!std::is_convertible_v<plan::planned<samples>, bool>);
static_assert(!std::is_constructible_v<plan::planned<samples>, updates>);
static_assert(std::is_trivially_copyable_v<plan::planned<samples>>);
static_assert(noexcept(std::declval<plan::planned<samples>>().reason()), "only value() throws");
static_assert(!noexcept(std::declval<plan::planned<samples>>().value()));

}  // namespace

template class accrue::plan::planned<samples>;
template class accrue::plan::planned<samples, because>;

TEST_CASE("planned: an answer is a value or a reason, never both") {
  auto const yes = half_of(samples{32});
  CHECK(yes);
  CHECK(!yes.reason());
  CHECK(yes.value() == samples{16});

  auto const no = half_of(samples{});
  CHECK(!no);
  CHECK(no.reason() == plan::refusal::no_target);
  CHECK_THROWS_WITH_AS((void)no.value(),
                       "accrue::plan: a target of 0; such an update would learn from nothing; "
                       "give a target of 1 or more",
                       accrue::error);
}

TEST_CASE("planned: answers compare with values, reasons and each other") {
  CHECK(half_of(samples{32}) == half_of(samples{33}));
  CHECK(half_of(samples{32}) != half_of(samples{34}));
  CHECK(half_of(samples{32}) != samples{17});
  CHECK(half_of(samples{32}) != plan::refusal::no_target);
  CHECK(half_of(samples{}) != plan::refusal::no_length);
}

TEST_CASE("planned: a reason of one's own is thrown as its own error") {
  plan::planned<samples, because> const refused = because{7};
  CHECK(refused.reason() == because{7});
  CHECK_THROWS_WITH_AS((void)refused.value(), "what; why; way out", accrue::error);
}
