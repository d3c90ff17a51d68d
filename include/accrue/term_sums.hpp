// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TERM_SUMS_HPP
#define ACCRUE_TERM_SUMS_HPP

#include <accrue/accumulate/weigh.hpp>
#include <accrue/core/launch_once.hpp>
#include <accrue/group_sums.hpp>
#include <accrue/passes/add_sums.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace accrue {

/// Forms the loss of a group out of those of its terms that lie on the device.
template <std::size_t Terms>
struct combine_losses {
  double const* of_term[Terms];  ///< null where a term has none there
  double factor[Terms];
  double* sum;
  KOKKOS_FUNCTION void operator()(std::int64_t) const {
    *sum = 0.0;
    for (std::size_t t = 0; t < Terms; ++t)
      if (of_term[t] != nullptr) *sum += factor[t] * *of_term[t];
  }
};

/// The sums of an open group with named terms: those of the first term are the buffer, every further one has sums of
/// its own, unless the division weighs the terms as they arrive.
template <class Exec, class Recipe, class Set>
class term_sums : public group_sums<Exec, Recipe, Set> {
  using base = group_sums<Exec, Recipe, Set>;
  using clip_type = typename Recipe::clip_type;
  using tables = gradient_tables<Exec, Recipe::holding_type::sets>;

  static constexpr std::size_t count = Recipe::normalization_type::size;
  static constexpr bool apart = count > 1 && Recipe::division_type::keeps_sums;
  static constexpr std::size_t further = apart ? count - 1 : 0;
  static constexpr int together = static_cast<int>(std::clamp<std::size_t>(further, 1, 4));

 public:
  using model_type = typename base::model_type;

  term_sums(Exec const& exec, Set set, int state_words, shard const& /*terms are never sharded*/ = {})
      : base(exec, std::move(set), state_words, {}, static_cast<int>(further)) {
    for (std::size_t t = 0; t < count; ++t) losses_.emplace_back(exec);
    if constexpr (apart) {
      std::int64_t number = 0;
      for (tables& each : further_) {
        std::vector<strided> sums = laid_out_like_sums(this->model_, [number](auto const& block) {
          return block.arena.data() + (1 + block.state_words + number) * block.words_apart;
        });
        each = tables(exec, std::move(sums), {});
        ++number;
      }
      std::vector<strided> const none(this->model_.directory().size());
      for (summand<Exec>& each : summands_) each.views = {exec, "accrue::passes::summands", none};
    }
  }

  /// The losses of a term that lie on the device.
  [[nodiscard]] device_scalars<Exec> const& losses(std::size_t term) const { return losses_[term]; }

  [[nodiscard]] bool any_touched() const {
    bool any = base::any_touched();
    for (tables const& each : further_) any = any || each.touched().any();
    return any;
  }

  /// Of each view, in the order of the user: whether any term touched it.
  [[nodiscard]] std::vector<bool> touched_views(Exec const& exec) const {
    std::vector<bool> touched = base::touched_views(exec);
    for (std::size_t v = 0; v < touched.size(); ++v)
      for (tables const& each : further_)
        if (each.touched().is_touched(this->model_.directory()[v].number)) touched[v] = true;
    return touched;
  }

  template <std::size_t Term, class Contribution>
  void check(Exec const& exec, clip_type const& clip, Contribution const& gradient) {
    if (folded_)
      throw error("accrue::accumulator: the terms of this group are added up already",
                  "an update was begun, and broken off by an exception", "call update() again, or discard()");
    with_sums_of<Term>([&] { base::check(exec, clip, gradient); });
  }
  /// Takes in a contribution that was checked, perhaps before others.
  template <std::size_t Term, class Contribution>
  void take(Exec const& exec, clip_type const& clip, Contribution const& gradient, microbatch_weight const& by,
            bool last) {
    with_sums_of<Term>([&] {
      base::check(exec, clip, gradient);
      base::take(exec, clip, gradient, by, last && !apart);
    });
  }

  /// Makes the buffer the whole gradient: the sums of the terms, each times its factor, and measures it on the way.
  template <class Group>
  void fold(Exec const& exec, clip_type const& clip, std::array<double, count> const& factors, Group const& group) {
    if (std::exchange(folded_, true)) return;
    if (group.loss.on_device) add_losses(exec, factors, group);
    if constexpr (apart) {
      this->model_.shrink(factors[0]);
      tables first;
      bool any = false;
      {
        exchanged const aside(this->model_, first);
        std::vector<summand<Exec> const*> const others = find(exec, first, factors, 1);
        add(exec, first, others, base::norm_of_group(clip));
        any = !others.empty();
      }
      this->measured_ = any;
    }
  }

