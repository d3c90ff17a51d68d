// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_RANDOMIZED_RECIPES_HPP
#define ACCRUE_TESTS_RANDOMIZED_RECIPES_HPP

#include "support/oracle.hpp"
#include "support/random_layout.hpp"

#include <accrue/accrue.hpp>

#include <cmath>
#include <cstdint>
#include <limits>

// Random settings for every policy, told to the oracle and to the library.

namespace randomized {

/// The values of a recipe: what the oracle is told, and the boundary.
struct values {
  oracle::settings of;
  std::int64_t microbatches = 1;
  std::int64_t tokens = 1;
};

template <class Policy>
struct choose {  // most policies have no settings
  static void draw(dice&, values&) {}
  static Policy make(values const&) { return {}; }
};
template <>
struct choose<accrue::per_token> {
  static void draw(dice&, values& v) { v.of.normalization = oracle::unit::token; }
  static accrue::per_token make(values const&) { return {}; }
};
template <>
struct choose<accrue::per_microbatch> {
  static void draw(dice&, values& v) { v.of.normalization = oracle::unit::microbatch; }
  static accrue::per_microbatch make(values const&) { return {}; }
};
template <>
struct choose<accrue::weighted> {
  static void draw(dice&, values& v) { v.of.normalization = oracle::unit::weight; }
  static accrue::weighted make(values const&) { return {}; }
};
template <>
struct choose<accrue::sum_objective> {
  static void draw(dice&, values& v) { v.of.sum_objective = true; }
  static accrue::sum_objective make(values const&) { return {}; }
};
template <>
struct choose<accrue::every> {
  static void draw(dice& roll, values& v) { v.microbatches = roll.between(1, 8); }
  static accrue::every make(values const& v) { return accrue::every{v.microbatches}; }
};
template <>
struct choose<accrue::at_least<accrue::tokens>> {
  static void draw(dice& roll, values& v) { v.tokens = roll.between(1, 4000); }
  static accrue::at_least<accrue::tokens> make(values const& v) { return accrue::at_least{accrue::tokens{v.tokens}}; }
};
template <>
struct choose<accrue::clip_by_global_norm> {
  static void draw(dice& roll, values& v) {
    v.of.clip = oracle::bound_on::norm;
    v.of.bound = std::exp2(roll.real(-3, 6));  // some groups are clipped, some are not
    v.of.order = roll.one_of<double>({1, 2, 3, std::numeric_limits<double>::infinity()});
    v.of.epsilon = roll.one_of<double>({0, 1e-6});
  }
  static accrue::clip_by_global_norm make(values const& v) {
    return {.max_norm = v.of.bound, .order = v.of.order, .epsilon = v.of.epsilon};
  }
};
template <>
struct choose<accrue::clip_by_value> {
  static void draw(dice& roll, values& v) {
    v.of.clip = oracle::bound_on::value;
    v.of.bound = roll.real(0.1, 3);
  }
  static accrue::clip_by_value make(values const& v) { return {.max_value = v.of.bound}; }
};
template <class Clip>
struct choose<accrue::on_microbatch<Clip>> {
  static void draw(dice& roll, values& v) {
    choose<Clip>::draw(roll, v);
    v.of.clip_microbatch = true;
  }
  static accrue::on_microbatch<Clip> make(values const& v) { return accrue::on_microbatch(choose<Clip>::make(v)); }
};
template <>
struct choose<accrue::sgd> {
  static void draw(dice& roll, values& v) {
    v.of.learning_rate = roll.real(0.01, 1);
    v.of.weight_decay = roll.one_of<double>({0, 0, 0.05});
  }
  static accrue::sgd make(values const& v) {
    return {.learning_rate = v.of.learning_rate, .weight_decay = v.of.weight_decay};
  }
};
template <>
struct choose<accrue::momentum> {
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

}  // namespace randomized

#endif
