// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_ROWS_OF_MODEL_HPP
#define ACCRUE_PASSES_ROWS_OF_MODEL_HPP

#include <accrue/passes/add_rows.hpp>
#include <accrue/passes/buffer_views.hpp>

#include <cstddef>
#include <tuple>
#include <utility>

namespace accrue {

namespace detail {
/// Calls `visit(number of the view, its sums, rows)` for those gradients that are rows.
template <class Model, class... Gradients, class Visit>
void for_each_rows(Model const& model, std::tuple<Gradients...> const& gradients, Visit const& visit) {
  auto const one = [&]<std::size_t I, class Gradient>(std::index_sequence<I>, Gradient const& given) {
    if constexpr (is_rows_v<Gradient>) visit(model.storage().template first_view<I>(), sums_of<I>(model).data(), given);
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (one(std::index_sequence<I>{}, std::get<I>(gradients)), ...); }
  (std::index_sequence_for<Gradients...>{});
}
}  // namespace detail

/// Checks those gradients that are rows, while `waiting` contributions wait for their pass; throws with nothing
/// changed.
template <class Exec, class Model, class... Gradients>
void check_rows(Model const& model, std::tuple<Gradients...> const& gradients, int waiting) {
  detail::for_each_rows(model, gradients, [&](std::size_t view, auto* sums, auto const& given) {
    check_rows_of<Exec>(model.directory(), view, sums, given);
    if (model.tables().waits_at(given.values.data(), model.directory()[view].number, waiting))
      model.directory().refuse_overwriting(view);
  });
}

/// Adds them, each by a launch of its own; `weight` is the microbatch's.
template <class Exec, class Model, class... Gradients>
void add_rows(Exec const& exec, Model& model, std::tuple<Gradients...> const& gradients, double weight) {
  detail::for_each_rows(model, gradients, [&](std::size_t view, auto* sums, auto const& given) {
    launch_add_rows(exec, model.directory()[view], given, sums, weight, model.keep(view), !model.is_touched(view));
    model.note_written(view);
  });
}

}  // namespace accrue
#endif
