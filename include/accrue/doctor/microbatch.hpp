// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_MICROBATCH_HPP
#define ACCRUE_DOCTOR_MICROBATCH_HPP

#include <accrue/core/contribution.hpp>
#include <accrue/core/diagnostics.hpp>
#include <accrue/core/facts.hpp>
#include <accrue/doctor/host_copy.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

namespace accrue::doctor {

/// What a mean is taken over, and so what a microbatch weighs.
enum class mean_over : std::uint8_t { samples, tokens, weights };

/// Gradients of a model, copied to the host as doubles, one tensor behind the other.
///
/// Made from views of any rank, layout, memory and scalar, in the order of the parameters; vectors of views, optional
/// ones and `no_gradient` as in a contribution. Cost: allocates, and waits for the device.
struct gradient {
  std::vector<tensor> tensors;
  std::vector<double> values;

  gradient() = default;
  template <gradient_item First, gradient_item... Others>
  explicit gradient(First const& first, Others const&... others) {
    Kokkos::fence("accrue::doctor: copy a gradient");
    take(first);
    (take(others), ...);
  }
  template <class... Items>
  explicit gradient(std::tuple<Items...> const& items) {
    Kokkos::fence("accrue::doctor: copy a gradient");
    std::apply([&](auto const&... each) { (take(each), ...); }, items);
  }

  [[nodiscard]] bool same_sizes(gradient const& other) const {
    return std::equal(tensors.begin(), tensors.end(), other.tensors.begin(), other.tensors.end(),
                      [](tensor const& a, tensor const& b) { return a.size == b.size; });
  }
  /// The largest modulus in each tensor.
  [[nodiscard]] std::vector<double> largest() const {
    std::vector<double> list;
    auto at = values.begin();
    for (tensor const& t : tensors) {
      double most = 0;
      for (std::int64_t i = 0; i < t.size; ++i) most = std::max(most, std::abs(*at++));
      list.push_back(most);
    }
    return list;
  }

 private:
  template <gradient_item Item>
  void take(Item const& item) {
    constexpr bool dense = !is_rows_v<Item>;
    static_assert(dense, ACCRUE_SAY_ROWS_TO_DOCTOR);
    if constexpr (std::same_as<Item, no_gradient_t>) {
      tensors.emplace_back();
    } else if constexpr (Kokkos::is_view_v<Item>) {
      place const from = place_of(item);
      tensors.push_back(from.tensor);
      append_numbers(from, values);
    } else if constexpr (requires { item.has_value(); }) {
      if (item.has_value())
        take(*item);
      else
        tensors.emplace_back();
    } else if constexpr (dense) {
      for (auto const& each : item) take(each);
    }
  }
};

/// What one microbatch handed over: the arguments of `accumulate`, copied to the host.
///
/// Example: `return accrue::doctor::microbatch(accrue::mean_gradient{gradient}, accrue::tokens{512});`
struct microbatch {
  doctor::gradient gradient;
  bool is_mean = true;
  microbatch_facts facts;
  std::optional<double> loss;  ///< as it was handed over
  bool loss_is_mean = true;
  /// For each tensor, how large the terms are that its gradient is a sum of; by default its largest element.
  std::vector<double> magnitude;

  microbatch() = default;
  template <class... Items, class... Facts>
  explicit microbatch(mean_gradient<Items...> const& handed, Facts const&... given) : gradient(handed.items) {
    take(given...);
  }
  template <class... Items, class... Facts>
  explicit microbatch(sum_gradient<Items...> const& handed, Facts const&... given)
      : gradient(handed.items), is_mean(false) {
    take(given...);
  }

  [[nodiscard]] double count(mean_over unit) const {
    if (unit == mean_over::weights) return facts.weight.value();
    return static_cast<double>(unit == mean_over::samples ? facts.samples.value() : facts.tokens.value());
  }
  /// Places of the examples, those without a target included.
  [[nodiscard]] double positions() const {
    double const given = static_cast<double>(facts.positions.value());
    return given > 0 ? given : static_cast<double>(facts.tokens.value() + facts.ignored_tokens.value());
  }

 private:
  template <class Fact>
  void take_loss(Fact const& given) {
    if constexpr (loss_fact<Fact>) {
      loss_is_mean = is_mean_loss_v<Fact>;
      if constexpr (Kokkos::is_view_v<decltype(given.value)>) {
        std::vector<double> number;
        append_numbers(place_of(given.value), number);
        loss = number.front();
      } else {
        loss = static_cast<double>(given.value);
      }
    }
  }
  template <class... Facts>
  void take(Facts const&... given) {
    constexpr bool known = (microbatch_fact<Facts> && ...);
    static_assert(known, ACCRUE_SAY_NOT_A_FACT);
    if constexpr (known) {
      (facts.take(given), ...);
      (take_loss(given), ...);
    }
    magnitude = gradient.largest();
  }
};

}  // namespace accrue::doctor
#endif
