// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_DIAGNOSTICS_HPP
#define ACCRUE_CORE_DIAGNOSTICS_HPP

// The wording of every compile error: the entity, what is wrong, the way out. Literals, because that is what a
// static_assert takes in C++20.

#define ACCRUE_SAY_NOT_PARAMETERS \
  "accrue::accumulator: the first argument is not a set of parameters: wrap the views in accrue::parameters(...)"
#define ACCRUE_SAY_NOT_A_POLICY                                                                                        \
  "accrue::accumulator: an argument is not a policy: policies are values such as accrue::per_token{}, and name their " \
  "slot in a member type fills"
#define ACCRUE_SAY_BARE_VIEW                                                                                          \
  "accrue::accumulator: a view stands where policies do: wrap all views in one accrue::parameters(...), and let the " \
  "policies follow"
#define ACCRUE_SAY_NO_NORMALIZATION                                                                  \
  "accrue::accumulator: name exactly one normalization: accrue::per_sample{}, accrue::per_token{}, " \
  "accrue::per_microbatch{} or accrue::weighted{}"
#define ACCRUE_SAY_TWO_NORMALIZATIONS                                                                 \
  "accrue::accumulator: two policies fill the slot normalization: keep one of accrue::per_sample{}, " \
  "accrue::per_token{}, accrue::per_microbatch{}, accrue::weighted{}"
#define ACCRUE_SAY_TWO_OBJECTIVES                                                                \
  "accrue::accumulator: two policies fill the slot objective: keep accrue::mean_objective{} or " \
  "accrue::sum_objective{}"
#define ACCRUE_SAY_TWO_BOUNDARIES \
  "accrue::accumulator: two policies fill the slot boundary: keep one, for example accrue::every{16}"
#define ACCRUE_SAY_TWO_LAST_GROUPS                                                                             \
  "accrue::accumulator: two policies fill the slot last group: keep one of accrue::keep_last{}, drop_last{}, " \
  "carry_last{}, pad_last{}, refuse_last{}"
#define ACCRUE_SAY_TWO_CLIPS                                                                                           \
  "accrue::accumulator: two policies fill the slot clip: keep one, for example accrue::clip_by_global_norm{.max_norm " \
  "= 1.0}"
#define ACCRUE_SAY_TWO_SUMMATIONS \
  "accrue::accumulator: two policies fill the slot summation: keep one, for example accrue::widened<double>{}"
#define ACCRUE_SAY_TWO_DIVISIONS \
  "accrue::accumulator: two policies fill the slot division: keep one, for example accrue::late{}"
#define ACCRUE_SAY_TWO_LOSS_SCALES \
  "accrue::accumulator: two policies fill the slot loss scale: keep one, for example accrue::unscaled{}"
#define ACCRUE_SAY_TWO_NON_FINITES \
  "accrue::accumulator: two policies fill the slot non-finite: keep one, for example accrue::skip_group{}"
#define ACCRUE_SAY_TWO_VETOES "accrue::accumulator: two policies fill the slot veto: keep one predicate"
#define ACCRUE_SAY_TWO_REPLICAS \
  "accrue::accumulator: two policies fill the slot replicas: keep one, for example accrue::one_replica{}"
#define ACCRUE_SAY_TWO_UPDATES                                                                                   \
  "accrue::accumulator: two policies fill the slot update: keep one rule, or give one per parameter group with " \
  "accrue::per_group{...}"
#define ACCRUE_SAY_BAD_REPLICAS                                                                                  \
  "accrue::accumulator: the replicas policy does not satisfy accrue::replicas_policy: it needs arrival, alone, " \
  "members(), member(), gather(mine, bytes, all), sum(exec, first, count), largest(exec, first, count)"
#define ACCRUE_SAY_REDUCED_AND_LOOKED_AT                                                                        \
  "accrue::accumulator: gradients that arrive summed or averaged over the replicas are no microbatch's and no " \
  "replica's own: clip on the group, without on_microbatch, on_replica and reject_microbatch"
#define ACCRUE_SAY_REDUCED_MEAN                                                                                 \
  "accrue::accumulate: gradients that arrive summed or averaged over the replicas are sums: hand them over as " \
  "accrue::sum_gradient{...}, with this replica's own counts"
#define ACCRUE_SAY_ON_REPLICA                                                                                        \
  "accrue::accumulator: on_replica clips by norm before a sum over replicas: give a replicas policy, without named " \
  "terms, reject_microbatch, compensated and order_independent; without replicas clip the group itself"
