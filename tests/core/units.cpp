// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Without Kokkos: counts, errors, type lists and slots are for plain C++.
#include <accrue/core/error.hpp>
#include <accrue/core/slots.hpp>
#include <accrue/core/type_list.hpp>
#include <accrue/core/units.hpp>

#include <doctest/doctest.h>
#include <cstdint>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>
#include <type_traits>

template class accrue::count<accrue::unit::samples>;
template class accrue::count<accrue::unit::tokens>;
template class accrue::count<accrue::unit::ignored_tokens>;
template class accrue::count<accrue::unit::positions>;
template class accrue::count<accrue::unit::microbatches>;
template class accrue::count<accrue::unit::updates>;
template struct accrue::type_list<int, void>;

namespace {

using accrue::microbatches;
using accrue::samples;
using accrue::tokens;
using accrue::updates;

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

// ---- what a unit does not allow, and what it does

static_assert(!std::is_convertible_v<tokens, samples> && !std::is_constructible_v<samples, tokens>);
static_assert(!std::is_convertible_v<updates, microbatches> && !std::is_constructible_v<microbatches, updates>);
static_assert(!std::is_convertible_v<int, tokens> && !std::is_convertible_v<tokens, int>);
static_assert(!std::is_convertible_v<tokens, std::int64_t> && !std::is_constructible_v<std::int64_t, tokens>);
static_assert(!std::is_constructible_v<tokens, double> && !std::is_constructible_v<tokens, bool>);
static_assert(!std::is_assignable_v<tokens&, samples> && !std::is_assignable_v<tokens&, int>);

template <class A, class B>
concept addable = requires(A a, B b) {
  a + b;
};
template <class A, class B>
concept comparable = requires(A a, B b) {
  a < b;
};
template <class A, class B>
concept equatable = requires(A a, B b) {
  a == b;
};
template <class A, class B>
concept multipliable = requires(A a, B b) {
  a* b;
};

static_assert(addable<tokens, tokens> && !addable<tokens, samples> && !addable<tokens, int>);
static_assert(comparable<tokens, tokens> && !comparable<tokens, samples> && !comparable<tokens, int>);
static_assert(equatable<updates, updates> && !equatable<updates, microbatches> && !equatable<updates, int>);
static_assert(multipliable<tokens, int> && !multipliable<tokens, bool> && !multipliable<tokens, tokens> &&
              !multipliable<tokens, double>);

// All of it in constant expressions too.
static_assert(tokens{}.value() == 0 && tokens{512}.value() == 512);
static_assert(tokens{2} + tokens{3} == tokens{5} && tokens{2} * 3 == tokens{6});
static_assert(tokens{2} < tokens{3} && tokens{3} >= tokens{3} && tokens{2} != tokens{3});
static_assert(tokens{most}.value() == most && tokens{static_cast<std::uint64_t>(most)}.value() == most);
static_assert(tokens{static_cast<signed char>(7)} == tokens{7u} && tokens{7ull} == tokens{7});
static_assert(sizeof(tokens) == 8 && std::is_trivially_copyable_v<tokens>);

// ---- type lists

using accrue::type_list;
using accrue::unique_t;
static_assert(std::is_same_v<unique_t<>, type_list<>>);
static_assert(std::is_same_v<unique_t<void, void>, type_list<>>);
static_assert(std::is_same_v<unique_t<int, char, int, void, long, char>, type_list<int, char, long>>);
static_assert(unique_t<int, int const>::size == 2);
static_assert(type_list<int, char>::contains<char> && !type_list<int, char>::contains<long>);

// ---- policies for two slots

struct red {
  using fills = accrue::slot::clip;
  static constexpr std::string_view name = "red";
  int depth = 3;
  double width = 0.5;
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("depth", depth);
    visit("width", width);
  }
};
struct nameless {
  using fills = accrue::slot::update;
  int value = 0;
};
struct picky {
  using fills = accrue::slot::update;
  static constexpr std::string_view name = "picky";
  void validate() const { throw accrue::error("picky: it is so", "nothing suits it", "take another"); }
};

static_assert(accrue::policy<red> && accrue::policy<red const&> && !accrue::policy<int>);
static_assert(accrue::fills_slot<red, accrue::slot::clip> && accrue::fills_slot<red const&, accrue::slot::clip>);
static_assert(!accrue::fills_slot<red, accrue::slot::update> && !accrue::fills_slot<int, accrue::slot::clip>);
static_assert(accrue::times_filled<accrue::slot::update, nameless, red, int, picky> == 2);
static_assert(accrue::times_filled<accrue::slot::veto, nameless, red> == 0);
static_assert(accrue::at_most_once<accrue::slot::clip, nameless, red, picky>);
static_assert(!accrue::at_most_once<accrue::slot::update, nameless, red, picky>);
static_assert(std::is_same_v<accrue::policy_for_t<accrue::slot::clip, nameless, picky, red>, red>);
static_assert(std::is_same_v<accrue::policy_for_t<accrue::slot::veto, nameless, picky, red>, nameless>);

