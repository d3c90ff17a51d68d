// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_BUFFER_VIEWS_HPP
#define ACCRUE_PASSES_BUFFER_VIEWS_HPP

#include <accrue/core/diagnostics.hpp>
#include <accrue/core/finalized_gradient.hpp>
#include <accrue/core/write_through.hpp>
#include <accrue/passes/model.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

/// The I-th item of a set in the arena as views of rank and scalar `View`, one or a vector of them as the item is. Set
/// -1 are the sums, the others are those that are lent.
template <std::size_t I, class View, class Model>
[[nodiscard]] auto item_in_arena(Model const& model, int set) {
  using item = std::tuple_element_t<I, typename Model::items_type>;
  auto const& from = model.storage().template block_of<typename view_of_t<item>::non_const_value_type>();
  std::size_t number = model.storage().template first_view<I>();
  auto const next = [&] {
    directory_entry const& entry = model.directory()[number++];
    using scalar = typename View::value_type;
    auto* const data = set < 0 ? static_cast<scalar*>(model.tables().sum(entry.number).data)
                               : from.lent(set, static_cast<std::int64_t>(entry.local));
    return View(data, layout_as<typename View::array_layout>(packed(entry.shape, entry.order)));
  };
  if constexpr (Kokkos::is_view_v<weights_of_t<item>>) {
    return next();
  } else {
    std::vector<View> all;
    for (std::size_t n = view_count(weights_of(std::get<I>(model.storage().set().items))); n > 0; --n)
      all.push_back(next());
    return all;
  }
}

/// The scalar that the I-th item is summed in.
template <std::size_t I, class Model>
using sum_scalar_t = typename std::remove_cvref_t<
    decltype(std::declval<Model const&>()
                 .storage()
                 .template block_of<typename view_of_t<
                     std::tuple_element_t<I, typename Model::items_type>>::non_const_value_type>())>::buffer_scalar;

/// The buffer's part of the I-th item, with the extents of the parameters.
template <std::size_t I, class Model>
[[nodiscard]] auto sums_of(Model const& model) {
  using parameter = view_of_t<std::tuple_element_t<I, typename Model::items_type>>;
  return item_in_arena<I, sum_view<sum_scalar_t<I, Model>, parameter::rank(), typename Model::memory_space>>(model, -1);
}

/// The I-th item of a set of gradients that the model lends, as the producer of gradients wants it: views of the
/// buffer's scalar with the parameter's layout.
template <std::size_t I, class Model>
[[nodiscard]] auto lent_item(Model const& model, int set) {
  using parameter = view_of_t<std::tuple_element_t<I, typename Model::items_type>>;
  using view = Kokkos::View<typename detail::with_pointers<sum_scalar_t<I, Model>, parameter::rank()>::type,
                            typename parameter::array_layout, typename Model::memory_space,
                            Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
  return item_in_arena<I, view>(model, set);
}

/// A whole set of them, in the order of the parameters.
template <class Model>
[[nodiscard]] auto lent_gradients(Model const& model, int set) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return std::tuple{lent_item<I>(model, set)...}; }
  (std::make_index_sequence<std::tuple_size_v<typename Model::items_type>>{});
}

/// Where a producer adds the I-th item's gradient to the sums itself; `asked` has a flag for each view of the model.
template <std::size_t I, class Model>
[[nodiscard]] auto write_target_of(Model const& model, double weight, std::vector<std::uint8_t>& asked) {
  auto const sums = lent_item<I>(model, -1);
  std::size_t view = model.storage().template first_view<I>();
  auto const next = [&]<class View>(View const& of) {
    double const beta = model.is_touched(view) ? model.keep(view) : 0.0;
    std::uint8_t* const flag = &asked[view++];
    return write_target<View>(of, beta, weight, flag);
  };
  if constexpr (Kokkos::is_view_v<std::remove_const_t<decltype(sums)>>) {
    return next(sums);
  } else {
    std::vector<write_target<typename decltype(sums)::value_type>> all;
    for (auto const& of : sums) all.push_back(next(of));
    return all;
  }
}

/// Calls `producer(exec, target, ...)`, and notes what it wrote.
template <class Exec, class Model, class Producer>
void write_through(Exec const& exec, Model& model, Producer const& producer, double weight,
                   std::vector<std::uint8_t>& asked) {
  asked.assign(model.directory().size(), 0);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    constexpr bool callable =
        std::is_invocable_v<Producer const&, Exec const&, decltype(write_target_of<I>(model, weight, asked))...>;
    static_assert(callable, ACCRUE_SAY_PRODUCER);
    if constexpr (callable) producer(exec, write_target_of<I>(model, weight, asked)...);
  }
  (std::make_index_sequence<std::tuple_size_v<typename Model::items_type>>{});
  for (std::size_t view = 0; view < asked.size(); ++view)
    if (asked[view] != 0) model.note_written(view);
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
    std::vector<bool> mine(at(model.storage().template first_view<from>()),
                           at(model.storage().template first_view<until>()));
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
  std::uint8_t const* touched;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { copy[i] = *touched != 0 ? by(sum[i]) : B{}; }
};

/// A copy of an item's sums over a divisor, in the layout of the buffer; zero where untouched. Allocates and fences.
template <std::size_t I, class Model, class Exec>
[[nodiscard]] auto snapshot_of(Model& model, Exec const& exec, double divisor) {
  auto const from = sums_of<I>(model);
  using view = std::remove_const_t<decltype(from)>;
  constexpr bool one = Kokkos::is_view_v<view>;
  static_assert(one, ACCRUE_SAY_SNAPSHOT_OF_MANY);
  if constexpr (one) {
    std::size_t const first = model.storage().template first_view<I>();
    Kokkos::View<typename view::data_type, Kokkos::LayoutStride, typename Model::memory_space> copy(
        Kokkos::view_alloc(exec, Kokkos::WithoutInitializing, "accrue::snapshot"), from.layout());
    Kokkos::parallel_for("accrue::accumulate::snapshot",
                         Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, from.size()),
                         copy_quotient<typename view::value_type>{
                             from.data(), copy.data(), quotient_by(divisor / model.keep(first), 1.0),
                             model.touched(exec) + model.directory()[first].number});
    exec.fence("accrue::snapshot");
    return copy;
  } else {
    return from;
  }
}

}  // namespace accrue
#endif
