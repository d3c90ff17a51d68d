// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MODEL_HPP
#define ACCRUE_PASSES_MODEL_HPP

#include <accrue/passes/add.hpp>
#include <accrue/passes/apply.hpp>
#include <accrue/passes/measure.hpp>
#include <accrue/passes/model_types.hpp>
#include <accrue/passes/recognition.hpp>
#include <accrue/passes/touch_table.hpp>
#include <accrue/passes/view_directory.hpp>

#include <Kokkos_Core.hpp>
#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace accrue {

template <class Exec, class Summation, class Set, int Sets = 1>
class model;

/// A norm that a pass is to measure on the way, and where its total goes on the device.
struct norm_request {
  norm_order order{};
  norm_partial* total = nullptr;
  std::int64_t* workers_gone = nullptr;  ///< see exit_gate
  bool thoroughly = false;               ///< with the largest modulus
  explicit operator bool() const { return total != nullptr; }
};

/// The views of a model with their buffer, state and tables; launches the passes over all of them.
///
/// Guarantee: one launch per pass and pair of scalar types, whatever the number of views; after construction nothing
/// allocates.
template <class Exec, class Summation, std::size_t... Sizes, class... Items, int Sets>
class model<Exec, Summation, parameter_set<std::index_sequence<Sizes...>, Items...>, Sets> {
  template <class Item>
  using scalar_of = typename view_of_t<Item>::non_const_value_type;
  using scalars = unique_t<scalar_of<Items>...>;

 public:
  using set_type = parameter_set<std::index_sequence<Sizes...>, Items...>;
  using items_type = std::tuple<Items...>;
  using memory_space = typename Exec::memory_space;

  /// Cost: allocates the buffer, `state_words` words of optimizer state per element, as many sets of gradients as are
  /// lent, and the tables. Failure: `accrue::error` where parameters share storage.
  model(Exec const& exec, set_type set, int state_words, int sets_lent = 0)
      : set_(std::move(set)), state_words_(state_words), lends_(sets_lent > 0) {
    std::vector<std::vector<view_entry>> entries(scalars::size);
    std::size_t item_number = 0;
    std::apply([&](auto const&... item) { (enter(item, item_number++, entries), ...); }, set_.items);
    directory_.refuse_bad_storage();

    std::size_t views = 0;
    std::size_t b = 0;
    for_each_block([&](auto& each) {
      each.lay_out(exec, entries[b], state_words, sets_lent);
      each.first_view = static_cast<std::int64_t>(views);
      each.first_chunk = chunks_;
      directory_.number_block(b, views);
      views += entries[b++].size();
      chunks_ += each.list().chunk_count;
    });
    touched_ = touch_table<Exec>(exec, views);
    updates_of_view_ = {exec, "accrue::passes::updates_of_view", views};
    partials_ = {exec, "accrue::passes::partials", static_cast<std::size_t>(chunks_)};
  }

  [[nodiscard]] set_type const& set() const { return set_; }
  [[nodiscard]] view_directory const& directory() const { return directory_; }
  [[nodiscard]] std::int64_t chunk_count() const { return chunks_; }
  [[nodiscard]] std::int64_t* updates_of_view() const { return updates_of_view_.data(); }
  [[nodiscard]] std::uint8_t const* touched() const { return touched_.flags(); }

  [[nodiscard]] bool any_touched() const { return touched_.any(); }
  [[nodiscard]] bool is_touched(std::size_t view) const { return touched_.is_touched(directory_[view].number); }

