// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_EXAMINE_HPP
#define ACCRUE_DOCTOR_EXAMINE_HPP

#include <accrue/doctor/explain.hpp>
#include <accrue/doctor/loop_terms.hpp>
#include <accrue/doctor/microbatch.hpp>
#include <accrue/doctor/questioning.hpp>
#include <accrue/doctor/report.hpp>
#include <accrue/doctor/rounding.hpp>
#include <accrue/doctor/slope.hpp>
#include <accrue/doctor/watched_parameters.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace accrue::doctor {

namespace detail {

/// One way in which parts may add up to a whole: each multiplied by a weight.
struct composition {
  double (*weight)(microbatch const&, mean_over);
  std::optional<diagnosis> if_mean;  // what it means that this fits, where gradients are called means
  std::optional<diagnosis> if_sum;
};

inline constexpr composition compositions[] = {
    {[](microbatch const& m, mean_over unit) { return m.is_mean ? m.count(unit) : 1.0; }, {}, {}},
    {[](microbatch const&, mean_over) { return 1.0; }, diagnosis::sum_called_mean, {}},
    {[](microbatch const& m, mean_over unit) { return m.count(unit); }, {}, diagnosis::mean_called_sum},
    {[](microbatch const& m, mean_over) { return m.positions(); }, diagnosis::ignored_positions_counted,
     diagnosis::mean_called_sum},
    {[](microbatch const& m, mean_over unit) {
       return m.count(unit == mean_over::samples ? mean_over::tokens : mean_over::samples);
     },
     diagnosis::other_unit, diagnosis::mean_called_sum}};

/// How far the weighted sum of the parts is from the weighted whole.
[[nodiscard]] inline difference apart(composition const& by, microbatch const& whole,
                                      std::vector<microbatch> const& parts, mean_over unit, rounding const& allowed) {
  estimate sum;
  for (microbatch const& each : parts) sum.add(by.weight(each, unit), each.gradient.values, each.magnitude);
  estimate all;
  all.add(by.weight(whole, unit), whole.gradient.values, whole.magnitude);
  for (std::size_t t = 0; t < all.magnitude.size(); ++t)
    sum.magnitude[t] = std::max(sum.magnitude[t], all.magnitude[t]);
  return compare(all.values, sum, whole.gradient.tensors, allowed);
}

/// Whether runs of the same examples give the same; says what else they do.
inline bool repeats(microbatch const& first, microbatch const& second, microbatch const& third, mean_over unit,
                    rounding const& allowed, report& to) {
  auto const same = [&](microbatch const& a, microbatch const& b) {
    estimate expected;
    expected.add(1.0, a.gradient.values, a.magnitude);
    return compare(b.gradient.values, expected, a.gradient.tensors, allowed);
  };
  difference const again = same(first, second);
  if (first.count(unit) == second.count(unit) && again.rounding_alone()) return true;
  estimate expected;  // of the third, if each adds what the second added
  expected.add(2.0, second.gradient.values, second.magnitude);
  expected.add(-1.0, first.gradient.values, first.magnitude);
  bool const adds = compare(third.gradient.values, expected, first.gradient.tensors, allowed).rounding_alone();
  to.add({adds ? diagnosis::adds_to_gradient : diagnosis::random,
          joined({"in a second run of the same examples ", text_of(again, first.gradient.tensors)})});
  return false;
}

/// Examines a function; returns what each example handed over by itself, or nothing where it is not worth going on.
[[nodiscard]] inline std::vector<microbatch> examine_function(questioning& ask, std::size_t count,
                                                              watched_parameters const& parameters,
                                                              loop_terms const& terms, report& found) {
  examples all(count);
  std::iota(all.begin(), all.end(), 0);
  std::vector<microbatch> each = ask.ask_each(count, found);
  microbatch const whole = ask.ask(all, found);
  mean_over const unit = ask.unit();
  for (std::size_t e = 0; e < count; ++e)
    if (!finite(each[e].gradient, joined({"the gradient of example ", std::to_string(e), " alone"}), found)) return {};
  if (!finite(whole.gradient, "the gradient of all examples", found)) return {};
  if (whole.count(unit) == 0.0)
    throw error("accrue::doctor: all examples together count nothing", "there is no mean to compare with",
                "hand over the count that the mean is over: samples, tokens or weight, as loop_terms says");

  rounding allowed{std::max(whole.positions(), static_cast<double>(count)) + static_cast<double>(count), terms.slack};
  for (std::size_t p = 0; p < parameters.size(); ++p) allowed.terms += static_cast<double>(parameters[p].longest);
  microbatch const second = ask.ask(all, found);
  microbatch const third = ask.ask(all, found);
  for (microbatch const* again : {&second, &third})
    if (!finite(again->gradient, "the gradient of all examples, asked for again,", found)) return {};
  if (!repeats(whole, second, third, unit, allowed, found)) return {};

  std::mt19937_64 random(terms.seed);
  examples shuffled = all;
  shuffle(shuffled, random);
  microbatch const reordered = ask.ask(shuffled, found);
  if (!finite(reordered.gradient, "the gradient of all examples in another order", found)) return {};
  estimate expected;
  expected.add(1.0, whole.gradient.values, whole.magnitude);
  difference const moved = compare(reordered.gradient.values, expected, whole.gradient.tensors, allowed);
  if (!moved.rounding_alone()) {
    found.add({diagnosis::depends_on_order,
               joined({"with the examples in another order ", text_of(moved, whole.gradient.tensors)})});
    return {};
  }

  // Cuts: by size, so that parts weigh very differently; in pairs; one by one.
  examples by_count = all;
  std::stable_sort(by_count.begin(), by_count.end(), [&](std::int64_t a, std::int64_t b) {
    return each[static_cast<std::size_t>(a)].count(unit) < each[static_cast<std::size_t>(b)].count(unit);
  });
  std::vector<std::vector<microbatch>> cuts{each};
  for (auto const& cutting :
       {cut(by_count, {count / 4, count / 3, count}), cut(shuffled, std::vector<std::size_t>((count + 1) / 2, 2))}) {
    cuts.emplace_back();
    for (examples const& part : cutting) {
      cuts.back().push_back(ask.ask(part, found));
      std::string const whose = joined({"the gradient of a part of ", std::to_string(part.size()), " examples"});
      if (!finite(cuts.back().back().gradient, whose, found)) return {};
    }
  }
  for (auto const& parts : cuts) {
    double sum = 0;
    for (microbatch const& part : parts) sum += part.count(unit);
    if (std::abs(sum - whole.count(unit)) <= 1e-9 * whole.count(unit)) continue;
    found.add({diagnosis::count_depends_on_split,
               joined({"all examples count ", text_of(whole.count(unit)), "; cut into ", std::to_string(parts.size()),
                       " parts they count ", text_of(sum)})});
    return {};
  }

  auto const worst = [&](composition const& by) {
    difference most;
    for (auto const& parts : cuts)
      if (difference const d = apart(by, whole, parts, unit, allowed); d.in_bounds > most.in_bounds) most = d;
    return most;
  };
  difference const off = worst(compositions[0]);
  if (off.rounding_alone()) {
    if (whole.loss) {
      auto const loss = [&](microbatch const& m) {
        double const by = m.is_mean == m.loss_is_mean ? 1.0 : m.count(unit);
        return m.is_mean ? *m.loss / by : *m.loss * by;
      };
      auto const moved_loss = [&] {
        microbatch const there = ask.ask_moved(all);
        return there.loss ? loss(there) : std::nan("");
      };
      std::optional<double> times;
      try {
        times = times_slope(parameters, whole.gradient, loss(whole), allowed.terms, moved_loss);
      } catch (...) {
        ask.put_back();
        throw;
      }
      ask.put_back();
      if (times)
        explain_slope(*times, whole.count(unit), terms, found);
      else
        found.note(
            "the slope of the loss could not be measured, so that nothing is known of a factor that is in every "
            "gradient");
    } else {
      found.note("no loss was handed over, so that nothing is known of a factor that is in every gradient");
    }
    return each;
  }
  std::string const saw =
      joined({"parts and whole differ: in the weighted sum of the parts ", text_of(off, whole.gradient.tensors)});
  std::vector<diagnosis> fitting;
  for (composition const& by : compositions) {
    std::optional<diagnosis> const d = whole.is_mean ? by.if_mean : by.if_sum;
    if (d && by.weight(whole, unit) > 0.0 && worst(by).rounding_alone() &&
        std::find(fitting.begin(), fitting.end(), *d) == fitting.end())
      fitting.push_back(*d);
  }
  if (fitting.empty()) fitting.push_back(diagnosis::batch_statistics);
  for (diagnosis const d : fitting) found.add({d, saw, fitting.size() == 1});
  return {};
}

inline void require_examples(std::int64_t given, std::int64_t wanted) {
  if (given < wanted)
    throw error(joined({"accrue::doctor: ", std::to_string(given), " examples"}),
                "microbatches of several sizes are cut from them",
                joined({"give at least ", std::to_string(wanted), ", of different counts where counts differ"}));
}

}  // namespace detail

/// Examines the function that gives a microbatch's gradient: whether any split of some examples gives the whole.
///
/// It asks for examples 0 to `count` - 1 all at once, three times, in another order, one by one, and in parts that
/// weigh very differently, about 2.5 `count` + 8 calls. Order: before training, or at any time between two groups.
/// Guarantee: parameters are as before, bit for bit. Whatever the function itself keeps, random numbers and running
/// statistics, has moved on. Failure: `accrue::error` for fewer than 4 examples, gradients that do not fit the
/// parameters, counts of 0; what is wrong with the gradients is in the report.
/// Cost: copies to the host in double precision and waits for the device at every call: a tool to find mistakes with.
/// Example: examples/doctor/doctor.cpp
[[nodiscard]] inline report examine(watched_parameters const& parameters, microbatch_function const& function,
                                    samples count, loop_terms const& terms = {}) {
  terms.validate();
  detail::require_examples(count.value(), 4);
  report found;
  detail::questioning ask(parameters, function, terms.mean);
  std::vector<microbatch> const each =
      detail::examine_function(ask, static_cast<std::size_t>(count.value()), parameters, terms, found);
  return found;
}

}  // namespace accrue::doctor
#endif
