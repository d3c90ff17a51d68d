// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The loss scale, decision for decision as the frameworks move theirs.
#include "support/reference_file.hpp"

#include <accrue/accrue.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using reference::json;

/// Megatron-Core's `DynamicGradScaler.update` (megatron/core/optimizer/grad_scaler.py), written after its rules.
struct megatron {
  float scale = 0x1p32f, smallest = 1.0f;
  int interval, hysteresis, clean = 0, left = hysteresis;

  void update(bool overflow) {
    if (overflow) {
      clean = 0;
      if (--left <= 0) scale = std::max(scale * 0.5f, smallest);
    } else if (++clean == interval) {
      clean = 0;
      left = hysteresis;
      scale *= 2.0f;
    }
  }
};

/// DeepSpeed's `DynamicLossScaler.update_scale` (deepspeed/runtime/fp16/loss_scaler.py), which counts iterations.
struct deepspeed {
  double scale = 0x1p16, smallest = 1.0;
  std::int64_t window, shift;
  bool consecutive;
  std::int64_t now = 0, last_overflow = -1, left = shift;
  bool raised = false;

  void update(bool overflow) {
    if (overflow) {
      if (shift == 1 || left == 1) {
        raised = scale == smallest;
        if (!raised) scale = std::max(scale / 2.0, smallest);
      } else {
        --left;
      }
      last_overflow = now;
    } else {
      if (consecutive) left = shift;
      if ((now - last_overflow) % window == 0) {
        if (!consecutive) left = shift;
        scale *= 2.0;
      }
    }
    ++now;
  }
};

/// Overflows as they come in training: rare, then in runs.
std::vector<bool> overflows(unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<bool> list;
  while (list.size() < 4000) {
    list.insert(list.end(), engine() % 30, false);
    list.insert(list.end(), 1 + engine() % 3, true);
  }
  return list;
}

}  // namespace

TEST_CASE("the scale of PyTorch 2.14.1 after every group, clean or not") {
  json const file = reference::read_beside(__FILE__, "pytorch-2.14.1.json");
  REQUIRE(file.at("loss_scale").size() >= 2);
  for (json const& each : file.at("loss_scale")) {
    json const& settings = each.at("settings");
    accrue::dynamic_scale policy = accrue::dynamic_scale::pytorch();
    policy.initial = settings.at("init_scale");
    policy.growth = settings.at("growth_factor");
    policy.backoff = settings.at("backoff_factor");
    policy.growth_interval = settings.at("growth_interval");
    Kokkos::View<float> const theta("theta"), gradient("gradient");
    accrue::accumulator group(accrue::parameters(theta), accrue::per_microbatch{}, policy, accrue::sgd{});
    for (json const& row : each.at("rows")) {
      Kokkos::deep_copy(gradient, row.at("bad") ? std::numeric_limits<float>::infinity() : 1.0f);
      group.accumulate(accrue::mean_gradient{gradient});
      REQUIRE((group.update() == accrue::outcome::applied) == row.at("applied").get<bool>());
      accrue::loss_scale_state const found = group.loss_scale().state();
      REQUIRE(static_cast<double>(found.scale) == row.at("scale_after").get<double>());
      REQUIRE(found.clean_groups == row.at("growth_tracker").get<std::int64_t>());
    }
  }
}

TEST_CASE("the scale of Megatron-Core: two overflows before it shrinks, tolerated anew only after growth") {
  auto const policy = accrue::dynamic_scale::megatron();
  CHECK(policy.initial == 0x1p32);
  CHECK(policy.growth_interval == 1000);
  // By hand from its rules: + clean, - overflow; interval 3, hysteresis 2.
  accrue::dynamic_scale trace = policy;
  trace.initial = 64.0;
  trace.growth_interval = 3;
  accrue::loss_scale_state state = trace.initial_state();
  std::vector<float> scales;
  for (char const what : std::string("-+-+-+++--")) scales.push_back((state = trace.after(state, what == '-')).scale);
  CHECK(scales == std::vector<float>{64, 64, 32, 32, 16, 16, 16, 32, 32, 16});

  for (int const hysteresis : {1, 2, 3}) {
    megatron theirs{.interval = 7, .hysteresis = hysteresis};
    accrue::dynamic_scale ours = policy;
    ours.growth_interval = 7;
    ours.hysteresis = hysteresis;
    accrue::loss_scale_state mine = ours.initial_state();
    for (bool const overflow : overflows(11)) {
      theirs.update(overflow);
      mine = ours.after(mine, overflow);
      REQUIRE(mine.scale == theirs.scale);
      REQUIRE(mine.clean_groups == theirs.clean);
      REQUIRE(mine.hysteresis_left == std::max(theirs.left, 1));
      if (theirs.scale > 0x1p120f) theirs.scale = mine.scale = 0x1p32f;  // theirs would become infinite
    }
  }
}

TEST_CASE("the scale of DeepSpeed, in both profiles of its hysteresis, to the error at the floor") {
  // By hand from its rules: window 3, shift 2. Consecutive: a clean group grants the tolerance anew.
  for (bool const consecutive : {false, true}) {
    auto policy = consecutive ? accrue::dynamic_scale::deepspeed_consecutive() : accrue::dynamic_scale::deepspeed();
    CHECK(policy.growth_interval == 1000);
    CHECK(policy.hysteresis == 2);
    policy.initial = 64.0;
    policy.growth_interval = 3;
    accrue::loss_scale_state state = policy.initial_state();
    std::vector<float> scales;
    for (char const what : std::string("-+-+--+++")) scales.push_back((state = policy.after(state, what == '-')).scale);
    CHECK(scales == (consecutive ? std::vector<float>{64, 64, 64, 64, 64, 32, 32, 32, 64}
                                 : std::vector<float>{64, 64, 32, 32, 16, 8, 8, 8, 16}));

    for (int const shift : {1, 2, 3}) {
      deepspeed theirs{.window = 7, .shift = shift, .consecutive = consecutive};
      policy.initial = 0x1p16;
      policy.growth_interval = 7;
      policy.hysteresis = shift;
      accrue::loss_scale_state mine = policy.initial_state();
      bool stopped = false;
      for (bool const overflow : overflows(5)) {
        theirs.update(overflow);
        mine = policy.after(mine, overflow);
        REQUIRE(static_cast<double>(mine.scale) == theirs.scale);
        REQUIRE((mine.stuck > 0) == theirs.raised);
        REQUIRE(mine.hysteresis_left == theirs.left);
        if (theirs.scale > 0x1p120) theirs.scale = mine.scale = 0x1p16f;  // theirs has no bound
        stopped = stopped || theirs.raised;
        if (theirs.raised) break;  // it exits there
      }
      if (shift == 1) CHECK(stopped);
    }
  }
}
