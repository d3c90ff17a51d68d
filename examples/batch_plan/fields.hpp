// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_BATCH_PLAN_FIELDS_HPP
#define ACCRUE_EXAMPLES_BATCH_PLAN_FIELDS_HPP

#include <array>
#include <cstddef>
#include <string_view>

namespace batch_plan {

/// How the text of a field is read.
enum class kind {
  count,     ///< 8, 2048, 7B
  bytes,     ///< 80GiB, 1.5MB
  duration,  ///< 3s, 12.5ms; kept in nanoseconds
  percent,   ///< 10, 2.5; kept in millionths
  average,   ///< 781.25; kept in millionths
  word,      ///< one of `choices`; kept as its place among them
  lengths,   ///< tokens:samples,...
  peaks,     ///< microbatch:bytes,microbatch:bytes
  timings,   ///< microbatch:duration,microbatch:duration
  stages,    ///< count:value,...
};

/// A number that a user can give: an option of the command line, and a field of the page.
struct field {
  std::string_view name;
  std::string_view group;
  batch_plan::kind kind;
  std::string_view help;
  std::string_view example = {};
  std::string_view choices = {};  ///< of a word, separated by blanks
  bool may_be_zero = false;
};

/// The place of each in `fields`.
// clang-format off
enum class in : std::size_t {
  micro, accumulate, replicas, target, target_positions, target_tokens, length, tokens_per_sample,
  world, tensor, pipeline, context, expert,
  memory, peaks, parameters, parameter_bytes, gradient_bytes, copy_bytes, optimizer_words, summation, division, terms,
  activation, checkpoint, other, shard,
  timings, overhead,
  bandwidth, latency, compute, buffer,
  in_pass, passes, done,
  lengths,
  base_batch, nominal, new_replicas, band,
  ramp, ramp_of, ramp_by, ramp_from, ramp_to, ramp_stages,
};
// clang-format on

inline constexpr std::array fields{
    field{"micro", "Batch", kind::count, "m: samples of a microbatch", "8"},
    field{"accumulate", "Batch", kind::count, "A: microbatches of a group", "4"},
    field{"replicas", "Batch", kind::count, "D: data-parallel replicas", "64"},
    field{"target", "Batch", kind::count, "samples of an update; whichever of m, A and D is missing is solved for",
          "2048"},
    field{"target-positions", "Batch", kind::count, "positions of an update, instead of samples", "8388608"},
    field{"target-tokens", "Batch", kind::count, "supervised tokens of an update, on average, instead of samples",
          "500k"},
    field{"length", "Batch", kind::count, "positions of a sample, padding included; of a row, where lengths are packed",
          "4096"},
    field{"tokens-per-sample", "Batch", kind::average,
          "supervised tokens of a sample, an average that was measured; that of lengths if not given", "781.25"},

    field{"world", "Ranks", kind::count, "ranks of the run; D is worked out", "64"},
    field{"tensor", "Ranks", kind::count, "ranks that split tensors", "8"},
    field{"pipeline", "Ranks", kind::count, "ranks that split layers", "2"},
    field{"context", "Ranks", kind::count, "ranks that split sequences", "1"},
    field{"expert", "Ranks", kind::count, "ranks that share out experts; they do not divide D", "1"},

    field{"memory", "Memory", kind::bytes, "bytes that there are on a device", "80GiB"},
    field{"peaks", "Memory", kind::peaks, "two measured peaks, microbatch:bytes", "4:30GiB,8:42GiB"},
    field{"parameters", "Memory", kind::count, "parameters of the model, for an estimate without peaks", "1.3B"},
    field{"parameter-bytes", "Memory", kind::count, "bytes of a parameter; 4 if not given", "4", {}, true},
    field{"gradient-bytes",
          "Memory",
          kind::count,
          "bytes of its gradient; 4, or 0 where it is written to the buffer",
          "4",
          {},
          true},
    field{"copy-bytes",
          "Memory",
          kind::count,
          "bytes of a rounded copy beside master weights; 0 if there is none",
          "2",
          {},
          true},
    field{"optimizer-words",
          "Memory",
          kind::count,
          "numbers that the optimizer keeps for each; 2, as Adam",
          "2",
          {},
          true},
    field{"summation", "Memory", kind::word, "what sums are kept in", {}, "widened compensated order_independent"},
    field{"division", "Memory", kind::word, "when the sum of a group is divided", {}, "late early running"},
    field{"terms", "Memory", kind::count, "terms of the loss; 1", "1"},
    field{"activation", "Memory", kind::bytes, "activations of a sample, without checkpoints", "6GB", {}, true},
    field{"checkpoint", "Memory", kind::count, "of so many layers one keeps its activations; 1 keeps all", "8"},
    field{"other", "Memory", kind::bytes, "what the program takes beside", "2GB", {}, true},
    field{"shard",
          "Memory",
          kind::word,
          "what replicas share out (ZeRO 0 to 3)",
          {},
          "nothing optimizer_state gradients parameters"},

    field{"timings", "Time", kind::timings, "two timings, microbatch:duration", "4:30ms,8:50ms"},
    field{"overhead", "Time", kind::percent, "share of a microbatch's time that may be overhead; 10", "10"},

    field{"bandwidth", "Scaling", kind::bytes, "bytes that a replica sends in a second", "25GB"},
    field{"latency", "Scaling", kind::duration, "of a message", "10us", {}, true},
    field{"compute", "Scaling", kind::duration, "computing of a replica's group, where no timings say it", "200ms"},
    field{"buffer", "Scaling", kind::bytes, "bytes that are summed; 4 for each parameter if not given", "5.2GB"},

    field{"in-pass", "Run", kind::count, "microbatches of a replica in a pass over the data", "27484", {}, true},
    field{"passes", "Run", kind::count, "passes over the data; 1", "3", {}, true},
    field{"done", "Run", kind::count, "updates that are done: where the data goes on", "2748", {}, true},

    field{"lengths", "Lengths", kind::lengths, "a histogram of lengths, tokens:samples", "512:1000,2048:300,4096:90"},

    field{"base-batch", "Advice", kind::count, "the batch that a learning rate was right for", "256"},
    field{"nominal", "Advice", kind::count, "a nominal batch, as trainers for YOLO have one", "64"},
    field{"new-replicas", "Advice", kind::count, "another number of replicas, for the same batch", "48"},
    field{"band", "Advice", kind::percent, "how far from the batch that may be; 0", "5", {}, true},

    field{"ramp", "Ramp", kind::count, "A grows in a straight line, for so many updates or of what ramp-by counts",
          "1000"},
    field{"ramp-of", "Ramp", kind::word, "what grows: A, or the samples of an update", {}, "group batch"},
    field{"ramp-by", "Ramp", kind::word, "what a ramp counts, over all replicas", {}, "updates samples tokens"},
    field{"ramp-from", "Ramp", kind::count, "where it begins; at an A of 1 if not given", "1"},
    field{"ramp-to", "Ramp", kind::count, "where it ends; at the plan if not given", "32"},
    field{"ramp-stages", "Ramp", kind::stages, "a value from each count on, count:value, instead of a straight line",
          "0:1,1000:2,3000:4"},
};
static_assert(fields.size() == static_cast<std::size_t>(in::ramp_stages) + 1);

}  // namespace batch_plan
#endif
