// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_SUPPORT_RANDOM_LAYOUT_HPP
#define ACCRUE_TESTS_SUPPORT_RANDOM_LAYOUT_HPP

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

/// Random numbers that are the same with every standard library.
class dice {
 public:
  explicit dice(std::uint64_t seed) : engine_(seed) {}

  /// A whole number, both ends included.
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  [[nodiscard]] bool percent(int chance) { return between(0, 99) < chance; }
  [[nodiscard]] double real(double low, double high) {
    return low + (high - low) * (static_cast<double>(engine_() >> 11) * 0x1p-53);
  }
  template <class T>
  [[nodiscard]] T const& one_of(std::vector<T> const& choices) {
    return choices[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(choices.size()) - 1))];
  }

 private:
  std::mt19937_64 engine_;
};

/// Extents, and strides in elements, of a view of any rank.
struct placement {
  std::vector<std::size_t> extents;
  std::vector<std::size_t> strides;

  [[nodiscard]] std::size_t size() const {
    return std::accumulate(extents.begin(), extents.end(), std::size_t{1}, std::multiplies<>{});
  }
  /// Elements of memory from the first element of the view to one past the last.
  [[nodiscard]] std::size_t span() const {
    if (size() == 0) return 0;
    std::size_t last = 0;
    for (std::size_t r = 0; r < extents.size(); ++r) last += (extents[r] - 1) * strides[r];
    return last + 1;
  }
  /// Where the elements lie, the last index running fastest.
  [[nodiscard]] std::vector<std::size_t> offsets() const {
    std::vector<std::size_t> list;
    list.reserve(size());
    std::vector<std::size_t> index(extents.size(), 0);
    for (std::size_t n = size(); n > 0; --n) {
      list.push_back(std::inner_product(index.begin(), index.end(), strides.begin(), std::size_t{0}));
      for (std::size_t r = extents.size(); r-- > 0;) {
        if (++index[r] < extents[r]) break;
        index[r] = 0;
      }
    }
    return list;
  }
};

/// Extents whose product is at most `largest`, 0 among them.
inline std::vector<std::size_t> random_extents(dice& roll, std::size_t rank, std::size_t largest) {
  std::vector<std::size_t> extents(rank);
  std::size_t left = largest;
  for (std::size_t& extent : extents) {
    extent = static_cast<std::size_t>(
        roll.percent(4) ? 0
                        : roll.between(1, static_cast<std::int64_t>(rank > 1 ? std::min<std::size_t>(left, 6) : left)));
    left /= std::max<std::size_t>(extent, 1);
  }
  return extents;
}

/// Extents whose product is nearly `size`, the longest one anywhere.
inline std::vector<std::size_t> random_extents_of(dice& roll, std::size_t rank, std::size_t size) {
  std::vector<std::size_t> extents(rank);
  std::size_t const longest =
      rank > 0 ? static_cast<std::size_t>(roll.between(0, static_cast<std::int64_t>(rank) - 1)) : 0;
  for (std::size_t r = 0; r < rank; ++r) {
    if (r == longest) continue;
    extents[r] = static_cast<std::size_t>(roll.between(2, 7));
    size /= extents[r];
  }
  if (rank > 0) extents[longest] = size;
  return extents;
}

/// Strides as `Layout` has them; for `LayoutStride` the axes in random order, with random gaps.
template <class Layout>
placement random_placement(dice& roll, std::vector<std::size_t> extents) {
  std::vector<std::size_t> fastest_first(extents.size());
  std::iota(fastest_first.begin(), fastest_first.end(), std::size_t{0});
  if (std::is_same_v<Layout, Kokkos::LayoutRight>) std::reverse(fastest_first.begin(), fastest_first.end());
  bool const free = std::is_same_v<Layout, Kokkos::LayoutStride>;
  if (free)
    for (std::size_t r = fastest_first.size(); r > 1; --r)
      std::swap(fastest_first[r - 1],
                fastest_first[static_cast<std::size_t>(roll.between(0, static_cast<std::int64_t>(r) - 1))]);

  placement where{std::move(extents), std::vector<std::size_t>(fastest_first.size())};
  std::size_t next = free && roll.percent(30) ? static_cast<std::size_t>(roll.between(2, 3)) : 1;
  for (std::size_t const axis : fastest_first) {
    where.strides[axis] = next;
    next = next * std::max<std::size_t>(where.extents[axis], 1) +
           static_cast<std::size_t>(free && roll.percent(30) ? roll.between(1, 4) : 0);
  }
  return where;
}

namespace detail {
template <class T, std::size_t Rank>
struct pointers {
  using type = typename pointers<T, Rank - 1>::type*;
};
template <class T>
struct pointers<T, 0> {
  using type = T;
};
}  // namespace detail

template <class T, std::size_t Rank, class Layout>
using view_of_rank = Kokkos::View<typename detail::pointers<T, Rank>::type, Layout>;

/// The view that lies so in memory that somebody else keeps.
template <class View, class T>
View view_at(T* memory, placement const& where) {
  typename View::array_layout layout;
  for (std::size_t r = 0; r < View::rank(); ++r) {
    layout.dimension[r] = where.extents[r];
    if constexpr (std::is_same_v<typename View::array_layout, Kokkos::LayoutStride>)
      layout.stride[r] = where.strides[r];
  }
  return View(memory, layout);
}

#endif
