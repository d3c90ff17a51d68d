// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_WITH_GRADIENT_HPP
#define ACCRUE_UPDATE_WITH_GRADIENT_HPP

#include <accrue/core/user_function.hpp>
#include <accrue/update/update_policy.hpp>

#include <Kokkos_Core.hpp>
#include <utility>

namespace accrue {

/// The device's part of `with_gradient`: leaves the finished gradient in the buffer, where the function finds it.
struct keep_gradient {
  using fills = slot::update;
  static constexpr std::string_view name = "keep_gradient";

  struct rule {
    template <class T>
    KOKKOS_FUNCTION void keep(T& sum, T const& gradient) const {
      sum = gradient;
    }
  };
  [[nodiscard]] static constexpr int state_words() { return 0; }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION rule for_update(std::int64_t) const {
    return {};
  }
  friend bool operator==(keep_gradient const&, keep_gradient const&) = default;
};

/// The user's own update as a function on the host, of the finalized gradient: `f(gradient)` gets a
/// `finalized_gradient` with the views, which parameters were touched, and the instance to launch on.
///
/// Order: after the decision; called only where the group is applied. Guarantee: `f` sees G times the clip factor.
/// Cost: one fence per group, because the host must know the decision; one pass that finishes the buffer in place.
template <class Function>
class with_gradient {
 public:
  using fills = slot::update;
  static constexpr std::string_view name = "with_gradient";

  explicit with_gradient(Function f) : function_(std::move(f)) {}

  [[nodiscard]] static constexpr int state_words() { return 0; }
  [[nodiscard]] static constexpr keep_gradient device_part() { return {}; }
  template <class Gradient>
  void call(Gradient const& gradient) const {
    function_.get()(gradient);
  }

  /// Functions without data are equal where their types are; others where they say so.
  friend bool operator==(with_gradient const& a,
                         with_gradient const& b) requires detail::comparable_function<Function> {
    return a.function_ == b.function_;
  }

 private:
  user_function<Function> function_;
};
template <class Function>
with_gradient(Function) -> with_gradient<Function>;

static_assert(update_policy<keep_gradient>);

}  // namespace accrue
#endif
