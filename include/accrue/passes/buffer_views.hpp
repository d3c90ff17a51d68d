// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_BUFFER_VIEWS_HPP
#define ACCRUE_PASSES_BUFFER_VIEWS_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/finalized_gradient.hpp>
#include <accrue/passes/model.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

namespace accrue {

/// The buffer's part of the I-th item: a view, or a vector of views, with the extents of the parameters.
template <std::size_t I, class Model>
[[nodiscard]] auto sums_of(Model const& model) {
  using item = std::tuple_element_t<I, typename Model::items_type>;
  using scalar = typename view_of_t<item>::non_const_value_type;
  auto const& from = model.template block_of<scalar>();
  using buffer_scalar = typename std::remove_cvref_t<decltype(from)>::buffer_scalar;
  using view = sum_view<buffer_scalar, view_of_t<item>::rank(), typename Model::memory_space>;

  std::size_t number = model.template first_view<I>();
  auto const next = [&] {
    directory_entry const& entry = model.directory()[number++];
    return view(from.lent(-1, static_cast<std::int64_t>(entry.local)),
                layout_as<Kokkos::LayoutStride>(packed(entry.shape, entry.order)));
  };
  if constexpr (Kokkos::is_view_v<item>) {
    return next();
  } else {
    std::vector<view> all;
    for (std::size_t n = std::get<I>(model.set().items).size(); n > 0; --n) all.push_back(next());
    return all;
  }
}

/// The I-th item of a set of gradients that the model lends, as the producer of gradients wants it: views of the
/// buffer's scalar with the parameter's layout. Set -1 is the buffer itself.
template <std::size_t I, class Model>
[[nodiscard]] auto lent_item(Model const& model, int set) {
  using item = std::tuple_element_t<I, typename Model::items_type>;
  using parameter = view_of_t<item>;
  auto const& from = model.template block_of<typename parameter::non_const_value_type>();
  using buffer_scalar = typename std::remove_cvref_t<decltype(from)>::buffer_scalar;
  using layout = typename parameter::array_layout;
  using view = Kokkos::View<typename detail::with_pointers<buffer_scalar, parameter::rank()>::type, layout,
                            typename Model::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  std::size_t number = model.template first_view<I>();
  auto const next = [&] {
    directory_entry const& entry = model.directory()[number++];
    return view(from.lent(set, static_cast<std::int64_t>(entry.local)),
                layout_as<layout>(packed(entry.shape, entry.order)));
  };
  if constexpr (Kokkos::is_view_v<item>) {
    return next();
  } else {
    std::vector<view> all;
    for (std::size_t n = std::get<I>(model.set().items).size(); n > 0; --n) all.push_back(next());
    return all;
  }
}

/// A whole set of them, in the order of the parameters.
template <class Model>
[[nodiscard]] auto lent_gradients(Model const& model, int set) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::tuple{lent_item<I>(model, set)...}; }
  (std::make_index_sequence<std::tuple_size_v<typename Model::items_type>>{});
}

/// The finished gradients of the parameter groups from `First` to before `Last`, which are in the buffer.
template <std::size_t First, std::size_t Last, class Model, class Exec>
[[nodiscard]] auto finalized_of(Model const& model, Exec const& exec, std::vector<bool> const& touched,
                                device_record const& found) {
  using set = typename Model::set_type;
  constexpr std::size_t from = set::first_item(First);
  constexpr std::size_t until = set::first_item(Last);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto const at = [&](std::size_t view) { return touched.begin() + static_cast<std::ptrdiff_t>(view); };
    std::vector<bool> mine(at(model.template first_view<from>()), at(model.template first_view<until>()));
    return finalized_gradient<Exec, decltype(sums_of<from + I>(model))...>(exec, {sums_of<from + I>(model)...},
                                                                           std::move(mine), found);
  }
  (std::make_index_sequence<until - from>{});
}

/// copy = sum / divisor, zero where nothing was summed.
template <class B>
struct copy_quotient {
  B const* sum;
  B* copy;
  quotient_by by;
  bool touched;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { copy[i] = touched ? by(sum[i]) : B{}; }
};

/// A copy of an item's sums over a divisor, in the layout of the buffer; zero where untouched. Allocates and fences.
template <std::size_t I, class Model, class Exec>
[[nodiscard]] auto snapshot_of(Model const& model, Exec const& exec, double divisor) {
  auto const from = sums_of<I>(model);
  using view = std::remove_const_t<decltype(from)>;
  constexpr bool one = Kokkos::is_view_v<view>;
  static_assert(one, ACCRUE_SAY_SNAPSHOT_OF_MANY);
  if constexpr (one) {
    Kokkos::View<typename view::data_type, Kokkos::LayoutStride, typename Model::memory_space> copy(
        Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "accrue::snapshot"), from.layout());
    Kokkos::parallel_for(
        "accrue::accumulate::snapshot",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, from.size()),
        copy_quotient<typename view::value_type>{from.data(), copy.data(),
                                                 quotient_by(divisor / model.keep(model.template first_view<I>()), 1.0),
                                                 model.is_touched(model.template first_view<I>())});
    exec.fence("accrue::snapshot");
    return copy;
  } else {
    return from;
  }
}

}  // namespace accrue
#endif
