// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MODEL_VIEWS_HPP
#define ACCRUE_PASSES_MODEL_VIEWS_HPP

#include <accrue/core/adopted.hpp>
#include <accrue/passes/block.hpp>
#include <accrue/passes/gradient_tables.hpp>
#include <accrue/passes/measure.hpp>
#include <accrue/passes/model_storage.hpp>
#include <accrue/passes/model_types.hpp>
#include <accrue/passes/view_directory.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace accrue {

template <class Exec, class Summation, class Set, int Sets>
class model_views;

struct clear_flags {
  std::uint8_t* flags;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { flags[i] = 0; }
};

/// The views of a model with their buffer, state and tables: which contributions are held, and what of the sums is
/// touched.
template <class Exec, class Summation, std::size_t... Sizes, class... Items, int Sets>
class model_views<Exec, Summation, parameter_set<std::index_sequence<Sizes...>, Items...>, Sets> {
  static constexpr bool has_wrapped_items = has_wrapped_items_v<parameter_set<std::index_sequence<Sizes...>, Items...>>;

 public:
  using set_type = parameter_set<std::index_sequence<Sizes...>, Items...>;
  using items_type = std::tuple<Items...>;
  /// The writers of parameters of scalar `P`, see passes/writers.hpp.
  template <class P>
  using writers = writers_t<P, Items...>;
  using memory_space = typename Exec::memory_space;

  /// Cost: allocates the buffer, `state_words` words of optimizer state per element, as many sets of gradients as are
  /// lent, and the tables. Failure: `accrue::error` where parameters share storage.
  /// Where a gate on the device rejects microbatches, it keeps the flags of what is touched. Of a `shard` of the model
  /// there are only its part of the sums and of the state.
  model_views(Exec const& exec, set_type set, int state_words, int sets_lent = 0, bool gated = false,
              shard const& of = {})
      : storage_(exec, std::move(set), state_words, sets_lent, of),
        tables_(exec, storage_.sums(), storage_.lent()),
        updates_of_view_(exec, "accrue::passes::updates_of_view", storage_.sums().size()),
        partials_(exec, "accrue::passes::partials", static_cast<std::size_t>(storage_.chunk_count())),
        state_words_(state_words) {
    if (gated) gated_touch_ = {exec, "accrue::passes::gated_touch", storage_.sums().size()};
    if constexpr (has_wrapped_items) writing_ = {exec, "accrue::passes::writing", storage_.writing()};
  }

  [[nodiscard]] model_storage<Exec, Summation, set_type> const& storage() const { return storage_; }
  [[nodiscard]] view_directory const& directory() const { return storage_.directory(); }
  [[nodiscard]] std::int64_t* updates_of_view() const { return updates_of_view_.data(); }
  /// For kernels on `exec`: which views the group has touched.
  [[nodiscard]] std::uint8_t const* touched(Exec const& exec) {
    tables_.upload_sums(exec);
    return touched_flags();
  }
  /// The same flags where a gate on the device sets them; else null.
  [[nodiscard]] std::uint8_t* gated_touch() const { return gated_touch_.data(); }

  void clear_gate(Exec const& exec) const {
    using policy = Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>;
    Kokkos::parallel_for("accrue::passes::clear_gate", policy(exec, 0, gated_touch_.size()),
                         clear_flags{gated_touch_.data()});
  }

  [[nodiscard]] bool any_touched() const { return tables_.touched().any(); }
  [[nodiscard]] bool is_touched(std::size_t view) const {
    return tables_.touched().is_touched(directory()[view].number);
  }

  /// What the raw sum of a view is still to be multiplied by: the weight of a gradient that was written into the
  /// buffer.
  [[nodiscard]] double keep(std::size_t view) const { return tables_.touched().keep(directory()[view].number); }

  /// Of each view, in the order of the user. Cost: one fence where a gate on the device knows.
  [[nodiscard]] std::vector<bool> touched_views(Exec const& exec) const {
    std::vector<std::uint8_t> gated(gated_touch_.size());
    if (!gated.empty()) gated_touch_.read(exec, "accrue::passes: read what is touched", 0, gated.size(), gated.data());
    std::vector<bool> answer(directory().size());
    for (std::size_t v = 0; v < answer.size(); ++v)
      answer[v] = gated.empty() ? is_touched(v) : gated[directory()[v].number] != 0;
    return answer;
  }

  /// The sums of these views, in the order of the user, are whole and in the buffer, and there are no others.
  void sums_are_whole(Exec const& exec, std::vector<bool> const& views) {
    tables_.come_home();
    forget_touched();
    std::vector<std::uint8_t> flags(views.size(), 0);
    for (std::size_t v = 0; v < views.size(); ++v) {
      if (views[v]) note_written(v);
      flags[directory()[v].number] = views[v] ? 1 : 0;
    }
    if (gated_touch() == nullptr) return;
    gated_touch_.write(exec, flags.data());
    exec.fence("accrue::reduce: write what is touched");
  }

