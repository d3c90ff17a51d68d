// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Any sequence of public calls, good and bad ones, against a simple model of the group: what it holds, what each call
// says or refuses, and where the parameters are afterwards.
#include "fuzz/target.hpp"

#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include <Kokkos_Core.hpp>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <utility>

namespace {

using namespace accrue;
using array = Kokkos::View<double*, Kokkos::HostSpace>;
using fuzz::require;

constexpr std::size_t size = 3;

/// What an accumulator should hold and say: two parameters whose elements are all alike, under plain SGD.
struct model {
  std::int64_t boundary = 3;
  double rate = 0.5;
  std::array<double, 2> theta{}, sum{};
  std::array<bool, 2> touched{};
  std::int64_t held = 0, contributed = 0, weight = 0;
  std::int64_t seen = 0, groups = 0, attempted = 0, applied = 0, skipped = 0, in_a_row = 0, empty = 0, dropped = 0;

  [[nodiscard]] bool full() const { return held > 0 && held >= boundary; }
  void add(std::array<std::optional<double>, 2> const& gradient, std::int64_t count) {
    ++held, ++seen;
    if (count == 0) return;
    ++contributed, weight += count;
    for (std::size_t p = 0; p < 2; ++p)
      if (gradient[p]) touched[p] = true, sum[p] += static_cast<double>(count) * *gradient[p];
  }
  [[nodiscard]] double mean(std::size_t p) const {
    return contributed > 0 && touched[p] ? sum[p] / static_cast<double>(weight) : 0.0;
  }
  [[nodiscard]] double norm() const { return std::sqrt(size * (mean(0) * mean(0) + mean(1) * mean(1))); }
  outcome close() {
    if (held == 0) return outcome::empty;
    ++groups;
    outcome const found = contributed == 0 || !(touched[0] || touched[1]) ? outcome::empty
                          : std::isfinite(norm())                         ? outcome::applied
                                                                          : outcome::skipped_non_finite;
    empty += found == outcome::empty ? 1 : 0;
    attempted += found == outcome::empty ? 0 : 1;
    skipped += found == outcome::skipped_non_finite ? 1 : 0;
    if (found == outcome::skipped_non_finite) ++in_a_row;
    if (found == outcome::applied) {
      ++applied, in_a_row = 0;
      for (std::size_t p = 0; p < 2; ++p) theta[p] -= rate * mean(p);
    }
    forget();
    return found;
  }
  void drop() {
    if (held == 0) return;
    ++groups, ++dropped;
    forget();
  }
  void forget() { sum = {}, touched = {}, held = contributed = weight = 0; }
};

/// The accumulator and its model, and the last state that was saved of both.
struct pair {
  array a{"a", size}, b{"b", size};
  decltype(accumulator(parameters(a, b), per_token{}, every{3}, refuse_last{}, gather<2>{},
                       sgd{.learning_rate = 0.5})) group{parameters(a, b), per_token{}, every{3},
                                                         refuse_last{},    gather<2>{}, sgd{.learning_rate = 0.5}};
  model expected;
  std::string file;
  model saved;

  /// Calls, and wants an error exactly where the model says so; then nothing has changed.
  template <class Call>
  bool refuses(bool wanted, Call const& call) {
    try {
      call();
    } catch (error const& refused) {
      require(wanted, "a good call is not refused");
      require(std::string(refused.what()).size() > 20, "a refusal says why");
      return true;
    }
    require(!wanted, "a bad call is refused");
    return false;
  }

  void accumulate(std::array<std::optional<double>, 2> const& value, std::int64_t count, std::size_t extent = size) {
    std::array<std::optional<array>, 2> g;
    for (std::size_t p = 0; p < 2; ++p) {
      if (!value[p]) continue;
      g[p] = array("gradient", extent);
      Kokkos::deep_copy(*g[p], *value[p]);
    }
    bool const wrong = extent != size && (value[0] || value[1]);
    if (!refuses(expected.full() || wrong, [&] { group.accumulate(mean_gradient{g[0], g[1]}, tokens{count}); }))
      expected.add(value, count);
  }
  void adopt(double value, std::int64_t count) {
    array x("gradient", size), y("gradient", size);
    Kokkos::deep_copy(x, value), Kokkos::deep_copy(y, -value);
    bool const late = expected.touched[0] || expected.touched[1];
    if (!refuses(expected.full() || late, [&] {
          group.adopt(mean_gradient{std::move(x), std::move(y)}, tokens{count});
        }))
      expected.add({value, -value}, count);
  }