#define ACCRUE_SAY_REDUCED_AND_RUNNING                                                                              \
  "accrue::accumulator: running divides by what this replica counted, and gradients that arrive reduced are those " \
  "of all: take accrue::late or accrue::early"
#define ACCRUE_SAY_PARTNERS_LOOK                                                                                    \
  "accrue::accumulator: with accrue::model_parallel nobody sees a whole microbatch or replica: clip on the group, " \
  "without on_microbatch, on_replica and reject_microbatch"
#define ACCRUE_SAY_SHARED_OVER_REPLICAS                                                                         \
  "accrue::accumulator: replicas move their loss scales alike, and each has its own: give the scaling itself, " \
  "without accrue::shared_scale"
#define ACCRUE_SAY_OVERLAPPED                                                                                       \
  "accrue::accumulator: accrue::overlapped sends plain sums while the last microbatch is added: leave it out with " \
  "gradients that arrive reduced, named terms, running, compensated, order_independent, on_microbatch, on_replica " \
  "and reject_microbatch"
#define ACCRUE_SAY_SHARDED                                                                                            \
  "accrue::accumulator: accrue::sharded sums each microbatch over the replicas at once: leave it out with gradients " \
  "that arrive reduced, named terms, running, compensated, order_independent, gather, on_microbatch, on_replica and " \
  "reject_microbatch"
#define ACCRUE_SAY_OVERLAPPED_OVER                                                                                  \
  "accrue::overlapped: stands on a transport between processes: accrue::overlapped{accrue::mpi_replicas<>()}, not " \
  "on accrue::model_parallel, accrue::sharded or accrue::in_process_replicas"
#define ACCRUE_SAY_PARTNERS_OVER                                                                      \
  "accrue::model_parallel: partners share norms of whole sums: give it two plain transports such as " \
  "accrue::mpi_replicas<>, without accrue::overlapped and accrue::sharded"
#define ACCRUE_SAY_SHARDED_WHOLE                                                                                    \
  "accrue::accumulator: no replica of accrue::sharded has the whole sum: hand over whole gradients with "           \
  "accumulate(), "                                                                                                  \
  "take rules without a part on the host, look at norms in the ledger instead of measure() and snapshot(), and do " \
  "without start_again() and accrue::fitting_microbatches"
#define ACCRUE_SAY_NOT_EXCHANGED                                                                                 \
  "accrue::accumulator: this summation does not say how its sums go to other replicas: take accrue::widened<>, " \
  "accrue::order_independent, or accrue::compensated on floats"
#define ACCRUE_SAY_IN_PROCESS                                                                      \
  "accrue::accumulator: replicas of one process close together: accrue::update_replicas(a, b) or " \
  "accrue::end_of_data_of_replicas(a, b)"
#define ACCRUE_SAY_NOT_REPLICAS                                                                                    \
  "accrue::update_replicas: takes accumulators of one type that have an update policy and a replicas policy such " \
  "as accrue::in_process_replicas<>"
#define ACCRUE_SAY_BAD_LOSS_SCALE                                                                            \
  "accrue::accumulator: the loss scale policy does not satisfy accrue::loss_scale_policy: it needs scales, " \
  "initial_state(), after(state, overflow) and stops_at_floor()"
#define ACCRUE_SAY_BAD_NON_FINITE                                                                             \
  "accrue::accumulator: the non-finite policy does not satisfy accrue::non_finite_policy: it needs rejects, " \
  "raises, largest_norm() and most_skips_in_a_row()"
#define ACCRUE_SAY_BAD_VETO                                                                                      \
  "accrue::accumulator: the veto does not satisfy accrue::veto_policy: it needs on_device, on_host, and a call " \
  "with accrue::group_finding that gives bool"
#define ACCRUE_SAY_NO_LOSS_SCALE                                                                           \
  "accrue::accumulator: losses are not scaled in this recipe: give a policy for the slot loss scale, for " \
  "example accrue::dynamic_scale{}"
#define ACCRUE_SAY_OTHER_LOSS_SCALE                                                                            \
  "accrue::accumulator: change_loss_scale() takes the type that the recipe was given, which is not shared: a " \
  "shared scale is restored through its cell()"
