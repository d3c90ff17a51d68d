// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_UPDATE_PER_ELEMENT_HPP
#define ACCRUE_UPDATE_PER_ELEMENT_HPP

#include <accrue/core/user_function.hpp>
#include <accrue/update/update_policy.hpp>

#include <Kokkos_Core.hpp>
#include <type_traits>
#include <utility>

namespace accrue {

/// The user's own rule: `f(theta, gradient)`, or `f(theta, gradient, state)` with the words of state it asks for.
///
/// `theta` is a reference in the scalar of the buffer (float for 16-bit parameters), `gradient` a value of it; a third
/// argument is indexed, `state[0]`, and zero at construction. `f` is a device function: a KOKKOS_LAMBDA, or a functor
/// with KOKKOS_FUNCTION, which nothing can check for you.
/// Example: `per_element([=] KOKKOS_FUNCTION (float& theta, float g) { theta -= 0.1f * g; })`
template <class Function>
class per_element {
 public:
  using fills = slot::update;
  static constexpr std::string_view name = "per_element";

  explicit per_element(Function f, int state_words = 0) : function_(std::move(f)), state_words_(state_words) {
    if (state_words < 0)
      throw error("accrue::per_element: a negative number of state words", "state cannot be allocated",
                  "give 0 or more");
  }

  struct rule {
    Function function;
    // One that can be called with a temporary theta takes it by value, and would change a copy.
    template <class T, class State>
    static constexpr bool with_state = std::is_invocable_v<Function const&, T&, T const&, State const&> &&
                                       !std::is_invocable_v<Function const&, T, T const&, State const&>;
    template <class T>
    static constexpr bool without_state =
        std::is_invocable_v<Function const&, T&, T const&> && !std::is_invocable_v<Function const&, T, T const&>;

    template <class T, class State>
      requires(with_state<T, State> || without_state<T>)
    KOKKOS_FUNCTION void operator()(T& theta, T const& gradient, State const& state) const {
      if constexpr (with_state<T, State>) {
        function(theta, gradient, state);
      } else {
        function(theta, gradient);
      }
    }
  };

  [[nodiscard]] int state_words() const { return state_words_; }
  template <class Real>
  [[nodiscard]] KOKKOS_FUNCTION rule for_update(std::int64_t) const {
    return {function_.get()};
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("state_words", state_words_);
  }
  /// Functions without data are equal where their types are; others where they say so.
  friend bool operator==(per_element const& a, per_element const& b) requires detail::comparable_function<Function> {
    return a.state_words_ == b.state_words_ && a.function_ == b.function_;
  }

 private:
  user_function<Function> function_;
  int state_words_;
};
template <class Function>
per_element(Function) -> per_element<Function>;
template <class Function>
per_element(Function, int) -> per_element<Function>;

}  // namespace accrue
#endif
