// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MODEL_STORAGE_HPP
#define ACCRUE_PASSES_MODEL_STORAGE_HPP

#include <accrue/core/carried.hpp>
#include <accrue/core/parameters.hpp>
#include <accrue/core/type_list.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/gradient_tables.hpp>
#include <accrue/passes/model_types.hpp>
#include <accrue/passes/view_directory.hpp>
#include <accrue/passes/writers.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

template <class Exec, class Summation, class Set>
class model_storage;

/// The parameters of a model and the memory beside them: a directory of all views, and for each scalar type a block
/// with buffer, state and lent sets.
template <class Exec, class Summation, std::size_t... Sizes, class... Items>
class model_storage<Exec, Summation, parameter_set<std::index_sequence<Sizes...>, Items...>> {
  template <class Item>
  using scalar_of = typename view_of_t<Item>::non_const_value_type;
  using scalars = unique_t<scalar_of<Items>...>;

 public:
  using set_type = parameter_set<std::index_sequence<Sizes...>, Items...>;

  /// Cost: allocates. Failure: `accrue::error` where parameters share storage.
  model_storage(Exec const& exec, set_type set, int state_words, int sets_lent, shard const& of = {})
      : set_(std::move(set)), lent_{sets_lent, 1 + state_words, {}} {
    std::array<block_plan, scalars::size> plans;
    std::size_t item_number = 0;
    std::apply([&](auto const&... item) { (enter(item, item_number++, plans), ...); }, set_.items);
    directory_.refuse_bad_storage();

    std::size_t b = 0;
    for_each_block([&](auto& each) {
      each.lay_out(exec, plans[b], state_words, sets_lent,
                   carried_bytes<Summation, typename std::remove_cvref_t<decltype(each)>::buffer_scalar>, of);
      each.first_view = static_cast<std::int64_t>(sums_.size());
      each.first_chunk = chunks_;
      directory_.number_block(b, sums_.size());
      for (std::size_t v = 0; v < plans[b].views(); ++v) {
        sums_.push_back(each.sum(v));
        lent_.bytes_apart.push_back(each.bytes_apart());
      }
      chunks_ += each.list().chunk_count;
      ++b;
    });
  }

  [[nodiscard]] set_type const& set() const { return set_; }
  [[nodiscard]] view_directory& directory() { return directory_; }
  [[nodiscard]] view_directory const& directory() const { return directory_; }
  [[nodiscard]] std::int64_t chunk_count() const { return chunks_; }

  // By the number of the view, for the tables.
  [[nodiscard]] std::vector<strided> const& sums() const { return sums_; }
  [[nodiscard]] lending const& lent() const { return lent_; }
  [[nodiscard]] std::vector<parameter_writing> writing() const {
    std::vector<parameter_writing> all(sums_.size());
    for (std::size_t v = 0; v < all.size(); ++v)
      all[directory_[v].number] = {directory_[v].copy, directory_[v].at_random ? static_cast<std::int64_t>(v) : -1};
    return all;
  }

  /// The parameter group of a view.
  [[nodiscard]] std::int32_t group(std::size_t view) const {
    directory_entry const& entry = directory_[view];
    std::int32_t found = 0;
    std::size_t b = 0;
    auto const look = [&](auto const& each) {
      if (b++ == entry.block) found = each.placements[entry.local].group;
    };
    std::apply([&](auto const&... each) { (look(each), ...); }, blocks_);
    return found;
  }
  /// Where a word of state of a view lies.
  [[nodiscard]] strided state(std::size_t view, int word) const {
    directory_entry const& entry = directory_[view];
    strided found;
    std::size_t b = 0;
    auto const look = [&](auto const& each) {
      if (b++ == entry.block) found = each.word(1 + word, entry.local);
    };
    std::apply([&](auto const&... each) { (look(each), ...); }, blocks_);
    return found;
  }

  /// The elements of a view that this shard of the model keeps sums and state of.
  [[nodiscard]] chunk kept(std::size_t view) const {
    directory_entry const& entry = directory_[view];
    chunk found{};
    std::size_t b = 0;
    auto const look = [&](auto const& each) {
      if (b++ == entry.block) found = each.kept(entry.local);
    };
    std::apply([&](auto const&... each) { (look(each), ...); }, blocks_);
    return found;
  }

  /// Where the words lie that the summation carries beside the sums of a view: runs of real numbers.
  [[nodiscard]] std::vector<strided> carried(std::size_t view) const {
    directory_entry const& entry = directory_[view];
    std::vector<strided> found;
    std::size_t b = 0;
    auto const look = [&]<class Block>(Block const& each) {
      if (b++ == entry.block) found = each.template carried_runs<Summation>(entry.local);
    };
    if constexpr (carries_v<Summation>) std::apply([&](auto const&... each) { (look(each), ...); }, blocks_);
    return found;
  }

  /// Calls `visit(block)` for each scalar type.
  template <class Visit>
  void for_each_block(Visit&& visit) {
    std::apply([&](auto&... each) { (visit(each), ...); }, blocks_);
  }
  /// The block that holds the parameters of scalar `P`.
  template <class P>
  [[nodiscard]] auto const& block_of() const {
    return std::get<index_of<P>()>(blocks_);
  }
  /// The number of an item's first view among all, in the order of the user.
  template <std::size_t I>
  [[nodiscard]] std::size_t first_view() const {
    std::size_t before = 0;
    [&]<std::size_t... J>(std::index_sequence<J...>) {
      ((before += view_count(weights_of(std::get<J>(set_.items)))), ...);
    }
    (std::make_index_sequence<I>{});
    return before;
  }

 private:
  template <class Item>
  void enter(Item const& item, std::size_t item_number, std::array<block_plan, scalars::size>& plans) {
    constexpr std::size_t b = index_of<scalar_of<Item>>();
    constexpr auto bytes = sizeof(typename std::tuple_element_t<b, decltype(blocks_)>::buffer_scalar);
    auto const group = static_cast<std::int32_t>(set_type::group_of(item_number));
    for_each_view(weights_of(item), [&](auto const& view) {
      plans[b].add(directory_.enter(view, b, plans[b].views()), group, static_cast<std::int64_t>(bytes));
    });
    if constexpr (is_master_weights_v<Item>) directory_.enter_copies(item);
    if constexpr (is_held_in_common_v<Item>) directory_.hold_in_common(view_count(item.weights));
    if constexpr (is_stochastic_rounding_v<Item>) directory_.round_at_random(view_count(item.weights));
  }
  template <class P>
  [[nodiscard]] static constexpr std::size_t index_of() {
    std::size_t index = 0;
    bool found = false;
    scalars::for_each([&]<class T>(std::type_identity<T>) {
      found = found || std::is_same_v<T, P>;
      index += found ? 0 : 1;
    });
    return index;
  }

  set_type set_;
  view_directory directory_;
  blocks_of<Exec, Summation, scalars> blocks_;
  std::vector<strided> sums_;
  lending lent_;
  std::int64_t chunks_ = 0;
};

}  // namespace accrue
#endif