#define ACCRUE_SAY_SCALE_ELSEWHERE                                                                               \
  "accrue::shared_scale: the scale lies in the memory of another execution space than the accumulator runs on: " \
  "construct it with an instance of the accumulator's"
#define ACCRUE_SAY_NOT_TOGETHER                                                                               \
  "accrue::update_together: accumulators that close together run on one type of execution space and have an " \
  "update policy; at most 8 of them"
#define ACCRUE_SAY_BAD_NORMALIZATION                                                                              \
  "accrue::accumulator: the normalization policy does not satisfy accrue::normalization_policy: it needs a type " \
  "needs and count(microbatch_facts)"
#define ACCRUE_SAY_BAD_OBJECTIVE                                                                                   \
  "accrue::accumulator: the objective policy does not satisfy accrue::objective_policy: it needs own_is_mean and " \
  "divisor(weight)"
#define ACCRUE_SAY_BAD_BOUNDARY \
  "accrue::accumulator: the boundary policy does not satisfy accrue::boundary_policy: it needs full(group_counts)"
#define ACCRUE_SAY_BAD_LAST_GROUP \
  "accrue::accumulator: the last-group policy does not satisfy accrue::last_group_policy: it needs action"
#define ACCRUE_SAY_BAD_CLIP                                                                                     \
  "accrue::accumulator: the clip policy does not satisfy accrue::clip_policy: it needs by_norm, norm_order(), " \
  "factor(norm) and bounded(value)"
#define ACCRUE_SAY_BAD_SUMMATION                                                                   \
  "accrue::accumulator: the summation policy does not satisfy accrue::summation_policy: it needs " \
  "buffer_scalar<Parameter>, float or double, not narrower than the parameter, complex if and only if it is"
#define ACCRUE_SAY_BAD_TERMS                                                                                     \
  "accrue::terms: every argument is accrue::term<tag>(normalization, coefficient), with a tag of its own and a " \
  "policy "                                                                                                      \
  "such as accrue::per_token{}; there are at most 8"
#define ACCRUE_SAY_TERMS_ADDED_WHOLE                                                                          \
  "accrue::accumulator: named terms are added as they arrive, and clipped as one: leave out accrue::gather, " \
  "accrue::on_microbatch and accrue::reject_microbatch"
#define ACCRUE_SAY_TERMS_AND_RUNNING                                                                                   \
  "accrue::accumulator: named terms are divided at the end, or with weights that are announced: keep accrue::late{}, " \
  "or accrue::early{...} with one weight for each term"
#define ACCRUE_SAY_TERMS_AND_CARRIED                                                                                  \
  "accrue::accumulator: with late division every named term has plain sums of its own: sum with accrue::widened, or " \
  "announce the weights with accrue::early{...}, which needs one buffer for all"
#define ACCRUE_SAY_TERM_MISSING                                                                   \
  "accrue: the recipe has named terms, and a gradient does not say which one is its: wrap it in " \
  "accrue::of<tag>(...), "                                                                        \
  "accrue::of<tag>(accrue::mean_gradient{...})"
#define ACCRUE_SAY_UNKNOWN_TERM \
  "accrue: accrue::of<tag> names a term that the recipe does not have: name its tag in accrue::terms(...)"
#define ACCRUE_SAY_TERM_TWICE \
  "accrue: accumulate() was given the same term twice: add its gradients up, or make two calls"
#define ACCRUE_SAY_LOSS_OF_NO_TERM \
  "accrue: a loss is that of a term: write it inside, accrue::of<tag>(gradient, accrue::mean_loss{...})"
#define ACCRUE_SAY_NO_TERMS                                                                                          \
  "accrue: accrue::of<tag> is for recipes with named terms: hand over the gradient itself, or give the accumulator " \
  "accrue::terms(...)"
#define ACCRUE_SAY_BAD_DIVISION                                                                                 \
  "accrue::accumulator: the division policy does not satisfy accrue::division_policy: it needs keeps_sums and " \
  "divided_by(weight)"
#define ACCRUE_SAY_DIVISION_NEEDS_MEAN                                                                       \
  "accrue::accumulator: accrue::early and accrue::running divide by the weight of the group, which the sum " \
  "objective does not: keep accrue::late{}, or accrue::mean_objective{}"
#define ACCRUE_SAY_EARLY_OF_OTHER_COUNT                                                                                \
  "accrue::early: announce the count that the normalization divides by: accrue::tokens{n} for per_token, samples for " \
  "per_sample, microbatches for per_microbatch, weight for weighted; with named terms one for each, in their order"
