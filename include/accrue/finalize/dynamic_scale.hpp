// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_DYNAMIC_SCALE_HPP
#define ACCRUE_FINALIZE_DYNAMIC_SCALE_HPP

#include <accrue/core/error.hpp>
#include <accrue/finalize/loss_scale.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>

namespace accrue {

/// When the overflows that are tolerated before the scale shrinks are granted anew.
enum class hysteresis_refill : std::int32_t {
  on_growth,       ///< only when the scale grows: overflows far apart add up
  on_clean_group,  ///< by every group without one: only overflows in a row count
};

/// What an overflow means where the scale cannot shrink any more.
enum class overflow_at_floor : std::int32_t {
  stops,  ///< the call that closes the group throws, with the group closed and skipped
  stays,  ///< the group is skipped, and the scale stays where it is
};

[[nodiscard]] constexpr std::string_view name_of(hysteresis_refill r) noexcept {
  return r == hysteresis_refill::on_growth        ? "on_growth"
         : r == hysteresis_refill::on_clean_group ? "on_clean_group"
                                                  : "unknown";
}
[[nodiscard]] constexpr std::string_view name_of(overflow_at_floor f) noexcept {
  return f == overflow_at_floor::stops ? "stops" : f == overflow_at_floor::stays ? "stays" : "unknown";
}
inline std::ostream& operator<<(std::ostream& out, hysteresis_refill r) { return out << name_of(r); }
inline std::ostream& operator<<(std::ostream& out, overflow_at_floor f) { return out << name_of(f); }

/// Multiplies losses by a number that shrinks when a group overflows, and grows after a while without overflow.
///
/// Order: the scale is constant in a group; it changes when an update is attempted, once. An overflow is a group that
/// was skipped as non-finite, or that rejected a microbatch that was not finite. An empty group, a veto, a dropped
/// group change nothing. Guarantee: the scale stays between `floor` and `ceiling`: a growth beyond the ceiling is not
/// made. Cost: none; with `overflow_at_floor::stops`, the default, the host looks at each update: one fence a group on
/// devices. Source: PyTorch `torch.amp.GradScaler`, Megatron-Core `DynamicGradScaler`, DeepSpeed `DynamicLossScaler`,
/// which the presets follow decision for decision.
struct dynamic_scale {
  using fills = slot::loss_scale;
  static constexpr std::string_view name = "dynamic_scale";
  static constexpr bool scales = true;

  double initial = 65536.0;
  double growth = 2.0;
  double backoff = 0.5;
  std::int64_t growth_interval = 2000;  ///< groups in a row without overflow, after which the scale grows
  double floor = 1.0;
  double ceiling = 0x1p24;
  std::int64_t hysteresis = 1;  ///< the overflow of this number shrinks the scale, and every one after it
  hysteresis_refill refill = hysteresis_refill::on_growth;
  overflow_at_floor at_floor = overflow_at_floor::stops;

  /// PyTorch's defaults. It knows no floor: here the scale stops before 1/scale becomes infinite.
  [[nodiscard]] static dynamic_scale pytorch() {
    return {.floor = 0x1p-126, .ceiling = 0x1p127, .at_floor = overflow_at_floor::stays};
  }
  /// Megatron-Core's defaults: two overflows shrink the scale, and the tolerance comes back only with growth.
  [[nodiscard]] static dynamic_scale megatron() {
    return {.initial = 0x1p32,
            .growth_interval = 1000,
            .ceiling = 0x1p127,
            .hysteresis = 2,
            .at_floor = overflow_at_floor::stays};
  }
  /// DeepSpeed with its configuration's defaults: as Megatron's, from 2^16, and an overflow at the floor stops the run.
  [[nodiscard]] static dynamic_scale deepspeed() {
    return {.growth_interval = 1000, .ceiling = 0x1p127, .hysteresis = 2};
  }
  /// DeepSpeed with `consecutive_hysteresis`: only overflows in a row use the tolerance up.
  [[nodiscard]] static dynamic_scale deepspeed_consecutive() {
    dynamic_scale preset = deepspeed();
    preset.refill = hysteresis_refill::on_clean_group;
    return preset;
  }

  [[nodiscard]] loss_scale_state initial_state() const {
    return {.scale = static_cast<float>(initial), .hysteresis_left = hysteresis};
  }

  /// The state after a group. Products are formed in double and rounded to float, as PyTorch does.
  [[nodiscard]] KOKKOS_FUNCTION loss_scale_state after(loss_scale_state state, bool overflow) const {
    double const scale = static_cast<double>(state.scale);
    float const smaller = Kokkos::max(static_cast<float>(scale * backoff), static_cast<float>(floor));
    float const larger = static_cast<float>(scale * growth);
    if (overflow) {
      ++state.overflows;
      state.clean_groups = 0;
      if (state.hysteresis_left > 1) {
        --state.hysteresis_left;
      } else if (smaller < state.scale) {
        state.scale = smaller;
      } else {
        ++state.stuck;
      }
      return state;
    }
    state.stuck = 0;
    if (refill == hysteresis_refill::on_clean_group) state.hysteresis_left = hysteresis;
    if (++state.clean_groups < growth_interval) return state;
    state.clean_groups = 0;
    state.hysteresis_left = hysteresis;
    if (larger <= static_cast<float>(ceiling)) state.scale = larger;
    return state;
  }
  [[nodiscard]] bool stops_at_floor() const { return at_floor == overflow_at_floor::stops; }

  template <class Visit>
  void change_settings(Visit&& visit) {
    visit(initial, growth, backoff, growth_interval, floor, ceiling, hysteresis, refill, at_floor);
  }
  void validate() const {
    require(growth > 1.0 && growth <= largest, "growth is not a finite number above 1", "2 is usual");
    require(backoff > 0.0 && backoff < 1.0, "backoff is not between 0 and 1", "0.5 is usual");
    require(growth_interval >= 1, "growth_interval is less than 1 group", "2000 is usual");
    require(hysteresis >= 1, "hysteresis is less than 1 overflow", "1 shrinks the scale at every overflow");
    require(floor >= smallest && ceiling <= largest && floor <= ceiling,
            "floor and ceiling are not in order within the normal floats", "1 and 2^24 are usual");
    require(initial >= floor && initial <= ceiling, "the initial scale is not between floor and ceiling",
            "give one that is, or move them");
  }
  template <class Visit>
  void settings(Visit&& visit) const {
    visit("initial", initial);
    visit("growth", growth);
    visit("backoff", backoff);
    visit("growth_interval", growth_interval);
    visit("floor", floor);
    visit("ceiling", ceiling);
    visit("hysteresis", hysteresis);
    visit("refill", refill);
    visit("at_floor", at_floor);
  }
  friend bool operator==(dynamic_scale const&, dynamic_scale const&) = default;

 private:
  static constexpr double smallest = static_cast<double>(std::numeric_limits<float>::min());
  static constexpr double largest = static_cast<double>(std::numeric_limits<float>::max());
  static void require(bool holds, char const* what, char const* way_out) {
    if (!holds)
      throw error(std::string("accrue::dynamic_scale: ") + what, "losses are multiplied by the scale", way_out);
  }
};

static_assert(loss_scale_policy<dynamic_scale>);

}  // namespace accrue
#endif
