// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_UPDATE_VALUES_HPP
#define ACCRUE_TESTS_UPDATE_VALUES_HPP

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <limits>
#include <vector>

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
inline constexpr double endless = std::numeric_limits<double>::infinity();

/// Overwrites a view of rank 1.
template <class T>
void set(Kokkos::View<T*> const& view, std::vector<T> const& values) {
  auto const host = Kokkos::create_mirror_view(view);
  for (std::size_t i = 0; i < values.size(); ++i) host(i) = values[i];
  Kokkos::deep_copy(view, host);
}

/// A view that holds these values.
template <class T>
Kokkos::View<T*> filled(std::vector<T> const& values) {
  Kokkos::View<T*> view("filled", values.size());
  set(view, values);
  return view;
}

/// What a view of rank 1 holds.
template <class View>
auto values(View const& view) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  std::vector<typename View::non_const_value_type> all;
  for (std::size_t i = 0; i < host.extent(0); ++i) all.push_back(host(i));
  return all;
}

#endif