#define ACCRUE_SAY_DIVIDED_AND_REJECTED                                                                              \
  "accrue::accumulator: accrue::early and accrue::running divide by a weight that a rejected microbatch would take " \
  "with it: keep accrue::late{} beside accrue::reject_microbatch"
#define ACCRUE_SAY_RUNNING_IN_ANY_ORDER                                                                             \
  "accrue::accumulator: a running division rounds the sums at every microbatch, so that their order matters: keep " \
  "accrue::late{} or accrue::early{...} beside accrue::compensated and accrue::order_independent"
#define ACCRUE_SAY_OTHER_DIVISION                                                                                    \
  "accrue::accumulator: change_division() takes another value of the division policy given at construction, of the " \
  "same type: give accrue::early{...} there"
#define ACCRUE_SAY_BAD_UPDATE                                                                                  \
  "accrue::accumulator: the update policy does not satisfy accrue::update_policy: it needs state_words() and " \
  "for_update<T>(n)"
#define ACCRUE_SAY_BARE_SCHEDULE \
  "accrue::accumulator: a schedule goes with the rule that it changes: accrue::scheduled(rule, schedule)"
#define ACCRUE_SAY_RULE_WITHOUT_RATE                                                                             \
  "accrue::scheduled: the rule has no member learning_rate that a factor could multiply: give a rule that has, " \
  "such as accrue::sgd{}, or change yours with change_rule()"
#define ACCRUE_SAY_NOT_A_SCHEDULE                                                                     \
  "accrue::scheduled: the second argument is no schedule: give one of accrue::schedule, for example " \
  "accrue::schedule::cosine(accrue::updates{1000})"
#define ACCRUE_SAY_SCHEDULE_UNIT \
  "accrue::schedule: a schedule goes by accrue::updates, accrue::samples or accrue::tokens"
#define ACCRUE_SAY_SCHEDULES_OF_TWO_UNITS \
  "accrue::schedule::sequence: its parts go by different units: give all of them in one"
#define ACCRUE_SAY_ENDLESS_SCHEDULE \
  "accrue::schedule::sequence: a part that has no end is followed by another: put it last"
#define ACCRUE_SAY_PAD_NEEDS_EVERY                                                                              \
  "accrue::accumulator: pad_last divides as if the last group had all its microbatches: it needs the boundary " \
  "accrue::every{A}"
#define ACCRUE_SAY_PAD_NEEDS_MEAN \
  "accrue::accumulator: pad_last divides by a padded weight: it needs accrue::mean_objective{}; a sum is not divided"
#define ACCRUE_SAY_GROUPS_AND_RULES                                                                                    \
  "accrue::accumulator: accrue::per_group{...} holds one rule for each set in accrue::parameter_groups(...): give as " \
  "many rules as sets"
#define ACCRUE_SAY_NOT_A_RULE "accrue::per_group: every argument is an update policy, for example accrue::sgd{}"
#define ACCRUE_SAY_CLIP_OF_OTHER_SCALAR                                                                             \
  "accrue::accumulator: the clip policy's bounded(element) does not return every scalar that gradients are summed " \
  "in: make it a template over the element"
#define ACCRUE_SAY_RULE_OF_OTHER_SCALAR                                                                          \
  "accrue::accumulator: the update rule is not called as f(theta, gradient) or f(theta, gradient, state), with " \
  "theta a reference to the scalar that gradients are summed in: float, double, or complex"
#define ACCRUE_SAY_TWO_HOLDINGS \
  "accrue::accumulator: two policies fill the slot holding: keep one, for example accrue::gather<4>{}"
#define ACCRUE_SAY_BAD_HOLDING                                                                                    \
  "accrue::accumulator: the holding policy does not satisfy accrue::holding_policy: it needs sets, from 1 to 4, " \
  "and lent"
#define ACCRUE_SAY_NOT_ADOPTED                                                                                      \
  "accrue::accumulator: adopt() takes whole gradients, mean_gradient or sum_gradient without rows, and not beside " \
  "accrue::on_microbatch or accrue::reject_microbatch, which look at a gradient before it is added, nor named "     \
  "terms: call accumulate()"
#define ACCRUE_SAY_ORDER_OF_WEIGHTS                                                                                    \
  "accrue::accumulator: accrue::reject_microbatch sums weights that are no integers in the order in which they come, " \
  "accrue::order_independent does not: count samples or tokens, or skip the group"
