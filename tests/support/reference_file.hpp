// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_SUPPORT_REFERENCE_FILE_HPP
#define ACCRUE_TESTS_SUPPORT_REFERENCE_FILE_HPP

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

/// Numbers that another program has computed, read from a JSON file. Arrays are flat, the last index running fastest.
namespace reference {

using json = nlohmann::json;
using numbers = std::vector<double>;
using tensors = std::vector<numbers>;

/// Agreement wanted, relative to the largest element of a tensor: a few dozen operations of 1.1e-16 each, in another
/// order. Elements that are small because larger ones cancelled in them are no more exact than those.
inline constexpr double tolerance = 1e-12;

/// Reads a file that lies in the folder of a source file.
inline json read_beside(std::string const& source, std::string const& name) {
  std::filesystem::path const path = std::filesystem::path(source).parent_path() / name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path.string());
  return json::parse(file);
}

/// A number, or "inf", which JSON has no number for.
inline double number(json const& value) {
  return value == "inf" ? std::numeric_limits<double>::infinity() : value.get<double>();
}

/// A setting, or what it is when the file leaves it out.
template <class T>
T setting(json const& settings, char const* name, T otherwise) {
  return settings.contains(name) ? settings.at(name).get<T>() : otherwise;
}

/// The largest difference of two lists, relative to the largest of the expected numbers; infinite where sizes differ.
inline double distance(numbers const& found, numbers const& expected) {
  if (found.size() != expected.size()) return std::numeric_limits<double>::infinity();
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    difference = std::fmax(difference, std::fabs(found[i] - expected[i]));
    if (std::isnan(found[i])) return std::numeric_limits<double>::infinity();
    largest = std::fmax(largest, std::fabs(expected[i]));
  }
  return largest > 0 ? difference / largest : difference;
}

/// Calls `visit(element)` for each element of a view of rank 0, 1 or 2, the last index running fastest.
template <class View, class Visit>
void for_each_element(View const& view, Visit const& visit) {
  static_assert(View::rank() <= 2);
  if constexpr (View::rank() == 0) {
    visit(view());
  } else if constexpr (View::rank() == 1) {
    for (std::size_t i = 0; i < view.extent(0); ++i) visit(view(i));
  } else {
    for (std::size_t i = 0; i < view.extent(0); ++i)
      for (std::size_t j = 0; j < view.extent(1); ++j) visit(view(i, j));
  }
}

template <class View>
void fill(View const& view, numbers const& values) {
  REQUIRE(view.size() == values.size());
  auto const host = Kokkos::create_mirror_view(view);
  auto next = values.begin();
  for_each_element(host, [&](auto& element) { element = *next++; });
  Kokkos::deep_copy(view, host);
}

template <class View>
numbers contents(View const& view) {
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  numbers values;
  for_each_element(host, [&](auto const& element) { values.push_back(element); });
  return values;
}

}  // namespace reference

#endif