  /// Calls `look()` while the buffer is the whole gradient as it stands. Cost: allocates one, and leaves no trace.
  template <class Look>
  auto look_at_whole(Exec const& exec, std::array<double, count> const& factors, Look const& look) {
    if constexpr (apart) {
      if (folded_) return look();
    }
    if constexpr (!apart) {
      return look();
    } else {
      std::vector<device_array<unsigned char, Exec>> memory;
      tables whole(exec,
                   laid_out_like_sums(this->model_,
                                      [&]<class Block>(Block const& each) {
                                        auto const bytes = static_cast<std::size_t>(each.bytes_apart());
                                        memory.emplace_back(exec, "accrue::finalize::whole", bytes);
                                        return reinterpret_cast<typename Block::buffer_scalar*>(memory.back().data());
                                      }),
                   {});
      tables first;
      exchanged const aside(this->model_, first);
      add(exec, whole, find(exec, first, factors, 0), {});
      exchanged const there(this->model_, whole);
      return look();
    }
  }

  /// For a restart: whether an update was begun, and broken off by an exception.
  [[nodiscard]] bool folded() const { return folded_; }
  void note_folded(bool is) { folded_ = is; }

  /// Calls `visit(number)` once for each further term while the model works on its sums.
  template <class Visit>
  void for_each_further(Visit const& visit) {
    for (std::size_t t = 0; t < further; ++t) {
      exchanged const there(this->model_, further_[t]);
      visit(t + 1);
    }
  }

  /// Begins a group.
  void forget() {
    base::forget();
    folded_ = false;
    for (tables& each : further_) each.touched().forget();
  }

 private:
  /// The model works on other sums while this lives.
  struct exchanged {
    model_type& model;
    tables& with;
    exchanged(model_type& m, tables& t) : model(m), with(t) { model.exchange(with); }
    exchanged(exchanged const&) = delete;
    exchanged& operator=(exchanged const&) = delete;
    ~exchanged() { model.exchange(with); }
  };
  template <std::size_t Term, class Work>
  void with_sums_of(Work const& work) {
    if constexpr (apart && Term > 0) {
      exchanged const there(this->model_, further_[Term - 1]);
      work();
    } else {
      work();
    }
  }

  /// The sums of the terms from `begin` on that the group has touched; those of the first are in `first`.
  [[nodiscard]] std::vector<summand<Exec> const*> find(Exec const& exec, tables const& first,
                                                       std::array<double, count> const& factors, std::size_t begin) {
    std::vector<summand<Exec> const*> found;
    for (std::size_t t = begin; t < count; ++t) {
      tables const& sums = t == 0 ? first : further_[t - 1];
      if (!sums.touched().any()) continue;
      summands_[t].find(exec, sums, factors[t]);
      found.push_back(&summands_[t]);
    }
    return found;
  }
  void add(Exec const& exec, tables& to, std::vector<summand<Exec> const*> const& these, norm_request const& wanted) {
    add_summands<together>(
        "accrue::finalize::terms", exec, this->model_, to, these,
        []<class B>(std::type_identity<B>, double factor) { return weigh_plainly<B>{static_cast<real_t<B>>(factor)}; },
        wanted);
  }
  template <class Group>
  void add_losses(Exec const& exec, std::array<double, count> const& factors, Group const& group) {
    combine_losses<count> sum{{}, {}, &this->scalars().data()->loss};
    [&]<std::size_t... T>(std::index_sequence<T...>) {
      ((sum.of_term[T] = group.template term<T>().loss.on_device ? &losses_[T].data()->loss : nullptr), ...);
      ((sum.factor[T] = factors[T]), ...);
    }
    (std::make_index_sequence<count>{});
    launch_once("accrue::finalize::losses", exec, sum);
  }

  std::array<tables, further> further_;
  std::array<summand<Exec>, count> summands_;
  std::vector<device_scalars<Exec>> losses_;
  bool folded_ = false;  ///< the buffer is the whole gradient
};

}  // namespace accrue
#endif