#define ACCRUE_SAY_ADOPTED_AND_CARRIED                                                            \
  "accrue::accumulator: adopt() makes sums of gradients where they lie, accrue::compensated and " \
  "accrue::order_independent keep more than that: call accumulate(), or sum with accrue::widened"
#define ACCRUE_SAY_CARRIED                                                                                             \
  "accrue: accrue::compensated and accrue::order_independent keep more than the sums, which rows and what a producer " \
  "writes into them would leave out: hand over whole gradients, or sum with accrue::widened"
#define ACCRUE_SAY_REORDERED                                                                                         \
  "accrue: this summation depends on the order of additions, which -ffast-math changes with this compiler: compile " \
  "without it, or with g++ 12 or clang 16 and later"
#define ACCRUE_SAY_GATHER_OF_OTHER_NUMBER "accrue::gather<k>: k is 1, 2, 3 or 4"
#define ACCRUE_SAY_HELD_AND_CLIPPED                                                                    \
  "accrue::accumulator: accrue::gather adds several microbatches together, accrue::on_microbatch and " \
  "accrue::reject_microbatch look at each by itself: leave gather out"
#define ACCRUE_SAY_CLIPPED_ALONE                                                                                  \
  "accrue: accrue::on_microbatch and accrue::reject_microbatch read a microbatch's gradient before it is added: " \
  "rows, and what a producer writes into the sums, can be clipped or skipped with the group only"
#define ACCRUE_SAY_ROWS                                                                                               \
  "accrue: accrue::rows(indices, values) takes a view of integers of rank 1 that the execution space reaches, and a " \
  "view of the parameter's rank; it stands for a parameter given as one view"
#define ACCRUE_SAY_ROWS_TO_DOCTOR \
  "accrue::doctor: a gradient of the parameter's shape is compared number by number: hand over a view, not rows of it"
#define ACCRUE_SAY_PRODUCER                                                                                            \
  "accrue: mean_written_by and sum_written_by take a function f(exec, target, ...) with a target for each parameter, " \
  "in their order"
#define ACCRUE_SAY_NOTHING_LENT                                                                                     \
  "accrue::accumulator: next_gradients() lends memory for gradients: give the accumulator accrue::gather<1>{}, or " \
  "more sets"
#define ACCRUE_SAY_NEITHER_FLOAT_NOR_DOUBLE \
  "accrue::widened: sums are kept in float or double: write accrue::widened<double>{}"
#define ACCRUE_SAY_NEITHER_SAMPLES_NOR_TOKENS                                                                          \
  "accrue::at_least: a group is full from so many samples or tokens on: write accrue::at_least{accrue::samples{64}}, " \
  "or accrue::tokens{4096}"
#define ACCRUE_SAY_SNAPSHOT_OF_MANY \
  "accrue::accumulator: snapshot<I>() copies a parameter given as one view; a vector of views has none"
#define ACCRUE_SAY_NO_UPDATE \
  "accrue::accumulator: update() changes parameters: name exactly one update policy, for example accrue::sgd{}"
#define ACCRUE_SAY_NO_LAST_GROUP                                                                                \
  "accrue::accumulator: end_of_data() closes a last group that may be short: name one of accrue::keep_last{}, " \
  "drop_last{}, carry_last{}, pad_last{}, refuse_last{}"
#define ACCRUE_SAY_NO_BOUNDARY                                                                                         \
  "accrue::accumulator: change_boundary() takes another value of the boundary policy given at construction: give one " \
  "there, for example accrue::every{16}"
#define ACCRUE_SAY_OTHER_RULE                                                                                       \
  "accrue::accumulator: change_rule() takes another value of the update policy given at construction, of the same " \
  "type"

#define ACCRUE_SAY_NOT_AN_OBSERVER                                                                    \
  "accrue::accumulator: an observer has a function for at least one moment: microbatch_accumulated, " \
  "group_started_again, group_closing, group_recorded or data_ended"

#define ACCRUE_SAY_OBSERVER_NOT_COPIED                                                                          \
  "accrue::accumulator: an observer is kept by value, and this one can be neither copied nor moved: hand over " \
  "std::ref(observer), and let it outlive the accumulator"
