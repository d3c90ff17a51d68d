// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_RANDOMIZED_TENSORS_HPP
#define ACCRUE_TESTS_RANDOMIZED_TENSORS_HPP

#include "support/oracle.hpp"
#include "support/random_layout.hpp"

#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

// Parameters and gradients at random places in memory, and their values as the oracle takes them.

namespace randomized {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

template <class T>
T nearest(double re, double im) {
  if constexpr (accrue::is_complex_v<T>)
    return T(static_cast<accrue::real_t<T>>(re), static_cast<accrue::real_t<T>>(im));
  else
    return accrue::narrow<T>(re);
}
template <class T>
oracle::number exact(T const& x) {
  if constexpr (accrue::is_complex_v<T>)
    return {x.real(), x.imag()};
  else
    return {accrue::widen(x), 0};
}
template <class T>
T random_number(dice& roll, double largest) {
  double const re = roll.real(-largest, largest);
  return nearest<T>(re, roll.real(-largest, largest));
}
/// What is not finite, in the last part that a number has.
template <class T>
T spoiled(double wrong) {
  return accrue::is_complex_v<T> ? nearest<T>(1, wrong) : nearest<T>(wrong, 0);
}

template <class P, class B>
constexpr oracle::precision precision_of() {
  constexpr bool half = std::is_same_v<P, accrue::float16>;
  constexpr bool brain = std::is_same_v<P, accrue::bfloat16>;
  constexpr oracle::real of_double = 0x1p-53L, of_float = 0x1p-24L;
  oracle::real const buffer = std::is_same_v<accrue::real_t<B>, double> ? of_double : of_float;
  if (half) return {buffer, 0x1p-11L, 0x1p-25L};
  if (brain) return {buffer, 0x1p-8L, 0x1p-134L};
  return {buffer, std::is_same_v<accrue::real_t<P>, double> ? of_double : of_float, 0x1p-149L};
}

/// A view's memory, which it may begin some elements into. There and in the gaps between its elements lies NaN, which
/// nobody may read or overwrite.
template <class T>
class tensor {
 public:
  tensor(placement where, std::size_t lead)
      : where_(std::move(where)),
        lead_(lead),
        offsets_(where_.offsets()),
        memory_("memory", where_.span() + lead),
        host_(Kokkos::create_mirror_view(memory_)) {
    for (std::size_t& at : offsets_) at += lead;
    for (std::size_t i = 0; i < host_.size(); ++i) host_(i) = spoiled<T>(nan);
  }

  [[nodiscard]] std::size_t size() const { return offsets_.size(); }
  [[nodiscard]] placement const& where() const { return where_; }
  [[nodiscard]] T* data() const { return memory_.data() + lead_; }

  /// Fills the elements in the order of their indices with `draw(number)`, and gives what they are.
  template <class Draw>
  std::vector<oracle::number> fill(Draw const& draw) {
    std::vector<oracle::number> filled;
    filled.reserve(size());
    for (std::size_t const at : offsets_) filled.push_back(exact(host_(at) = draw(filled.size())));
    Kokkos::deep_copy(memory_, host_);
    return filled;
  }
  /// The elements in the order of their indices; `overwritten` is raised by the gaps that were written to.
  [[nodiscard]] std::vector<oracle::number> read(std::size_t& overwritten) const {
    Kokkos::deep_copy(host_, memory_);
    std::vector<oracle::number> elements;
    elements.reserve(size());
    for (std::size_t const at : offsets_) elements.push_back(exact(host_(at)));
    std::size_t finite = 0;
    for (std::size_t i = 0; i < host_.size(); ++i) finite += accrue::is_finite(host_(i)) ? 1 : 0;
    overwritten += finite - size();
    return elements;
  }

 private:
  placement where_;
  std::size_t lead_;
  std::vector<std::size_t> offsets_;
  Kokkos::View<T*> memory_;
  decltype(Kokkos::create_mirror_view(std::declval<Kokkos::View<T*>>())) host_;
};

/// Small views, or the first of each item with more elements than a chunk, 16384.
enum class size { small, one_large };

enum class content { numbers, one_spoiled, all_spoiled };

/// A `std::vector` of views of parameters of scalar `P`, whose gradients have scalar `G` and layouts of their own.
template <class P, class G, std::size_t Rank, class ParameterLayout, class GradientLayout = Kokkos::LayoutStride>
class item {
 public:
  using scalar = P;
  using parameter_view = view_of_rank<P, Rank, ParameterLayout>;
  using gradient_view = view_of_rank<G const, Rank, GradientLayout>;

  void add_view(dice& roll, size what) {
    bool const large = what == size::one_large && parameters_.empty();
    auto const extents = large ? random_extents_of(roll, Rank, 18000) : random_extents(roll, Rank, 40);
    auto const lead = [&] { return std::array<std::size_t, 7>{0, 0, 0, 1, 1, 2, 4}[begun_++ % 7]; };
    parameters_.emplace_back(random_placement<ParameterLayout>(roll, extents), lead());
    gradients_.push_back({tensor<G>(random_placement<GradientLayout>(roll, extents), lead()),
                          tensor<G>(random_placement<GradientLayout>(roll, extents), lead())});
  }

  [[nodiscard]] std::vector<parameter_view> views() const {
    std::vector<parameter_view> all;
    for (auto const& p : parameters_) all.push_back(view_at<parameter_view>(p.data(), p.where()));
    return all;
  }
  void fill_parameters(dice& roll, std::vector<std::vector<oracle::number>>& values) {
    for (auto& p : parameters_) values.push_back(p.fill([&](std::size_t) { return random_number<P>(roll, 2); }));
  }
  void read_parameters(std::vector<std::vector<oracle::number>>& values, std::size_t& overwritten) const {
    for (auto const& p : parameters_) values.push_back(p.read(overwritten));
  }

  /// New gradients, in one of two layouts that differ from the parameter's, some of them absent.
  [[nodiscard]] std::vector<std::optional<gradient_view>> fill_gradients(dice& roll, content what,
                                                                         oracle::microbatch& m) {
    std::vector<std::optional<gradient_view>> views(gradients_.size());
    for (std::size_t v = 0; v < views.size(); ++v) {
      m.gradients.emplace_back();
      if (roll.percent(20)) continue;
      tensor<G>& chosen = gradients_[v][static_cast<std::size_t>(roll.between(0, 1))];
      double const largest = roll.one_of<double>({2, 2, 2, 0.02, 200});
      double const wrong = roll.one_of<double>({nan, infinity, -infinity});
      auto const one = static_cast<std::size_t>(roll.between(0, static_cast<std::int64_t>(chosen.size())));
      m.gradients.back() = chosen.fill([&](std::size_t i) {
        bool const spoil = what == content::all_spoiled || (what == content::one_spoiled && i == one);
        return spoil ? spoiled<G>(wrong) : random_number<G>(roll, largest);
      });
      views[v] = view_at<gradient_view>(static_cast<G const*>(chosen.data()), chosen.where());
    }
    return views;
  }

 private:
  std::size_t begun_ = 0;  ///< tensors, which begin aligned alike and otherwise in turn
  std::vector<tensor<P>> parameters_;
  std::vector<std::array<tensor<G>, 2>> gradients_;
};

}  // namespace randomized

#endif
