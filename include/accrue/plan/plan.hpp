// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Includes everything of accrue::plan; no code.
#ifndef ACCRUE_PLAN_PLAN_HPP
#define ACCRUE_PLAN_PLAN_HPP

#include <accrue/plan/batch_target.hpp>
#include <accrue/plan/buffer_words.hpp>
#include <accrue/plan/effective_batch.hpp>
#include <accrue/plan/elastic.hpp>
#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/largest_divisor.hpp>
#include <accrue/plan/learning_rate.hpp>
#include <accrue/plan/memory_line.hpp>
#include <accrue/plan/microbatch_size_for.hpp>
#include <accrue/plan/microbatch_time.hpp>
#include <accrue/plan/microbatches_for.hpp>
#include <accrue/plan/missed_target.hpp>
#include <accrue/plan/model_memory.hpp>
#include <accrue/plan/nominal_batch.hpp>
#include <accrue/plan/packed_rows.hpp>
#include <accrue/plan/planned.hpp>
#include <accrue/plan/ramp.hpp>
#include <accrue/plan/refusal.hpp>
#include <accrue/plan/replica_scaling.hpp>
#include <accrue/plan/replicas_for.hpp>
#include <accrue/plan/replicas_of.hpp>
#include <accrue/plan/resume_after.hpp>
#include <accrue/plan/smaller_microbatch.hpp>
#include <accrue/plan/token_spread.hpp>
#include <accrue/plan/units.hpp>
#include <accrue/plan/updates_per_pass.hpp>

#endif