  /// What the raw sum of a view is still to be multiplied by: the weight of a gradient that was written into the
  /// buffer.
  [[nodiscard]] double keep(std::size_t view) const { return touched_.keep(directory_[view].number); }

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
      (for_each_view(std::get<J>(set_.items), [&](auto const&) { ++before; }), ...);
    }
    (std::make_index_sequence<I>{});
    return before;
  }

  [[nodiscard]] std::vector<bool> touched_views() const {
    std::vector<bool> answer(directory_.size());
    for (std::size_t v = 0; v < answer.size(); ++v) answer[v] = is_touched(v);
    return answer;
  }

  /// Begins a group.
  void forget_touched() { touched_.forget(); }

  /// Failure: `accrue::error` where a rule keeps more state than was allocated.
  void require_state(int words) const {
    if (words > state_words_)
      throw error("accrue::accumulator: the new rule keeps more state per element",
                  "state is allocated at construction", "construct the accumulator with the rule that needs most");
  }

  /// Checks a contribution against the parameters, `held` others being held already; throws with nothing changed.
  ///
  /// Cost: a look at each view where the same ones were held under this number before, or lay in the buffer; else some
  /// 50 ns for each.
  template <class... Gradients>
  void check(std::tuple<Gradients...> const& gradients, int held = 0) {
    using finding = typename recognition<Sets>::finding;
    if constexpr (sizeof...(Gradients) != sizeof...(Items)) {  // none, or the parameters were refused
      directory_.no_gradients();
      memory_.look_at_none();
    } else {
      bool const may_be_in_buffer = lends_ && !touched_.any();
      if (memory_.look(directory_.size(), set_.items, gradients, held, may_be_in_buffer) != finding::unknown) return;
      std::size_t view = 0;
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (directory_.check(std::get<I>(set_.items), std::get<I>(gradients), view), ...);
      }
      (std::index_sequence_for<Gradients...>{});
      placing const where = refuse_what_is_in_use(held);
      bool const divided = where.in_buffer > 0 && where.in_buffer < where.given;
      if (!divided) memory_.note(set_.items, gradients, lends_ && where.in_buffer > 0);
    }
  }

  /// Takes the contribution that was checked last as number `set` of those that one pass will add. Gradients that were
  /// written into the buffer itself are there already: `weight` waits until the next pass. Returns whether others are
  /// left for a pass.
  bool hold(int set, double weight, bool may_stay_in_buffer) {
    using finding = typename recognition<Sets>::finding;
    auto const number = static_cast<std::size_t>(set);
    if (memory_.found() == finding::held_before) return given_[number] > 0;
    if (memory_.found() == finding::in_buffer && may_stay_in_buffer) {
      memory_.left_in_buffer();
      for (std::size_t v = 0; v < directory_.size(); ++v)
        if (memory_.in_buffer(v)) touched_.touch(directory_[v].number, weight);
      return false;
    }
    std::int64_t given = 0;
    for_each_view_of_block([&](auto& each, std::size_t v) {
      strided gradient = directory_.gradient(v);
      if (gradient.scalar >= 0 && may_stay_in_buffer && lies_in(gradient, each.sums[directory_[v].local])) {
        touched_.touch(directory_[v].number, weight);
        gradient = {};
      }
      given += gradient.scalar >= 0 ? 1 : 0;
      each.gradients[number].set(directory_[v].local, gradient);
    });
    given_[number] = given;
    memory_.held_as(set);
    return given > 0;
  }

  /// Adds the first `count` contributions that are held; `weigh_for(type of the buffer's scalar, number)` maps the
  /// elements of each. Where a norm is `wanted`, of the sums with these contributions in them, it is measured in the
  /// same pass.
  template <class Contribution, class WeighFor>
  void add(std::string const& label, Exec const& exec, int count, WeighFor const& weigh_for,
           norm_request const& wanted = {}) {
    first_touch const first = upload_held(exec, count);
    exit_gate const gate = wanted ? gate_of_launches<Contribution>(wanted) : exit_gate{};
    for_each_block([&]<class P, class B>(block<Exec, P, B, Sets>& each) {
      using found = gradient_scalars<P, set_type, Contribution>;
      using weigh_type = decltype(weigh_for(std::type_identity<B>{}, 0));
      bool takes_absent = true;
      found::for_each([&]<class G>(std::type_identity<G>) {
        [&]<int... J>(std::integer_sequence<int, J...>) {
          for_each_chunk(label, exec, each.list(),
                         add_chunk<G, B, weigh_type, Sets>{each.chunks.data(),
                                                           {each.gradients[J].data()...},
                                                           {weigh_for(std::type_identity<B>{}, J)...},
                                                           count,
                                                           each.sums.data(),
                                                           touched_.flags() + each.first_view,
                                                           touched_.keeps() + each.first_view,
                                                           first,
                                                           scalar_id<G>(),
                                                           each.exceeds_caches(),
                                                           std::exchange(takes_absent, false),
                                                           measuring_of(each, wanted),
                                                           gate});
        }
        (std::make_integer_sequence<int, Sets>{});
      });
      if (found::size == 0 && wanted) measure_block_of_sums(label, exec, each, wanted, gate);
    });
    touch_held(count);
  }

  /// Measures the first contribution that is held.
  template <class Contribution>
  void measure_held(std::string const& label, Exec const& exec, norm_request const& wanted) {
    upload_held(exec, 1);
    exit_gate const gate = gate_of_launches<Contribution>(wanted);
    for_each_block([&]<class P, class B>(block<Exec, P, B, Sets>& each) {
      using found = gradient_scalars<P, set_type, Contribution>;
      using read = std::conditional_t<found::size == 0, type_list<B>, found>;
      bool takes_absent = true;
      read::for_each([&]<class G>(std::type_identity<G>) {
        for_each_chunk(label, exec, each.list(),
                       measure_chunk<G>{each.chunks.data(), each.gradients[0].data(), nullptr, nullptr, scalar_id<G>(),
                                        std::exchange(takes_absent, false), measuring_of(each, wanted), gate});
      });
    });
  }

  /// Measures the raw sums of the touched views.
  void measure_sums(std::string const& label, Exec const& exec, norm_request const& wanted) {
    touched_.upload(exec);
    exit_gate const gate = gate_of_launches<void>(wanted);
    for_each_block([&](auto& each) { measure_block_of_sums(label, exec, each, wanted, gate); });
  }

  /// Runs the update pass with one rule per parameter group.
  template <class Rules, class Clip, class Decide>
  void apply(std::string const& label, Exec const& exec, Rules const& rules, Clip const& clip, Decide const& decide,
             std::int64_t* workers_gone) {
    touched_.upload(exec);
    exit_gate gate{workers_gone, 0};
    for_each_block([&](auto& each) { gate.expected += each.list().template workers<Exec>(); });
    for_each_block([&]<class P, class B>(block<Exec, P, B, Sets>& each) {
      for_each_chunk(
          label, exec, each.list(),
          apply_chunk<P, B, Rules, Clip, Decide>{
              each.chunks.data(), each.parameters.data(), each.sums.data(), each.placements.data(),
              touched_.flags() + each.first_view, touched_.keeps() + each.first_view,
              updates_of_view_.data() + each.first_view, each.state(), each.words_apart, rules, clip, decide, gate});
    });
  }

 private:
  template <class Visit>
  void for_each_block(Visit&& visit) {
    std::apply([&](auto&... each) { (visit(each), ...); }, blocks_);
  }

  template <class Item>
  void enter(Item const& item, std::size_t item_number, std::vector<std::vector<view_entry>>& entries) {
    std::size_t const b = index_of<scalar_of<Item>>();
    auto const group = static_cast<std::int32_t>(set_type::group_of(item_number));
    for_each_view(item, [&](auto const& view) {
      entries[b].push_back({directory_.enter(view, b, entries[b].size()).storage, group});
    });
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

  template <class Block>
  [[nodiscard]] measuring measuring_of(Block const& each, norm_request const& wanted) const {
    if (!wanted) return {};
    return {wanted.order,     wanted.thoroughly, partials_.data() + each.first_chunk,
            partials_.data(), chunks_,           wanted.total};
  }
  template <class P, class B>
  void measure_block_of_sums(std::string const& label, Exec const& exec, block<Exec, P, B, Sets>& each,
                             norm_request const& wanted, exit_gate const& gate) {
    for_each_chunk(
        label, exec, each.list(),
        measure_chunk<B>{each.chunks.data(), each.sums.data(), touched_.flags() + each.first_view,
                         touched_.keeps() + each.first_view, scalar_id<B>(), false, measuring_of(each, wanted), gate});
  }
  /// The workers of a pass that has one launch for each pair of scalars, and one for a block without gradients.
  template <class Contribution>
  [[nodiscard]] exit_gate gate_of_launches(norm_request const& wanted) {
    exit_gate gate{wanted.workers_gone, 0};
    for_each_block([&]<class P, class B>(block<Exec, P, B, Sets>& each) {
      constexpr std::size_t launches = gradient_scalars<P, set_type, Contribution>::size;
      gate.expected += each.list().template workers<Exec>() * static_cast<std::int64_t>(launches > 0 ? launches : 1);
    });
    return gate;
  }

  /// Calls `visit(block, number of the view)` for every view, block by block.
  template <class Visit>
  void for_each_view_of_block(Visit&& visit) {
    std::size_t b = 0;
    for_each_block([&](auto& each) {
      for (std::size_t v = 0; v < directory_.size(); ++v)
        if (directory_[v].block == b) visit(each, v);
      ++b;
    });
  }

  [[nodiscard]] static bool lies_in(strided const& gradient, strided const& sum) {
    return gradient.data == sum.data && gradient.scalar == sum.scalar && gradient.contiguous();
  }

  /// How many gradients there are, and how many of them lie in the buffer.
  struct placing {
    std::int64_t given = 0;
    std::int64_t in_buffer = 0;
  };

  /// A gradient in the memory of a sum, or of a contribution that waits for its pass, has overwritten it; but the first
  /// one of a group may lie in the buffer.
  placing refuse_what_is_in_use(int held) {
    placing where;
    for_each_view_of_block([&](auto& each, std::size_t v) {
      strided const& gradient = directory_.gradient(v);
      if (gradient.scalar < 0) return;
      ++where.given;
      std::size_t const local = directory_[v].local;
      bool const mine = lies_in(gradient, each.sums[local]);
      where.in_buffer += mine ? 1 : 0;
      bool used = mine && is_touched(v);
      for (int j = 0; j < held; ++j) used = used || gradient.data == each.gradients[std::size_t(j)][local].data;
      if (used && gradient.size > 0)
        throw error("accrue: the gradient of " + directory_.name(v) + " lies where one of this group is still needed",
                    "that one was overwritten", "ask for next_gradients() before each microbatch");
    });
    return where;
  }

  /// Sends the tables of what is held to the device, and says what is touched by it for the first time.
  first_touch upload_held(Exec const& exec, int count) {
    for_each_block([&](auto& each) {
      for (int j = 0; j < count; ++j) each.gradients[static_cast<std::size_t>(j)].upload(exec);
    });
    touched_.upload(exec);
    if (touched_.all()) return first_touch::none;
    std::size_t fresh = 0;
    std::size_t given = 0;
    for_each_view_of_block([&](auto& each, std::size_t v) {
      if (!is_held(each, v, count)) return;
      ++given;
      fresh += is_touched(v) ? 0 : 1;
    });
    if (fresh == 0) return first_touch::none;
    return fresh == given ? first_touch::all : first_touch::some;
  }
  template <class Block>
  [[nodiscard]] bool is_held(Block const& each, std::size_t v, int count) const {
    bool held = false;
    for (int j = 0; j < count; ++j)
      held = held || each.gradients[static_cast<std::size_t>(j)][directory_[v].local].scalar >= 0;
    return held;
  }

  void touch_held(int count) {
    if (touched_.settled()) return;
    for_each_view_of_block([&](auto& each, std::size_t v) {
      if (is_held(each, v, count)) touched_.touch(directory_[v].number, 1.0);
    });
  }

  set_type set_;
  view_directory directory_;
  blocks_of<Exec, Summation, scalars, Sets> blocks_;
  touch_table<Exec> touched_;
  device_array<std::int64_t, Exec> updates_of_view_;
  device_array<norm_partial, Exec> partials_;
  int state_words_;
  bool lends_;
  std::int64_t chunks_ = 0;
  recognition<Sets> memory_;
  std::array<std::int64_t, static_cast<std::size_t>(Sets)>
      given_{};  ///< gradients under each number that a pass will add
};

}  // namespace accrue
#endif
