// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MODEL_HPP
#define ACCRUE_PASSES_MODEL_HPP

#include <accrue/core/contribution.hpp>
#include <accrue/core/finalized_gradient.hpp>
#include <accrue/core/parameters.hpp>
#include <accrue/core/type_list.hpp>
#include <accrue/passes/add.hpp>
#include <accrue/passes/apply.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/measure.hpp>
#include <accrue/passes/snapshot.hpp>
#include <accrue/passes/view_directory.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace accrue {

template <class Exec, class Summation, class Set> class model;

/// The views of a model with their buffer, state and tables; launches the passes over all of them.
///
/// Guarantee: one launch per pass and pair of scalar types, whatever the number of views; after construction nothing
/// allocates.
template <class Exec, class Summation, std::size_t... Sizes, class... Items>
class model<Exec, Summation, parameter_set<std::index_sequence<Sizes...>, Items...>> {
  using set_type = parameter_set<std::index_sequence<Sizes...>, Items...>;
  using memory_space = typename Exec::memory_space;

  template <class Item> using scalar_of = typename view_of_t<Item>::non_const_value_type;
  using scalars = unique_t<scalar_of<Items>...>;

  template <class List> struct blocks_of;
  template <class... Ps> struct blocks_of<type_list<Ps...>> {
    using type = std::tuple<block<Exec, Ps, typename Summation::template buffer_scalar<Ps>>...>;
  };

  /// The scalars of those gradients in a contribution that belong to parameters of scalar `P`.
  template <class P, class Contribution> struct gradient_scalars;
  template <class P, template <class...> class Contribution, class... Gradients>
  struct gradient_scalars<P, Contribution<Gradients...>> {
    template <class Item, class Gradient> static auto scalar_if_same() {
      using view = gradient_view_t<Gradient>;
      if constexpr (std::is_same_v<scalar_of<Item>, P> && !std::is_void_v<view>) {
        return std::type_identity<typename view::non_const_value_type>{};
      } else {
        return std::type_identity<void>{};
      }
    }
    using type = unique_t<typename decltype(scalar_if_same<Items, Gradients>())::type...>;
  };
  template <class P, template <class...> class Contribution> struct gradient_scalars<P, Contribution<>> {
    using type = type_list<>;
  };

 public:
  /// Cost: allocates the buffer, `state_words` words of optimizer state per element, and the tables.
  /// Failure: `accrue::error` where parameters share storage.
  model(set_type set, int state_words) : set_(std::move(set)) {
    std::vector<std::vector<view_entry>> entries(scalars::size);
    std::size_t item_number = 0;
    std::apply([&](auto const&... item) { (enter(item, item_number++, entries), ...); }, set_.items);
    directory_.refuse_overlap();

    std::size_t views = 0;
    std::size_t b = 0;
    for_each_block([&](auto& each) {
      each.lay_out(entries[b], state_words);
      each.first_view = static_cast<std::int64_t>(views);
      each.first_chunk = chunks_;
      for (std::size_t v = 0; v < directory_.size(); ++v)
        if (directory_[v].block == b) directory_[v].number += views;
      views += entries[b++].size();
      chunks_ += each.chunk_count();
    });
    touched_ = {"accrue::passes::touched", std::vector<std::uint8_t>(views, 0)};
    updates_of_view_ = Kokkos::View<std::int64_t*, memory_space>("accrue::passes::updates_of_view", views);
    partials_ =
        Kokkos::View<norm_partial*, memory_space>("accrue::passes::partials", static_cast<std::size_t>(chunks_));
  }

  [[nodiscard]] set_type const& set() const { return set_; }
  [[nodiscard]] view_directory const& directory() const { return directory_; }
  [[nodiscard]] std::int64_t chunk_count() const { return chunks_; }
  [[nodiscard]] norm_partial const* partials() const { return partials_.data(); }
  [[nodiscard]] std::int64_t* updates_of_view() const { return updates_of_view_.data(); }
  [[nodiscard]] std::uint8_t const* touched() const { return touched_.data(); }

  [[nodiscard]] bool any_touched() const { return touched_count_ > 0; }
  [[nodiscard]] bool is_touched(std::size_t view) const { return touched_[directory_[view].number] != 0; }

