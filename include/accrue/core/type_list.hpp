// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_TYPE_LIST_HPP
#define ACCRUE_CORE_TYPE_LIST_HPP

#include <cstddef>
#include <type_traits>

namespace accrue {

template <class... Ts>
struct type_list {
  static constexpr std::size_t size = sizeof...(Ts);

  template <class T>
  static constexpr bool contains = (std::is_same_v<T, Ts> || ...);

  /// Calls `visit(std::type_identity<T>{})` for each type.
  template <class Visit>
  static constexpr void for_each(Visit&& visit) {
    (visit(std::type_identity<Ts>{}), ...);
  }
};

namespace detail {
template <class Seen, class... Ts>
struct unique {
  using type = Seen;
};
template <class... Seen, class T, class... Rest>
struct unique<type_list<Seen...>, T, Rest...> {
  static constexpr bool skip = std::is_void_v<T> || type_list<Seen...>::template contains<T>;
  using next = std::conditional_t<skip, type_list<Seen...>, type_list<Seen..., T>>;
  using type = typename unique<next, Rest...>::type;
};
}  // namespace detail

/// Each type once, in the order of first appearance; void is left out.
template <class... Ts>
using unique_t = typename detail::unique<type_list<>, Ts...>::type;

}  // namespace accrue
#endif
