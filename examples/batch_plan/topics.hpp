// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_BATCH_PLAN_TOPICS_HPP
#define ACCRUE_EXAMPLES_BATCH_PLAN_TOPICS_HPP

#include <accrue/plan/plan.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "report_writer.hpp"

namespace batch_plan {

namespace plan = accrue::plan;
using accrue::microbatches;
using accrue::samples;
using accrue::tokens;
using accrue::updates;
using plan::replicas;

inline constexpr std::size_t most_rows = 64;
/// Of so many samples of a replica divisors are looked for.
inline constexpr std::int64_t most_searched = 1'000'000'000'000;

[[nodiscard]] inline double seconds(std::int64_t nanoseconds) { return static_cast<double>(nanoseconds) / 1e9; }

/// What is known before m, A and D are; a part is missing where its fields are.
struct setting {
  std::optional<replicas> across = {};
  std::optional<plan::memory_line> memory = {};
  std::optional<plan::microbatch_time> time = {};
};

/// What is known of the batch, once it is.
struct batch {
  samples micro;
  microbatches group;
  replicas across;
  samples all;
};

/// An average that was measured: so many supervised tokens in so many samples.
struct token_average {
  tokens all;
  samples count;

  [[nodiscard]] double in(samples some) const {
    return static_cast<double>(some.value()) * static_cast<double>(all.value()) / static_cast<double>(count.value());
  }
};

// Each is in the file of its topic; what has no fields says nothing.
std::optional<replicas> replicas_of_the_run(report_writer& out);                               // ranks.cpp
std::optional<plan::memory_line> memory_of_a_microbatch(report_writer& out, replicas across);  // memory.cpp
std::optional<plan::microbatch_time> time_of_a_microbatch(report_writer& out);                 // time.cpp
std::optional<token_average> measured_average(report_writer& out);                             // lengths.cpp
std::optional<batch> solve(report_writer& out, setting const& known);                          // solve.cpp

void say_batch(report_writer& out, batch const& of);                          // solve.cpp
void say_memory(report_writer& out, setting const& known, batch const& of);   // memory.cpp
void say_time(report_writer& out, setting const& known, batch const& of);     // time.cpp
void say_plans(report_writer& out, setting const& known, batch const& of);    // plans.cpp
void say_scaling(report_writer& out, setting const& known, batch const& of);  // scaling.cpp
void say_run(report_writer& out, batch const& of);                            // run.cpp
void say_lengths(report_writer& out, batch const& of);                        // lengths.cpp
void say_advice(report_writer& out, batch const& of);                         // advice.cpp
void say_ramp(report_writer& out, batch const& of);                           // ramp.cpp

[[nodiscard]] inline double samples_per_second(plan::microbatch_time const& time, samples micro, replicas across) {
  return time.samples_per_second(micro) * static_cast<double>(across.value());
}

}  // namespace batch_plan
#endif