  /// The buffer's part of an item: a view, or a vector of views, with the extents of the parameters.
  template <std::size_t I> [[nodiscard]] auto sums() const {
    using item = std::tuple_element_t<I, std::tuple<Items...>>;
    using scalar = scalar_of<item>;
    using view = sum_view<typename Summation::template buffer_scalar<scalar>, view_of_t<item>::rank(), memory_space>;
    auto const& from = std::get<index_of<scalar>()>(blocks_);
    std::size_t number = first_view<I>();
    auto const one = [&] {
      directory_entry const& entry = directory_[number++];
      return view(from.buffer() + from.places[entry.local], layout_of(packed(entry.shape, entry.order)));
    };
    if constexpr (Kokkos::is_view_v<item>) {
      return one();
    } else {
      std::vector<view> all;
      for (std::size_t n = std::get<I>(set_.items).size(); n > 0; --n) all.push_back(one());
      return all;
    }
  }

  /// The finished gradients of the parameter groups from `First` to before `Last`, which are in the buffer.
  template <std::size_t First, std::size_t Last>
  [[nodiscard]] auto finalized(Exec const& exec, std::vector<bool> const& touched, device_record const& found) const {
    constexpr std::size_t from = set_type::first_item(First);
    constexpr std::size_t until = set_type::first_item(Last);
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::vector<bool> mine(touched.begin() + static_cast<std::ptrdiff_t>(first_view<from>()),
                             touched.begin() + static_cast<std::ptrdiff_t>(first_view<until>()));
      return finalized_gradient<Exec, decltype(sums<from + I>())...>(exec, {sums<from + I>()...}, std::move(mine),
                                                                     found);
    }
    (std::make_index_sequence<until - from>{});
  }

  /// A copy of an item's sums over a divisor, in the layout of the buffer; zero where untouched. Allocates.
  template <std::size_t I> [[nodiscard]] auto snapshot(Exec const& exec, double divisor) const {
    auto const from = sums<I>();
    static_assert(
        Kokkos::is_view_v<std::remove_const_t<decltype(from)>>,
        "accrue::accumulator: snapshot<I>() copies a parameter given as one view; a vector of views has no snapshot");
    using scalar = typename decltype(from)::value_type;
    Kokkos::View<typename decltype(from)::data_type, Kokkos::LayoutStride, memory_space> copy("accrue::snapshot",
                                                                                              from.layout());
    bool const touched = is_touched(first_view<I>());
    Kokkos::parallel_for(
        "accrue::accumulate::snapshot",
        Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, static_cast<std::int64_t>(from.size())),
        copy_quotient<scalar>{from.data(), copy.data(), divisor, touched});
    exec.fence("accrue::snapshot");
    return copy;
  }

  [[nodiscard]] std::vector<bool> touched_views() const {
    std::vector<bool> answer(directory_.size());
    for (std::size_t v = 0; v < answer.size(); ++v) answer[v] = is_touched(v);
    return answer;
  }

  /// Begins a group: nothing is touched, and the first touch will overwrite. Clearing is a state, not a pass.
  void forget_touched() {
    for (std::size_t v = 0; v < touched_.size(); ++v) touched_.set(v, 0);
    touched_count_ = 0;
  }

  /// Checks a contribution against the parameters; throws with nothing changed.
  template <class... Gradients> void check(std::tuple<Gradients...> const& gradients) {
    if constexpr (sizeof...(Gradients) == 0) {
      directory_.no_gradients();
    } else {
      std::size_t view = 0;
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (directory_.check(std::get<I>(set_.items), std::get<I>(gradients), view), ...);
      }
      (std::index_sequence_for<Gradients...>{});
    }
  }

  /// Adds the contribution that was checked last; `weigh_for(type of the buffer's scalar)` maps its elements.
  template <class Contribution, class WeighFor>
  void add(std::string const& label, Exec const& exec, WeighFor const& weigh_for) {
    first_touch const first = bind(exec);
    for_each_block([&]<class P, class B>(block<Exec, P, B>& each) {
      auto const weigh = weigh_for(std::type_identity<B>{});
      using weigh_type = std::remove_const_t<decltype(weigh)>;
      gradient_scalars<P, Contribution>::type::for_each([&]<class G>(std::type_identity<G>) {
        for_each_chunk(label, exec, each.chunk_count(),
                       add_chunk<G, B, weigh_type>{each.chunks.data(), each.gradients.data(), each.places.data(),
                                                   touched_.data() + each.first_view, each.buffer(), weigh,
                                                   scalar_id<G>(), first});
      });
    });
    touch();
  }

  /// Measures the contribution that was checked last, into `partials()`.
  template <class Contribution>
  void measure_contribution(std::string const& label, Exec const& exec, norm_order order) {
    bind(exec);
    for_each_block([&]<class P, class B>(block<Exec, P, B>& each) {
      using found = typename gradient_scalars<P, Contribution>::type;
      using read = std::conditional_t<found::size == 0, type_list<B>, found>;
      bool clears_absent = true;
      read::for_each([&]<class G>(std::type_identity<G>) {
        measure(label, exec, each.chunk_count(),
                measure_chunk<G>{each.chunks.data(), each.gradients.data(), nullptr, scalar_id<G>(),
                                 std::exchange(clears_absent, false), order, partials_.data() + each.first_chunk});
      });
    });
  }

  /// Measures the raw sums of the touched views, into `partials()`.
  void measure_sums(std::string const& label, Exec const& exec, norm_order order) {
    touched_.upload(exec);
    for_each_block([&]<class P, class B>(block<Exec, P, B>& each) {
      measure(label, exec, each.chunk_count(),
              measure_chunk<B>{each.chunks.data(), each.sums.data(), touched_.data() + each.first_view, scalar_id<B>(),
                               false, order, partials_.data() + each.first_chunk});
    });
  }

  /// Runs the update pass with one rule per parameter group.
  template <class Rules, class Clip>
  void apply(std::string const& label, Exec const& exec, decision const* verdict, Rules const& rules,
             Clip const& clip) {
    for_each_block([&]<class P, class B>(block<Exec, P, B>& each) {
      for_each_chunk(label, exec, each.chunk_count(),
                     apply_chunk<P, B, Rules, Clip>{each.chunks.data(), each.parameters.data(), each.places.data(),
                                                    each.groups.data(), touched_.data() + each.first_view,
                                                    updates_of_view_.data() + each.first_view, each.buffer(),
                                                    each.words_apart, verdict, rules, clip});
    });
  }

 private:
  template <class Visit> void for_each_block(Visit&& visit) {
    std::apply([&](auto&... each) { (visit(each), ...); }, blocks_);
  }

  /// The number of an item's first view among all, in the order of the user.
  template <std::size_t I> [[nodiscard]] std::size_t first_view() const {
    std::size_t before = 0;
    [&]<std::size_t... J>(std::index_sequence<J...>) {
      (for_each_view(std::get<J>(set_.items), [&](auto const&) { ++before; }), ...);
    }
    (std::make_index_sequence<I>{});
    return before;
  }

  template <class Item>
  void enter(Item const& item, std::size_t item_number, std::vector<std::vector<view_entry>>& entries) {
    std::size_t const b = index_of<scalar_of<Item>>();
    for_each_view(item, [&](auto const& view) {
      directory_entry const& entry = directory_.enter(view, b, entries[b].size());
      entries[b].push_back({entry.storage, entry.order, static_cast<std::int32_t>(set_type::group_of(item_number))});
    });
  }
  template <class P> [[nodiscard]] static constexpr std::size_t index_of() {
    std::size_t index = 0;
    bool found = false;
    scalars::for_each([&]<class T>(std::type_identity<T>) {
      found = found || std::is_same_v<T, P>;
      index += found ? 0 : 1;
    });
    return index;
  }

  /// Writes the gradients that were checked last into the tables of the blocks.
  first_touch bind(Exec const& exec) {
    std::size_t fresh = 0;
    std::size_t given = 0;
    std::size_t b = 0;
    for_each_block([&](auto& each) {
      for (std::size_t v = 0; v < directory_.size(); ++v) {
        if (directory_[v].block != b) continue;
        strided const& gradient = directory_.gradient(v);
        each.gradients.set(directory_[v].local, gradient);
        given += gradient.scalar >= 0 ? 1 : 0;
        fresh += gradient.scalar >= 0 && !is_touched(v) ? 1 : 0;
      }
      each.gradients.upload(exec);
      ++b;
    });
    first_touch const first = fresh == 0 ? first_touch::none : fresh == given ? first_touch::all : first_touch::some;
    if (first == first_touch::some) touched_.upload(exec);
    return first;
  }

  void touch() {
    for (std::size_t v = 0; v < directory_.size(); ++v) {
      if (directory_.gradient(v).scalar < 0 || is_touched(v)) continue;
      touched_.set(directory_[v].number, 1);
      ++touched_count_;
    }
  }

  set_type set_;
  view_directory directory_;
  typename blocks_of<scalars>::type blocks_;
  device_table<std::uint8_t, Exec> touched_;
  Kokkos::View<std::int64_t*, memory_space> updates_of_view_;
  Kokkos::View<norm_partial*, memory_space> partials_;
  std::int64_t chunks_ = 0;
  std::size_t touched_count_ = 0;
};

}  // namespace accrue
#endif
