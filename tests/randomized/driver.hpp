// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_RANDOMIZED_DRIVER_HPP
#define ACCRUE_TESTS_RANDOMIZED_DRIVER_HPP

#include "support/oracle.hpp"
#include "support/random_layout.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

// Drives one recipe through random groups and compares every group with the oracle.

namespace randomized {

/// Of all recipes together; the environment variable ACCRUE_TEST_SEED gives another one.
inline std::uint64_t seed() {
  char const* const given = std::getenv("ACCRUE_TEST_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20261130;
}

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

// ---- numbers -----------------------------------------------------------------------------------------------------

template <class T> T nearest(double re, double im) {
  if constexpr (accrue::is_complex_v<T>)
    return T(static_cast<accrue::real_t<T>>(re), static_cast<accrue::real_t<T>>(im));
  else
    return accrue::narrow<T>(re);
}
template <class T> oracle::number exact(T const& x) {
  if constexpr (accrue::is_complex_v<T>)
    return {x.real(), x.imag()};
  else
    return {accrue::widen(x), 0};
}
template <class T> T random_number(dice& roll, double largest) {
  double const re = roll.real(-largest, largest);
  return nearest<T>(re, roll.real(-largest, largest));
}
/// What is not finite, in the last part that a number has.
template <class T> T spoiled(double wrong) { return accrue::is_complex_v<T> ? nearest<T>(1, wrong) : nearest<T>(wrong, 0); }

template <class P, class B> constexpr oracle::precision precision_of() {
  constexpr bool half = std::is_same_v<P, accrue::float16>;
  constexpr bool brain = std::is_same_v<P, accrue::bfloat16>;
  constexpr oracle::real of_double = 0x1p-53L, of_float = 0x1p-24L;
  oracle::real const buffer = std::is_same_v<accrue::real_t<B>, double> ? of_double : of_float;
  if (half) return {buffer, 0x1p-11L, 0x1p-25L};
  if (brain) return {buffer, 0x1p-8L, 0x1p-134L};
  return {buffer, std::is_same_v<accrue::real_t<P>, double> ? of_double : of_float, 0x1p-149L};
}

// ---- tensors -----------------------------------------------------------------------------------------------------

/// A view's memory. In the gaps between its elements lies NaN, which nobody may read or overwrite.
template <class T> class tensor {
 public:
  explicit tensor(placement where)
      : where_(std::move(where)),
        offsets_(where_.offsets()),
        memory_("memory", where_.span()),
        host_(Kokkos::create_mirror_view(memory_)) {
    for (std::size_t i = 0; i < host_.size(); ++i) host_(i) = spoiled<T>(nan);
  }

  [[nodiscard]] std::size_t size() const { return offsets_.size(); }
  [[nodiscard]] placement const& where() const { return where_; }
  [[nodiscard]] T* data() const { return memory_.data(); }

  /// Fills the elements in the order of their indices with `draw(number)`, and gives what they are.
  template <class Draw> std::vector<oracle::number> fill(Draw const& draw) {
    std::vector<oracle::number> filled;
    filled.reserve(size());
    for (std::size_t const at : offsets_) filled.push_back(exact(host_(at) = draw(filled.size())));
    Kokkos::deep_copy(memory_, host_);
    return filled;
  }
  /// The elements in the order of their indices; `overwritten` is raised by the gaps that were written to.
  [[nodiscard]] std::vector<oracle::number> read(std::size_t& overwritten) const {
    Kokkos::deep_copy(host_, memory_);
    std::vector<oracle::number> elements;
    elements.reserve(size());
    for (std::size_t const at : offsets_) elements.push_back(exact(host_(at)));
    std::size_t finite = 0;
    for (std::size_t i = 0; i < host_.size(); ++i) finite += accrue::is_finite(host_(i)) ? 1 : 0;
    overwritten += finite - size();
    return elements;
  }

 private:
  placement where_;
  std::vector<std::size_t> offsets_;
  Kokkos::View<T*> memory_;
  decltype(Kokkos::create_mirror_view(std::declval<Kokkos::View<T*>>())) host_;
};

/// Small views, or the first of each item with more elements than a chunk, 16384.
enum class size { small, one_large };

enum class content { numbers, one_spoiled, all_spoiled };

/// A `std::vector` of views of parameters of scalar `P`, whose gradients have scalar `G` and layouts of their own.
template <class P, class G, std::size_t Rank, class ParameterLayout, class GradientLayout = Kokkos::LayoutStride>
class item {
 public:
  using scalar = P;
  using parameter_view = view_of_rank<P, Rank, ParameterLayout>;
  using gradient_view = view_of_rank<G const, Rank, GradientLayout>;

  void add_view(dice& roll, size what) {
    bool const large = what == size::one_large && parameters_.empty();
    auto const extents = large ? random_extents_of(roll, Rank, 18000) : random_extents(roll, Rank, 40);
    parameters_.emplace_back(random_placement<ParameterLayout>(roll, extents));
    gradients_.push_back({tensor<G>(random_placement<GradientLayout>(roll, extents)),
                          tensor<G>(random_placement<GradientLayout>(roll, extents))});
  }

  [[nodiscard]] std::vector<parameter_view> views() const {
    std::vector<parameter_view> all;
    for (auto const& p : parameters_) all.push_back(view_at<parameter_view>(p.data(), p.where()));
    return all;
  }
  void fill_parameters(dice& roll, std::vector<std::vector<oracle::number>>& values) {
    for (auto& p : parameters_) values.push_back(p.fill([&](std::size_t) { return random_number<P>(roll, 2); }));
  }
  void read_parameters(std::vector<std::vector<oracle::number>>& values, std::size_t& overwritten) const {
    for (auto const& p : parameters_) values.push_back(p.read(overwritten));
  }

  /// New gradients, in one of two layouts that differ from the parameter's, some of them absent.
  [[nodiscard]] std::vector<std::optional<gradient_view>> fill_gradients(dice& roll, content what,
                                                                         oracle::microbatch& m) {
    std::vector<std::optional<gradient_view>> views(gradients_.size());
    for (std::size_t v = 0; v < views.size(); ++v) {
      m.gradients.emplace_back();
      if (roll.percent(20)) continue;
      tensor<G>& chosen = gradients_[v][static_cast<std::size_t>(roll.between(0, 1))];
      double const largest = roll.one_of<double>({2, 2, 2, 0.02, 200});
      double const wrong = roll.one_of<double>({nan, infinity, -infinity});
      auto const one = static_cast<std::size_t>(roll.between(0, static_cast<std::int64_t>(chosen.size())));
      m.gradients.back() = chosen.fill([&](std::size_t i) {
        bool const spoil = what == content::all_spoiled || (what == content::one_spoiled && i == one);
        return spoil ? spoiled<G>(wrong) : random_number<G>(roll, largest);
      });
      views[v] = view_at<gradient_view>(static_cast<G const*>(chosen.data()), chosen.where());
    }
    return views;
  }

 private:
  std::vector<tensor<P>> parameters_;
  std::vector<std::array<tensor<G>, 2>> gradients_;
};

// ---- recipes -----------------------------------------------------------------------------------------------------

/// The values of a recipe: what the oracle is told, and the boundary.
struct values {
  oracle::settings of;
  std::int64_t microbatches = 1;
  std::int64_t tokens = 1;
};

template <class Policy> struct choose {  // most policies have no settings
  static void draw(dice&, values&) {}
  static Policy make(values const&) { return {}; }
};
template <> struct choose<accrue::per_token> {
  static void draw(dice&, values& v) { v.of.normalization = oracle::unit::token; }
  static accrue::per_token make(values const&) { return {}; }
};
template <> struct choose<accrue::per_microbatch> {
  static void draw(dice&, values& v) { v.of.normalization = oracle::unit::microbatch; }
  static accrue::per_microbatch make(values const&) { return {}; }
};
template <> struct choose<accrue::weighted> {
  static void draw(dice&, values& v) { v.of.normalization = oracle::unit::weight; }
  static accrue::weighted make(values const&) { return {}; }
};
template <> struct choose<accrue::sum_objective> {
  static void draw(dice&, values& v) { v.of.sum_objective = true; }
  static accrue::sum_objective make(values const&) { return {}; }
};
template <> struct choose<accrue::every> {
  static void draw(dice& roll, values& v) { v.microbatches = roll.between(1, 8); }
  static accrue::every make(values const& v) { return accrue::every{v.microbatches}; }
};
template <> struct choose<accrue::at_least<accrue::tokens>> {
  static void draw(dice& roll, values& v) { v.tokens = roll.between(1, 4000); }
  static accrue::at_least<accrue::tokens> make(values const& v) { return accrue::at_least{accrue::tokens{v.tokens}}; }
};
template <> struct choose<accrue::clip_by_global_norm> {
  static void draw(dice& roll, values& v) {
    v.of.clip = oracle::bound_on::norm;
    v.of.bound = std::exp2(roll.real(-3, 6));  // some groups are clipped, some are not
    v.of.order = roll.one_of<double>({1, 2, 3, infinity});
    v.of.epsilon = roll.one_of<double>({0, 1e-6});
  }
  static accrue::clip_by_global_norm make(values const& v) {
    return {.max_norm = v.of.bound, .order = v.of.order, .epsilon = v.of.epsilon};
  }
};
template <> struct choose<accrue::clip_by_value> {
  static void draw(dice& roll, values& v) {
    v.of.clip = oracle::bound_on::value;
    v.of.bound = roll.real(0.1, 3);
  }
  static accrue::clip_by_value make(values const& v) { return {.max_value = v.of.bound}; }
};
template <class Clip> struct choose<accrue::on_microbatch<Clip>> {
  static void draw(dice& roll, values& v) {
    choose<Clip>::draw(roll, v);
    v.of.clip_microbatch = true;
  }
  static accrue::on_microbatch<Clip> make(values const& v) { return accrue::on_microbatch(choose<Clip>::make(v)); }
};
template <> struct choose<accrue::sgd> {
  static void draw(dice& roll, values& v) {
    v.of.learning_rate = roll.real(0.01, 1);
    v.of.weight_decay = roll.one_of<double>({0, 0, 0.05});
  }
  static accrue::sgd make(values const& v) {
    return {.learning_rate = v.of.learning_rate, .weight_decay = v.of.weight_decay};
  }
};
template <> struct choose<accrue::momentum> {
  static void draw(dice& roll, values& v) {
    choose<accrue::sgd>::draw(roll, v);
    v.of.has_momentum = true;
    v.of.factor = roll.one_of<double>({0.5, 0.9});
    v.of.nesterov = roll.percent(30);
    v.of.dampening = v.of.nesterov ? 0 : roll.one_of<double>({0, 0, 0.25});
  }
  static accrue::momentum make(values const& v) {
    return {.learning_rate = v.of.learning_rate,
            .factor = v.of.factor,
            .dampening = v.of.dampening,
            .weight_decay = v.of.weight_decay,
            .nesterov = v.of.nesterov};
  }
};

// ---- one life of an accumulator ----------------------------------------------------------------------------------

struct counts {
  std::int64_t microbatches = 0, ignored = 0, samples = 0, tokens = 0, ignored_tokens = 0, positions = 0;

  counts& operator+=(counts const& more) {
    microbatches += more.microbatches, ignored += more.ignored, samples += more.samples;
    tokens += more.tokens, ignored_tokens += more.ignored_tokens, positions += more.positions;
    return *this;
  }
  friend bool operator==(counts const&, counts const&) = default;
};
inline counts counts_of(accrue::group_counts const& c) {
  return {c.microbatches.value(), c.ignored_microbatches.value(), c.samples.value(),
          c.tokens.value(),       c.ignored_tokens.value(),       c.positions.value()};
}

/// What the ledger should say.
struct book {
  counts processed, dropped;
  std::int64_t groups = 0, attempted = 0, applied = 0, skipped = 0, consecutive_skips = 0, empty = 0, dropped_groups = 0,
               carried = 0;
  friend bool operator==(book const&, book const&) = default;
};
inline book book_of(accrue::ledger const& l) {
  return {{l.microbatches().value(), l.ignored_microbatches().value(), l.samples().value(), l.tokens().value(),
           l.ignored_tokens().value(), l.positions().value()},
          counts_of(l.dropped()),
          l.groups(),
          l.attempted().value(),
          l.applied().value(),
          l.skipped().value(),
          l.consecutive_skips().value(),
          l.empty_groups(),
          l.dropped_groups(),
          l.times_carried()};
}

template <class Recipe, class... Items> class life;

/// An accumulator from construction on, the microbatches of its open group, and the ledger that it should have.
template <class... Policies, class... Items> class life<accrue::recipe<Policies...>, Items...> {
  using recipe = accrue::recipe<Policies...>;
  using last_group = typename recipe::last_group_type;
  using rule = typename recipe::update_type;
  using accumulator = decltype(accrue::accumulator(accrue::parameters(std::declval<Items const&>().views()...),
                                                   std::declval<Policies>()...));
  template <class P> using buffer_scalar = typename recipe::summation_type::template buffer_scalar<P>;

 public:
  life(dice& roll, size what) : roll_(roll), model_({}, {}) {
    (choose<Policies>::draw(roll_, values_), ...);
    std::apply([&](auto&... each) { (add_views(each, what), ...); }, items_);
    std::vector<std::vector<oracle::number>> start;
    std::apply([&](auto&... each) { (each.fill_parameters(roll_, start), ...); }, items_);
    model_ = oracle::model(precisions_, start);
    std::apply(
        [&](auto const&... each) {
          group_.emplace(accrue::parameters(each.views()...), choose<Policies>::make(values_)...);
        },
        items_);
  }

  /// One call on the accumulator, whatever comes next.
  void act() {
    bool const is_full = full();
    CHECK(group_->full() == is_full);
    CHECK(group_->held().value() == static_cast<std::int64_t>(held_.size()));
    std::int64_t const die = roll_.between(0, 99);
    if (is_full ? die < 90 : die < 3) {
      if (roll_.percent(20)) change_rule();
      auto const done = group_->update();
      CHECK(done == (held_.empty() ? accrue::outcome::empty : close(1)));
    } else if (is_full || die < 8) {
      auto const done = group_->end_of_data();
      CHECK(done == end(is_full));
    } else if (die < 10) {
      group_->discard();
      if (!held_.empty()) drop(accrue::outcome::discarded);
    } else {
      accumulate();
    }
    compare();
  }
  [[nodiscard]] book const& expected() const { return book_; }

 private:
  template <class Item> void add_views(Item& item, size what) {
    std::int64_t const least = precisions_.empty() || what == size::one_large ? 1 : 0;
    for (std::int64_t n = roll_.between(least, 3); n > 0; --n) {
      item.add_view(roll_, what);
      precisions_.push_back(precision_of<typename Item::scalar, buffer_scalar<typename Item::scalar>>());
    }
  }
  [[nodiscard]] bool full() const {
    constexpr bool by_tokens = std::is_same_v<typename recipe::boundary_type, accrue::at_least<accrue::tokens>>;
    return by_tokens ? held_counts_.tokens >= values_.tokens : held_counts_.microbatches >= values_.microbatches;
  }
  void change_rule() {
    choose<rule>::draw(roll_, values_);
    group_->change_rule(choose<rule>::make(values_));
  }

  // ---- a microbatch ----

  void accumulate() {
    if (held_.empty()) {
      all_ignored_ = roll_.percent(4);
      may_spoil_ = roll_.percent(4);
    }
    bool const counted = !all_ignored_ && roll_.percent(90);
    bool const by_weight = values_.of.normalization == oracle::unit::weight;
    oracle::microbatch m;
    m.is_mean = roll_.percent(50);
    m.samples = counted || by_weight ? roll_.between(1, 64) : 0;
    m.tokens = counted || by_weight ? roll_.between(1, 2000) : 0;
    m.weight = counted ? roll_.real(0.01, 4) : 0.0;
    bool const ignored = m.ignored(values_.of);
    if (m.is_mean || roll_.percent(90)) m.loss = oracle::loss{ignored ? nan : roll_.real(-3, 3), m.is_mean};

    bool const spoils = may_spoil_ && roll_.percent(40);
    content const what = ignored ? content::all_spoiled : spoils ? content::one_spoiled : content::numbers;
    auto const gradients =
        std::apply([&](auto&... each) { return std::tuple{each.fill_gradients(roll_, what, m)...}; }, items_);
    counts const more{1, ignored ? 1 : 0, m.samples, m.tokens, roll_.between(0, 50), roll_.between(0, 3000)};
    std::apply([&](auto const&... views) { hand_over(m, more, views...); }, gradients);

    held_.push_back(std::move(m));
    held_counts_ += more;
    book_.processed += more;
    if (roll_.percent(5)) measure();
  }

  template <class... Views> void hand_over(oracle::microbatch& m, counts const& more, Views const&... views) {
    auto const accumulate = [&](auto const& contribution, auto const&... loss) {
      group_->accumulate(contribution, accrue::samples{more.samples}, accrue::tokens{more.tokens},
                         accrue::ignored_tokens{more.ignored_tokens}, accrue::positions{more.positions},
                         accrue::weight{m.weight}, loss...);
    };
    if (!m.loss) {
      accumulate(accrue::sum_gradient{views...});
    } else if (!m.is_mean) {
      accumulate(accrue::sum_gradient{views...}, accrue::sum_loss{m.loss->value});
    } else if (roll_.percent(97)) {
      accumulate(accrue::mean_gradient{views...}, accrue::mean_loss{m.loss->value});
    } else {
      m.gradients.assign(precisions_.size(), std::nullopt);
      accumulate(accrue::mean_gradient{}, accrue::mean_loss{m.loss->value});
    }
  }

  void measure() {
    oracle::finalized const expected = oracle::finalize(values_.of, precisions_, held_);
    if (expected.empty) return;
    accrue::gradient_summary const found = group_->measure();
    CHECK(found.finite == expected.finite);
    if (expected.finite) CHECK(std::abs(found.norm - expected.norm) <= expected.norm_error);
  }

  // ---- the end of a group: what the outcome should be ----

  accrue::outcome end(bool is_full) {
    if (held_.empty()) return accrue::outcome::empty;
    if (is_full || std::is_same_v<last_group, accrue::keep_last>) return close(1);
    if (std::is_same_v<last_group, accrue::drop_last>) return drop(accrue::outcome::dropped_last);
    if (std::is_same_v<last_group, accrue::pad_last>)
      return close(static_cast<oracle::real>(values_.microbatches) / static_cast<oracle::real>(held_.size()));
    ++book_.carried;
    return accrue::outcome::carried;
  }

  accrue::outcome close(oracle::real padded) {
    group_gradient_ = oracle::finalize(values_.of, precisions_, held_, padded);
    oracle::finalized const& g = *group_gradient_;
    accrue::outcome const result = g.empty      ? accrue::outcome::empty
                                   : g.finite ? accrue::outcome::applied
                                                : accrue::outcome::skipped_non_finite;
    bool const applied = result == accrue::outcome::applied;
    if (applied) model_.update(values_.of, g);
    book_.empty += g.empty ? 1 : 0;
    book_.attempted += g.empty ? 0 : 1;
    book_.applied += applied ? 1 : 0;
    book_.skipped += g.empty || applied ? 0 : 1;
    if (!g.empty) book_.consecutive_skips = applied ? 0 : book_.consecutive_skips + 1;
    return open_next(result);
  }
  accrue::outcome drop(accrue::outcome result) {
    ++book_.dropped_groups;
    book_.dropped += held_counts_;
    return open_next(result);
  }
  accrue::outcome open_next(accrue::outcome result) {
    ++book_.groups;
    closed_counts_ = std::exchange(held_counts_, {});
    closed_as_ = result;
    held_.clear();
    return result;
  }

  // ---- what the library holds ----

  void compare() {
    accrue::ledger const& ledger = group_->ledger();
    CHECK(book_of(ledger) == book_);
    if (!closed_as_) return;
    accrue::record const record = ledger.records().back();
    CHECK(record.number == book_.groups);
    CHECK(record.result == *closed_as_);
    CHECK(counts_of(record.counts) == closed_counts_);
    if (group_gradient_ && !group_gradient_->empty) compare_record(record, *group_gradient_);
    compare_parameters();
    closed_as_.reset();
    group_gradient_.reset();
  }

  void compare_record(accrue::record const& record, oracle::finalized const& g) {
    bool const whole_numbers = values_.of.normalization != oracle::unit::weight;
    oracle::real const added =
        whole_numbers ? 0 : static_cast<oracle::real>(closed_counts_.microbatches) * oracle::double_roundoff * g.weight;
    CHECK(std::abs(record.weight - g.weight) <= added);
    if (g.finite) {
      CHECK(std::abs(record.norm - g.norm) <= g.norm_error);
      CHECK(std::abs(record.clip_factor - g.clip_factor) <= g.clip_factor_error);
    }
    CHECK(record.loss.has_value() == g.loss.has_value());
    if (record.loss && g.loss) CHECK(std::abs(*record.loss - *g.loss) <= g.loss_error);
  }

  void compare_parameters() {
    std::vector<std::vector<oracle::number>> found;
    std::size_t overwritten = 0;
    std::apply([&](auto const&... each) { (each.read_parameters(found, overwritten), ...); }, items_);
    CHECK(overwritten == 0);
    std::size_t wrong = 0;
    for (std::size_t v = 0; v < found.size(); ++v) {
      for (std::size_t i = 0; i < found[v].size(); ++i) {
        oracle::estimate const& expected = model_.parameters(v)[i];
        oracle::number const off = found[v][i] - expected.value;
        // Each part on its own; not <=, so that NaN is wrong.
        if (!(std::abs(off.real()) <= expected.error && std::abs(off.imag()) <= expected.error)) ++wrong;
      }
      model_.settle(v, found[v]);
    }
    CHECK(wrong == 0);
  }

  dice& roll_;
  values values_;
  std::tuple<Items...> items_;
  std::vector<oracle::precision> precisions_;
  oracle::model model_;
  std::optional<accumulator> group_;

  std::vector<oracle::microbatch> held_;
  counts held_counts_;
  bool all_ignored_ = false;
  bool may_spoil_ = false;

  std::optional<accrue::outcome> closed_as_;  // since the last comparison
  counts closed_counts_;
  std::optional<oracle::finalized> group_gradient_;

  book book_;
};

/// Closes so many groups, each accumulator about twenty of them, the first one a few large ones.
template <class Recipe, class... Items> void compare(std::string const& name, std::uint64_t stream, std::int64_t groups) {
  MESSAGE(groups << " groups of " << name << ", seed " << seed());
  dice roll(seed() + stream);
  std::int64_t closed = 0, applied = 0, skipped = 0, empty = 0;
  while (closed < groups) {
    bool const large = closed == 0;
    life<Recipe, Items...> one(roll, large ? size::one_large : size::small);
    std::int64_t const wanted = std::min<std::int64_t>(groups - closed, large ? 5 : roll.between(5, 35));
    while (one.expected().groups < wanted) {
      INFO(name << ", group " << closed + one.expected().groups + 1 << ", seed " << seed());
      one.act();
    }
    closed += one.expected().groups;
    applied += one.expected().applied;
    skipped += one.expected().skipped;
    empty += one.expected().empty;
  }
  CHECK(applied > groups / 2);
  CHECK(skipped > groups / 100);
  CHECK(empty > groups / 100);
}

}  // namespace randomized

#endif
