// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_QUESTIONING_HPP
#define ACCRUE_DOCTOR_QUESTIONING_HPP

#include <accrue/doctor/microbatch.hpp>
#include <accrue/doctor/report.hpp>
#include <accrue/doctor/watched_parameters.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace accrue::doctor {

/// The numbers of some examples, from 0.
using examples = std::vector<std::int64_t>;

/// Runs forward and backward over some examples, and says what a microbatch of them would hand over.
using microbatch_function = std::function<microbatch(examples const&)>;

namespace detail {

/// In an order that a seed gives, the same with every standard library.
inline void shuffle(examples& list, std::mt19937_64& random) {
  for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random() % i]);
}

/// Consecutive parts of the given sizes.
[[nodiscard]] inline std::vector<examples> cut(examples const& list, std::vector<std::size_t> const& sizes) {
  std::vector<examples> parts;
  auto from = list.begin();
  for (std::size_t const size : sizes) {
    auto const to = from + static_cast<std::ptrdiff_t>(std::min<std::size_t>(size, std::size_t(list.end() - from)));
    if (from != to) parts.emplace_back(from, to);
    from = to;
  }
  return parts;
}

/// Calls a function for the doctor: checks sizes and counts, watches parameters, knows how large an example's terms
/// are.
class questioning {
 public:
  questioning(watched_parameters const& parameters, microbatch_function const& function, mean_over unit)
      : parameters_(parameters), function_(function), unit_(unit), before_(parameters.copy()) {}

  [[nodiscard]] microbatch ask(examples const& list, report& to) {
    microbatch answer = function_(list);
    parameters_.fit(answer.gradient);
    double const count = answer.count(unit_);
    if (count == 0.0) answer.gradient.values.assign(answer.gradient.values.size(), 0.0);  // it is ignored
    answer.magnitude = answer.gradient.largest();
    if (!terms_.empty()) {
      std::vector<double> sum(parameters_.size(), 0.0);
      for (std::int64_t const e : list)
        for (std::size_t t = 0; t < sum.size(); ++t) sum[t] += terms_[static_cast<std::size_t>(e)][t];
      double const by = answer.is_mean && count > 0.0 ? count : 1.0;
      for (std::size_t t = 0; t < sum.size(); ++t) answer.magnitude[t] = std::max(answer.magnitude[t], sum[t] / by);
    }
    look_at_parameters("the function that gives a microbatch's gradient", to);
    return answer;
  }

  /// On parameters that the doctor moved.
  [[nodiscard]] microbatch ask_moved(examples const& list) const { return function_(list); }
  void put_back() { parameters_.put_back(before_); }

  /// Asks for each example by itself.
  [[nodiscard]] std::vector<microbatch> ask_each(std::size_t count, report& to) {
    std::vector<microbatch> answers;
    for (std::size_t e = 0; e < count; ++e) answers.push_back(ask({static_cast<std::int64_t>(e)}, to));
    for (microbatch const& each : answers) {
      terms_.push_back(each.magnitude);
      if (each.is_mean)
        for (double& term : terms_.back()) term *= each.count(unit_);
    }
    return answers;
  }

  /// Says so where parameters changed since the last look, and puts them back.
  bool look_at_parameters(std::string const& who, report& to) {
    watched_parameters::bytes const after = parameters_.copy();
    if (after == before_) return false;
    std::size_t p = 0;
    while (after[p] == before_[p]) ++p;
    if (!to.has(diagnosis::parameters_changed))
      to.add({diagnosis::parameters_changed, joined({who, " changed ", parameters_.name(p)})});
    parameters_.put_back(before_);
    return true;
  }

  [[nodiscard]] mean_over unit() const { return unit_; }

 private:
  watched_parameters const& parameters_;
  microbatch_function const& function_;
  mean_over unit_;
  watched_parameters::bytes before_;
  std::vector<std::vector<double>> terms_;  // of each example's sum, the largest in each tensor
};

}  // namespace detail

}  // namespace accrue::doctor
#endif