  void lent(double value, std::int64_t count) {
    if (refuses(expected.full(), [&] { static_cast<void>(group.next_gradients()); })) return;
    auto const [x, y] = group.next_gradients();
    Kokkos::deep_copy(x, value), Kokkos::deep_copy(y, 2 * value);
    group.accumulate(mean_gradient{x, y}, tokens{count});
    expected.add({value, 2 * value}, count);
  }
  void end_of_data() {
    bool const refused = expected.held > 0 && !expected.full();
    std::optional<outcome> found;
    if (!refuses(refused, [&] { found = group.end_of_data().result(); }))
      require(found == expected.close(), "end_of_data says what became of the group");
  }
  void save_now() {
    std::ostringstream out;
    save(group, out);
    file = out.str(), saved = expected;
  }
  void load_last(std::size_t cut) {
    std::istringstream in(file.substr(0, file.size() - cut));
    if (!refuses(expected.held > 0 || cut > 0 || file.empty(), [&] { load(group, in); })) expected = saved;
  }
  void measure() {
    double const found = group.measure().norm, wanted = expected.norm();
    require(std::isfinite(wanted) ? std::abs(found - wanted) <= 1e-12 * (1 + wanted) : !std::isfinite(found),
            "measure finds the norm of what was added");
  }

  void compare() {
    require(group.held().value() == expected.held && group.full() == expected.full(), "it holds what was added");
    ledger const& book = group.ledger();
    require(book.microbatches().value() == expected.seen && book.groups() == expected.groups &&
                book.attempted().value() == expected.attempted && book.applied().value() == expected.applied &&
                book.skipped().value() == expected.skipped && book.empty_groups() == expected.empty &&
                book.dropped_groups() == expected.dropped && book.consecutive_skips().value() == expected.in_a_row,
            "the ledger counts what happened");
    for (std::size_t i = 0; i < size; ++i)
      require(std::abs(a(i) - expected.theta[0]) <= 1e-12 * (1 + std::abs(expected.theta[0])) &&
                  std::abs(b(i) - expected.theta[1]) <= 1e-12 * (1 + std::abs(expected.theta[1])),
              "parameters are where the updates put them");
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t length) {
  fuzz::input in(data, length);
  pair it;
  for (int calls = 0; !in.empty() && calls < 200; ++calls) {
    std::uint64_t const call = in.number(1);
    auto const value = static_cast<double>(static_cast<std::int8_t>(in.number(1))) / 8;
    auto const count = static_cast<std::int64_t>(in.number(1));
    constexpr double bad = std::numeric_limits<double>::quiet_NaN();
    switch (call % 18) {
      case 0:
      case 1:
        it.accumulate({value, value + 1}, count);
        break;
      case 2:
        it.accumulate({value, std::nullopt}, count);
        break;
      case 3:
        it.accumulate({std::nullopt, std::nullopt}, count);
        break;
      case 4:
        it.accumulate({bad, bad}, 0);
        break;
      case 5:
        it.accumulate({value, bad}, count);
        break;
      case 6:
        it.accumulate({value, value}, count, size + 1);
        break;
      case 7:
        it.lent(value, count);
        break;
      case 8:
        it.adopt(value, count);
        break;
      case 9:
      case 10:
        require(it.group.update() == it.expected.close(), "update says what became of the group");
        break;
      case 11:
        it.end_of_data();
        break;
      case 12:
        it.group.discard(), it.expected.drop();
        break;
      case 13:
        it.group.change_boundary(every{1 + count % 5}), it.expected.boundary = 1 + count % 5;
        break;
      case 14:
        it.group.change_rule(sgd{.learning_rate = std::abs(value)}), it.expected.rate = std::abs(value);
        break;
      case 15:
        it.measure();
        break;
      case 16:
        it.save_now();
        break;
      default:
        it.load_last(count % 4 == 0 ? static_cast<std::size_t>(count) / 4 : 0);
    }
    it.compare();
  }
  return 0;
}