#define ACCRUE_SAY_BARE_GRADIENT                                                                       \
  "accrue: say how the gradient was reduced over its microbatch: wrap it in accrue::mean_gradient or " \
  "accrue::sum_gradient"
#define ACCRUE_SAY_GRADIENT_COUNT                                                                                      \
  "accrue: a contribution has one gradient for each parameter, in order: write accrue::no_gradient where a parameter " \
  "has none, or give no gradient at all"
#define ACCRUE_SAY_GRADIENT_RANK                                                                                \
  "accrue: a gradient's rank is not its parameter's, and gradients are added index by index: hand over a view " \
  "of the parameter's shape"
#define ACCRUE_SAY_NOT_A_GRADIENT \
  "accrue: a gradient is a Kokkos view, a std::vector of views, a std::optional view, or accrue::no_gradient"
#define ACCRUE_SAY_UNREACHABLE_GRADIENT                                                                          \
  "accrue: the accumulator's execution space cannot reach a gradient's memory: copy it there, or construct the " \
  "accumulator with another execution space"
#define ACCRUE_SAY_GRADIENT_SCALAR \
  "accrue: a gradient's scalar is none of float, double, complex, float16, bfloat16 (Kokkos half_t, bhalf_t)"
#define ACCRUE_SAY_NARROWED_GRADIENT                                                                            \
  "accrue: a gradient is wider than its accumulation buffer, or complex where the parameter is real: give the " \
  "accumulator accrue::widened<double>{}, or matching types"
#define ACCRUE_SAY_NOT_A_FACT                                                                                     \
  "accrue: accumulate() takes, after the gradient, counts such as accrue::tokens{512}, accrue::weight{0.5}, and " \
  "accrue::mean_loss{...} or accrue::sum_loss{...}"
#define ACCRUE_SAY_FACT_TWICE "accrue: accumulate() was given the same count or the loss twice: keep one of each"
#define ACCRUE_SAY_SAMPLES_MISSING \
  "accrue: accumulate() lacks the count that the normalization divides by: add accrue::samples{n}"
#define ACCRUE_SAY_TOKENS_MISSING \
  "accrue: accumulate() lacks the count that the normalization divides by: add accrue::tokens{n}, of supervised ones"
#define ACCRUE_SAY_WEIGHT_MISSING \
  "accrue: accumulate() lacks the count that the normalization divides by: add accrue::weight{w}"
#define ACCRUE_SAY_COUNT_MISSING \
  "accrue: accumulate() lacks the count that the normalization policy names in its member type needs: add it"
#define ACCRUE_SAY_BOUNDARY_COUNT_MISSING \
  "accrue: accumulate() lacks the count that the boundary waits for: add accrue::samples{n} or accrue::tokens{n}"

#define ACCRUE_SAY_LOSS_VALUE \
  "accrue: a loss is a number, or a view of one real number that the accumulator's execution space can reach"
#define ACCRUE_SAY_LOSS_RANK "accrue: a loss on the device is a view of rank 0: take a subview of one element"

#define ACCRUE_SAY_NOT_A_PARAMETER "accrue::parameters: a parameter is a Kokkos view or a std::vector of views"
#define ACCRUE_SAY_MASTER_WEIGHTS                                                                                     \
  "accrue::master_weights{weights, copy}: views, or vectors of views, of one rank, both real or both complex, and a " \
  "copy that can be written"
#define ACCRUE_SAY_ROUNDING_BY_HAND                                                                                  \
  "accrue::accumulator: with_gradient leaves the update to your function, which rounds and copies itself: name the " \
  "weights alone among the parameters, without accrue::master_weights or accrue::stochastic_rounding"
#define ACCRUE_SAY_STOCHASTIC_ROUNDING                                                                                \
  "accrue::stochastic_rounding{weights}: a view, or a vector of views, of float16 or bfloat16; wider parameters are " \
  "named as they are"
#define ACCRUE_SAY_CONST_PARAMETER \
  "accrue::parameters: a view of const elements cannot be updated: pass the view of the parameters themselves"
#define ACCRUE_SAY_PARAMETER_SCALAR                                                                                \
  "accrue::parameters: a parameter's scalar is none of float, double, complex, float16, bfloat16 (Kokkos half_t, " \
  "bhalf_t)"
#define ACCRUE_SAY_UNREACHABLE_PARAMETER                                                                            \
  "accrue::accumulator: the execution space cannot reach a parameter's memory: construct it with an instance of a " \
  "space that can"

#endif