template <class T>
std::string printed(T const& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

template <class Policy>
std::string policy_text(Policy const& p) {
  std::ostringstream out;
  accrue::print_policy(out, p);
  return out.str();
}

template <class Call>
std::string what(Call call) {
  try {
    call();
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "nothing thrown";
}

}  // namespace

TEST_CASE("units: a sum that does not fit into 63 bits is refused, and changes nothing") {
  tokens total{most - 1};
  total += tokens{1};
  CHECK(total.value() == most);
  CHECK(
      what([&] { total += tokens{1}; }) ==
      "accrue: a sum of tokens exceeds 63 bits; the exact total would be lost; check the counts that are handed over");
  CHECK(total.value() == most);
  CHECK_THROWS_AS((void)(tokens{most} + tokens{most}), accrue::error);
  CHECK_NOTHROW(total += tokens{0});
}

TEST_CASE("units: a product that does not fit into 63 bits is refused") {
  std::int64_t const root = 3037000499;  // the largest whose square fits
  CHECK((samples{root} * root).value() == 9223372030926249001);
  CHECK(what([&] { (void)(samples{root + 1} * (root + 1)); }).find("accrue: a product of samples exceeds 63 bits; ") ==
        0);
  CHECK((samples{most} * 1).value() == most);
  CHECK((samples{most} * 0).value() == 0);
  CHECK((samples{0} * most).value() == 0);
  CHECK_THROWS_AS((void)(samples{most} * 2), accrue::error);
  CHECK_THROWS_AS((void)(samples{2} * -1), accrue::error);
  CHECK_THROWS_AS((void)(samples{1} * (std::uint64_t(1) << 63)), accrue::error);
}

TEST_CASE_TEMPLATE("units: no negative number is a count, whatever its type", T, signed char, short, int, long long) {
  CHECK(what([] { (void)microbatches{T(-1)}; }) ==
        "accrue: -1 microbatches: a count is not negative; counts are numbers of things that happened; give 0 or more");
  CHECK_THROWS_AS((void)microbatches{std::numeric_limits<T>::min()}, accrue::error);
  CHECK(microbatches{std::numeric_limits<T>::max()}.value() == std::numeric_limits<T>::max());
}

TEST_CASE("units: an unsigned number above 63 bits is no count") {
  CHECK(what([] {
          (void)accrue::positions{std::uint64_t(1) << 63};
        }).find("accrue: a value of positions exceeds 63 bits; ") == 0);
  CHECK(accrue::positions{(std::uint64_t(1) << 63) - 1}.value() == most);
}

TEST_CASE("units: a count prints its number and its unit") {
  CHECK(printed(tokens{512}) == "512 tokens");
  CHECK(printed(accrue::ignored_tokens{0}) == "0 ignored tokens");
  CHECK(printed(updates{most}) == "9223372036854775807 updates");
  std::wostringstream wide;
  wide << samples{8};
  CHECK(wide.str() == L"8 samples");
}

TEST_CASE("error: says what, why and the way out, in this order") {
  accrue::error const e("accrue::thing: it is broken", "nothing works", "mend it");
  CHECK(std::string(e.what()) == "accrue::thing: it is broken; nothing works; mend it");
  CHECK_THROWS_AS(throw e, std::runtime_error);
}

TEST_CASE("joined: one part after the other") {
  CHECK(accrue::joined({}).empty());
  CHECK(accrue::joined({"a", std::string("b") + "c", "", "d"}) == "abcd");
}

TEST_CASE("type_list: visits every type in its order") {
  std::string sizes;
  type_list<char, double, char, float>::for_each(
      [&]<class T>(std::type_identity<T>) { sizes += std::to_string(sizeof(T)); });
  CHECK(sizes == "1814");
  type_list<>::for_each([&](auto) { sizes = "called"; });
  CHECK(sizes == "1814");
}

TEST_CASE("slots: the policy that fills a slot is found with its value, wherever it stands") {
  CHECK(accrue::policy_for<accrue::slot::clip, nameless>(picky{}, red{7}, nameless{}).depth == 7);
  CHECK(accrue::policy_for<accrue::slot::clip, nameless>(red{8}).depth == 8);
  CHECK(accrue::policy_for<accrue::slot::update, picky>(red{}, nameless{5}).value == 5);
  CHECK(accrue::policy_for<accrue::slot::veto, nameless>(red{}, picky{}).value == 0);
  CHECK(accrue::policy_for<accrue::slot::veto, nameless>().value == 0);
}

TEST_CASE("slots: a policy prints its name and its settings, or what there is of them") {
  CHECK(policy_text(red{7, 0.25}) == "red{depth=7, width=0.25}");
  CHECK(policy_text(picky{}) == "picky");
  CHECK(policy_text(nameless{}) == "user_policy");
}

TEST_CASE("slots: validate asks the policies that have something to say") {
  CHECK_NOTHROW(accrue::validate(red{}));
  CHECK(what([] { accrue::validate(picky{}); }) == "picky: it is so; nothing suits it; take another");
}