  /// Multiplies the sums of the touched views, in their next pass.
  void shrink(double factor) { tables_.touched().multiply(factor); }

  /// Works on other sums, of which `other` knows, until they are exchanged again.
  void exchange(gradient_tables<Exec, Sets>& other) { std::swap(tables_, other); }
  /// Begins a group.
  void forget_touched() { tables_.touched().forget(); }

  [[nodiscard]] int state_words() const { return state_words_; }

  /// Failure: `accrue::error` where a rule keeps more state than was allocated.
  void require_state(int words) const {
    if (words > state_words_)
      throw error("accrue::accumulator: the new rule keeps more state per element",
                  "state is allocated at construction", "construct the accumulator with the rule that needs most");
  }

  /// Checks a contribution against the parameters, `held` others being held already; throws with nothing changed.
  template <class... Gradients>
  void check(std::tuple<Gradients...> const& gradients, int held, bool may_stay_in_buffer, bool recognised = true) {
    tables_.check(storage_.directory(), storage_.set().items, gradients, held, may_stay_in_buffer, recognised);
  }
  /// Takes the contribution that was checked last as number `set` of those that one pass will add, see
  /// `gradient_tables`.
  bool hold(int set, double weight) { return tables_.hold(directory(), set, weight); }

  /// Failure: `accrue::error` where somebody else can write to a gradient's memory.
  template <class... Gradients>
  void require_sole_owner(std::tuple<Gradients...> const& gradients) const {
    bool sole = true;
    auto const look = [&](auto const& view) { sole = sole && detail::is_sole_owner(view); };
    if constexpr (sizeof...(Gradients) == sizeof...(Items)) {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (view_directory::for_each_gradient(std::get<I>(storage_.set().items), std::get<I>(gradients), look, [] {}),
         ...);
      }
      (std::index_sequence_for<Items...>{});
    }
    if (!sole)
      throw error("accrue::accumulator: adopt() was given memory that others hold as well, or that is not managed",
                  "they would see the sums of the group", "give it away: adopt(mean_gradient{std::move(view), ...})");
  }
  /// Makes the contribution that was checked last the sums of this group, see `gradient_tables`.
  void adopt(double weight) { tables_.adopt(directory(), weight); }
  /// Before a group begins: what was adopted for the last one is left alone.
  void reclaim() { tables_.reclaim(); }

  /// Where the gradients lie that are checked and held, and what is touched.
  [[nodiscard]] gradient_tables<Exec, Sets> const& tables() const { return tables_; }

  /// Notes that somebody wrote the sums of a view, and what they are still to be multiplied by.
  void note_written(std::size_t view, double keep = 1.0) { tables_.touched().touch(directory()[view].number, keep); }

  /// For passes that are launched elsewhere: sends where the gradients of the first contribution lie that is held.
  [[nodiscard]] strided const* held_gradients(Exec const& exec) {
    tables_.upload(exec, 1);
    return tables_.gradients(0);
  }
  /// Likewise how an update writes each parameter; null where all are written plainly.
  [[nodiscard]] parameter_writing const* writing() const {
    if constexpr (has_wrapped_items)
      return writing_.data();
    else
      return nullptr;
  }
  /// After the pass over the last of the pieces.
  void note_added(int count) { tables_.touch(count); }

 protected:
  template <class Block>
  [[nodiscard]] strided const* sums_of_block(Block const& each) const {
    return tables_.sums() + each.first_view;
  }
  template <class Block>
  [[nodiscard]] strided const* gradients_of(Block const& each, int set) const {
    return tables_.gradients(set) + each.first_view;
  }
  template <class Block>
  [[nodiscard]] std::uint8_t const* touched_of(Block const& each) const {
    return touched_flags() + each.first_view;
  }
  [[nodiscard]] std::uint8_t const* touched_flags() const {
    return gated_touch() != nullptr ? gated_touch() : tables_.touched().flags();
  }
  template <class Block>
  [[nodiscard]] double const* keep_of(Block const& each) const {
    return tables_.touched().keeps() + each.first_view;
  }
  template <class Block>
  [[nodiscard]] measuring measuring_of(Block const& each, norm_request const& wanted) const {
    if (!wanted) return {};
    return {wanted.order,     wanted.thoroughly,      partials_.data() + each.first_chunk,
            partials_.data(), storage_.chunk_count(), wanted.total};
  }
  template <class Block>
  [[nodiscard]] parameter_writing const* writing_of(Block const& each) const {
    parameter_writing const* const all = writing();
    return all == nullptr ? nullptr : all + each.first_view;
  }

  model_storage<Exec, Summation, set_type> storage_;
  gradient_tables<Exec, Sets> tables_;
  std::conditional_t<has_wrapped_items, device_table<parameter_writing, Exec>, std::monostate> writing_;
  device_array<std::uint8_t, Exec> gated_touch_;
  device_array<std::int64_t, Exec> updates_of_view_;
  device_array<norm_partial, Exec> partials_;
  int state_words_;
};

}  // namespace accrue
#endif
