// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The code of docs/guide.md: a training loop, and what one adds to it. Every part is run and checked.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using matrix = Kokkos::View<float**>;
using vector = Kokkos::View<float*>;

void check(bool holds, char const* what) {
  if (!holds) throw std::runtime_error(std::string("the guide is wrong about ") + what);
}

// ---- a model and its data ------------------------------------------------------------------------------------------

/// One layer: what is trained, or the gradients of it.
struct layer {
  matrix weight{"weight", 2, 3};
  vector bias{"bias", 2};
};

struct microbatch {
  int samples;
  float slope;  // stands for the data
};

/// Stands for a forward and a backward pass: writes the mean gradient over the samples of the microbatch.
void backward(layer const& /*parameters*/, microbatch const& batch, layer const& gradient) {
  Kokkos::deep_copy(gradient.weight, batch.slope);
  Kokkos::deep_copy(gradient.bias, -batch.slope);
}

constexpr microbatch data[] = {{8, 1.0f}, {8, 0.5f}, {8, 0.25f}, {8, 2.0f}, {3, 1.0f}};

float first(matrix const& view) { return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view)(0, 0); }

// ---- the loop ------------------------------------------------------------------------------------------------------

void the_loop() {
  layer const parameters, gradient;

  accrue::accumulator group(accrue::parameters(parameters.weight, parameters.bias),  // what is trained
                            accrue::per_sample{},                                    // divide by samples
                            accrue::every{2},                                        // microbatches of a full group
                            accrue::keep_last{},                                     // a short last group counts
                            accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::adamw{.learning_rate = 1e-3});

  for (microbatch const& batch : data) {
    backward(parameters, batch, gradient);
    group.accumulate(accrue::mean_gradient{gradient.weight, gradient.bias}, accrue::samples{batch.samples});
    if (group.full()) group.update();
  }
  group.end_of_data();

  check(group.ledger().applied() == accrue::updates{3}, "the loop");
  check(group.ledger().records().back().weight == 3, "the last group");
}

// ---- a schedule ----------------------------------------------------------------------------------------------------

void a_schedule() {
  layer const parameters, gradient;
  accrue::accumulator group(
      accrue::parameters(parameters.weight, parameters.bias), accrue::per_sample{}, accrue::every{2},
      accrue::keep_last{},
      accrue::scheduled(accrue::adamw{.learning_rate = 1e-3},
                        accrue::schedule::sequence(accrue::schedule::warm_up(accrue::updates{10}),
                                                   accrue::schedule::cosine(accrue::updates{990}, 1.0, 0.1))));

  for (microbatch const& batch : data) {
    backward(parameters, batch, gradient);
    group.accumulate(accrue::mean_gradient{gradient.weight, gradient.bias}, accrue::samples{batch.samples});
    if (group.full()) group.update();
  }
  group.end_of_data();

  auto const& rate = group.policies().update.schedule();
  check(rate(accrue::updates{9}) == 1.0 && rate(accrue::updates{1000}) == 0.1, "the schedule on the host");
  check(accrue::factor_now(rate, group.ledger()) == 0.4, "the fourth update");
  check(std::abs(first(parameters.weight)) < 7e-4f, "the first updates");  // 1e-4, 2e-4 and 3e-4 at the most

  auto const by_tokens = accrue::schedule::by_function<accrue::tokens>(
      KOKKOS_LAMBDA(std::int64_t n) { return n < 1'000'000 ? 1.0 : 0.5; });
  check(by_tokens(accrue::tokens{1'000'000}) == 0.5, "a function");
}

/// Rises over the first ten applied updates, then falls with the square root of their number.
double learning_rate(accrue::updates applied) {
  double const next = static_cast<double>(applied.value()) + 1.0;
  return 1e-3 * std::min(next / 10.0, std::sqrt(10.0 / next));
}

void a_schedule_by_hand() {
  layer const parameters, gradient;
  accrue::accumulator group(accrue::parameters(parameters.weight, parameters.bias), accrue::per_sample{},
                            accrue::every{2}, accrue::keep_last{}, accrue::adamw{});

  for (microbatch const& batch : data) {
    if (group.held() == accrue::microbatches{0}) {  // a group begins: the first, or after an update of either kind
      accrue::adamw rule = group.policies().update;
      rule.learning_rate = learning_rate(group.ledger().applied());
      group.change_rule(rule);
    }
    backward(parameters, batch, gradient);
    group.accumulate(accrue::mean_gradient{gradient.weight, gradient.bias}, accrue::samples{batch.samples});
    if (group.full()) group.update();
  }
  group.end_of_data();

  check(std::abs(group.policies().update.learning_rate - 3e-4) < 1e-12, "the schedule");
  check(std::abs(first(parameters.weight)) < 7e-4f, "the first update");  // 1e-4, 2e-4 and 3e-4 at the most
}

// ---- skipped updates -----------------------------------------------------------------------------------------------

void skipped_updates() {
  layer const parameters, gradient;
  accrue::accumulator group(accrue::parameters(parameters.weight, parameters.bias), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 1.0});
  auto const feed = [&](float slope) {
    backward(parameters, {8, slope}, gradient);
    group.accumulate(accrue::mean_gradient{gradient.weight, gradient.bias}, accrue::samples{8});
  };
  float const nan = std::numeric_limits<float>::quiet_NaN();

  feed(1.0f);
  feed(nan);  // one bad microbatch spoils its group, and no other
  check(group.update() == accrue::outcome::skipped_non_finite, "a skip");
  check(first(parameters.weight) == 0.0f, "what a skip changes");
  feed(1.0f);
  check(group.update() == accrue::outcome::applied, "the group after a skip");
  check(first(parameters.weight) == -1.0f, "the update after a skip");

  accrue::ledger const& book = group.ledger();
  check(book.attempted() == accrue::updates{2} && book.skipped() == accrue::updates{1}, "counts of skips");
  if (book.consecutive_skips() >= accrue::updates{10}) throw std::runtime_error("the run diverges");
}

// ---- mixed precision -----------------------------------------------------------------------------------------------

using half_matrix = Kokkos::View<accrue::float16**>;

/// What a backward pass in 16 bits writes: the gradient of `scale` times the loss.
void backward(half_matrix const& /*weights*/, microbatch const& batch, float scale, half_matrix const& gradient) {
  Kokkos::deep_copy(gradient, accrue::float16(batch.slope * scale));
}

void mixed_precision() {
  matrix const weights("weights", 2, 3);         // what is trained
  half_matrix const copy("copy", 2, 3);          // what the forward pass reads
  half_matrix const gradient("gradient", 2, 3);  // what the backward pass writes

  accrue::accumulator group(accrue::parameters(accrue::master_weights{weights, copy}), accrue::per_sample{},
                            accrue::every{2}, accrue::keep_last{}, accrue::dynamic_scale{.initial = 65536.0},
                            accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::adamw{.learning_rate = 1e-3});

  for (microbatch const& batch : data) {
    float const scale = group.loss_scale().value();  // the same for all microbatches of a group
    backward(copy, batch, scale, gradient);
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{batch.samples});
    if (group.full()) group.update();
  }
  group.end_of_data();

  check(group.ledger().skipped() == accrue::updates{2}, "the overflow of 1 and of 2 times the scale");
  check(group.ledger().applied() == accrue::updates{1}, "the group after them");
  check(group.loss_scale().value() == 16384.0f, "the scale");
  check(first(weights) != 0.0f, "the weights");
}

void one_scale_for_two() {
  matrix const theta("theta", 2, 3), phi("phi", 2, 3), gradient("gradient", 2, 3);

  accrue::shared_scale const scale(accrue::dynamic_scale{.initial = 1024.0});
  accrue::accumulator generator(accrue::parameters(theta), accrue::per_sample{}, scale, accrue::adam{});
  accrue::accumulator critic(accrue::parameters(phi), accrue::per_sample{}, scale, accrue::sgd{.learning_rate = 1.0});

  Kokkos::deep_copy(gradient, scale.cell().value());  // stands for a backward pass of each
  generator.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
  critic.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
  auto const [generator_done, critic_done] = accrue::update_together(generator, critic);

  check(generator_done == accrue::outcome::applied && critic_done == accrue::outcome::applied, "closing together");
  check(first(phi) == -1.0f, "unscaling");
}

// ---- bad microbatches, bad groups ----------------------------------------------------------------------------------

/// Whether a group is not worth an update. What is not known is NaN, which is not above anything.
struct unlikely {
  KOKKOS_FUNCTION bool operator()(accrue::group_finding const& group) const {
    return group.norm > 1e4 || group.loss > 50.0;
  }
};

void bad_microbatches() {
  layer const parameters, gradient;
  std::ostringstream log;
  float const nan = std::numeric_limits<float>::quiet_NaN();

  accrue::accumulator group(accrue::parameters(parameters.weight, parameters.bias), accrue::per_sample{},
                            accrue::every{2}, accrue::reject_microbatch{.max_norm = 100.0, .max_consecutive = 10},
                            accrue::veto_if(unlikely{}), accrue::sgd{.learning_rate = 1.0});

  std::int64_t next = 0;
  for (microbatch const& batch : {microbatch{8, 1.0f}, microbatch{8, nan}}) {
    std::vector<std::int64_t> const ids{next, next + 1, next + 2};  // of the samples, as you number them
    next += 3;
    backward(parameters, batch, gradient);
    group.accumulate(accrue::mean_gradient{gradient.weight, gradient.bias}, accrue::samples{batch.samples},
                     accrue::sample_ids(ids));
    if (group.full()) group.update();
  }

  for (accrue::rejection const& each : group.ledger().rejections()) log << each << '\n';
  check(log.str() == "microbatch 2 of group 1 rejected: not_a_number, norm nan, samples 3 4 5\n", "rejections");
  check(first(parameters.weight) == -1.0f, "a group without its bad microbatch");  // divided by 8, not by 16
}

// ---- observers and files -------------------------------------------------------------------------------------------

/// Prints every closed group, and remembers how many were skipped.
struct watcher {
  std::ostream* out;
  int skips = 0;
  void group_recorded(accrue::record const& group) {
    *out << group << '\n';
    skips += group.result == accrue::outcome::skipped_non_finite ? 1 : 0;
  }
};

void observers() {
  std::ostringstream log, table;  // in a program std::cout and a std::ofstream
  layer const parameters, gradient;
  watcher seen{&log};

  accrue::accumulator group(accrue::parameters(parameters.weight, parameters.bias), accrue::per_sample{},
                            accrue::every{2}, accrue::keep_last{}, accrue::sgd{.learning_rate = 1.0});
  group.observe(std::ref(seen));             // an object of your own: it must outlive the accumulator
  group.observe(accrue::csv_writer(table));  // a value: kept inside

  for (microbatch const& batch : data) {
    backward(parameters, batch, gradient);
    group.accumulate(accrue::mean_gradient{gradient.weight, gradient.bias}, accrue::samples{batch.samples});
    if (group.full()) group.update();
  }
  check(log.str().empty(), "records before somebody asks");
  group.end_of_data();  // now all three groups are shown to both observers

  check(seen.skips == 0 && std::ranges::count(log.str(), '\n') == 3, "the watcher");
  check(std::ranges::count(table.str(), '\n') == 4, "the table");
}

// ---- parameter groups ----------------------------------------------------------------------------------------------

void parameter_groups() {
  layer const parameters, gradient;

  accrue::accumulator group(accrue::parameter_groups(accrue::parameters(parameters.weight),  // with decay
                                                     accrue::parameters(parameters.bias)),   // without
                            accrue::per_sample{}, accrue::clip_by_global_norm{.max_norm = 1.0},
                            accrue::per_group{accrue::adamw{.weight_decay = 0.01}, accrue::adamw{.weight_decay = 0.0}});

  backward(parameters, data[0], gradient);
  group.accumulate(accrue::mean_gradient{gradient.weight, gradient.bias}, accrue::samples{data[0].samples});
  check(group.update() == accrue::outcome::applied, "parameter groups");
}

// ---- rules of one's own --------------------------------------------------------------------------------------------

/// Moves against the sign of a running mean of the gradients.
struct sign_of_mean {
  float learning_rate;
  template <class State>
  KOKKOS_FUNCTION void operator()(float& theta, float gradient, State const& mean) const {
    mean[0] += 0.1f * (gradient - mean[0]);
    theta -= mean[0] > 0 ? learning_rate : -learning_rate;
  }
};

void a_rule_per_element() {
  layer const parameters, gradient;
  accrue::accumulator group(accrue::parameters(parameters.weight, parameters.bias), accrue::per_sample{},
                            accrue::per_element(sign_of_mean{.learning_rate = 0.25f}, 1));  // one word of state

  backward(parameters, data[0], gradient);
  group.accumulate(accrue::mean_gradient{gradient.weight, gradient.bias}, accrue::samples{data[0].samples});
  check(group.update() == accrue::outcome::applied && first(parameters.weight) == -0.25f, "per_element");

  group.change_rule(accrue::per_element(sign_of_mean{.learning_rate = 0.125f}, 1));
  group.accumulate(accrue::mean_gradient{gradient.weight, gradient.bias}, accrue::samples{data[0].samples});
  check(group.update() == accrue::outcome::applied && first(parameters.weight) == -0.375f, "a changed per_element");
}

/// RMSprop: divides by the root of a running mean of squares.
struct rmsprop {
  using fills = accrue::slot::update;
  static constexpr std::string_view name = "rmsprop";
  double learning_rate = 1e-2;
  double decay = 0.99;

  template <class Real>
  struct rule {
    static constexpr bool by_lanes = true;  // T is a number, or eight of them
    Real learning_rate, decay, fresh;
    template <class T, class State>
    KOKKOS_FORCEINLINE_FUNCTION void operator()(T& theta, T const& gradient, State const& state) const {
      state[0] = decay * state[0] + fresh * gradient * gradient;
      theta -= learning_rate * gradient / (accrue::root_of(state[0]) + Real(1e-8f));
    }
  };

  int state_words() const { return 1; }
  template <class Real>
  KOKKOS_FUNCTION rule<Real> for_update(std::int64_t) const {
    return {static_cast<Real>(learning_rate), static_cast<Real>(decay), static_cast<Real>(1.0 - decay)};
  }
};
static_assert(accrue::update_policy<rmsprop>);

/// Leaves out what is below 0.
struct no_climbing {
  using fills = accrue::slot::clip;
  static constexpr bool by_norm = false;
  static constexpr bool by_lanes = true;
  double norm_order() const { return 2.0; }
  KOKKOS_FUNCTION double factor(double) const { return 1.0; }
  template <class T>
  KOKKOS_FUNCTION T bounded(T const& element) const {
    return accrue::larger_of(element, T(0));
  }
};
static_assert(accrue::clip_policy<no_climbing>);

void a_policy() {
  vector const theta("theta", 21), gradient("gradient", 21);  // two eights, and five more
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, no_climbing{},
                            rmsprop{.learning_rate = 0.5, .decay = 0.75});
  for (float const each : {3.0f, -3.0f}) {
    Kokkos::deep_copy(gradient, each);
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
    check(group.update() == accrue::outcome::applied, "a policy");
  }
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, theta);
  for (std::size_t i = 0; i < host.extent(0); ++i) check(std::abs(host(i) + 1.0f) < 1e-5f, "elements and lanes");
}

// ---- as a member of a class ----------------------------------------------------------------------------------------

auto make_group(layer const& parameters) {
  return accrue::accumulator(accrue::parameters(parameters.weight, parameters.bias), accrue::per_sample{},
                             accrue::every{2}, accrue::keep_last{}, accrue::adamw{});
}

class trainer {
 public:
  void learn(microbatch const& batch) {
    backward(parameters_, batch, gradient_);
    group_.accumulate(accrue::mean_gradient{gradient_.weight, gradient_.bias}, accrue::samples{batch.samples});
    if (group_.full()) group_.update();
  }
  accrue::ledger const& finish() {
    group_.end_of_data();
    return group_.ledger();
  }

 private:
  layer parameters_, gradient_;
  decltype(make_group(std::declval<layer const&>())) group_ = make_group(parameters_);
};

void a_member() {
  trainer learner;
  for (microbatch const& batch : data) learner.learn(batch);
  check(learner.finish().applied() == accrue::updates{3}, "a member");
}

// ---- before a run --------------------------------------------------------------------------------------------------

namespace plan = accrue::plan;

constexpr accrue::samples microbatch_size{8};
constexpr accrue::microbatches per_group = plan::microbatches_for(accrue::samples{256}, microbatch_size).value();
constexpr plan::data_pass one_pass{.in_pass = accrue::microbatches{1000}, .per_group = per_group};
constexpr plan::run_updates run = plan::updates_over(plan::passes{3}, one_pass, plan::last_group::keep).value();

static_assert(per_group == accrue::microbatches{32});
static_assert(run.total == accrue::updates{96});        // 32 in each pass
static_assert(run.in_last == accrue::microbatches{8});  // the last one of a pass is short

// A target that cannot be met says what can be had.
constexpr auto missed = plan::microbatches_for(accrue::samples{100}, microbatch_size).reason().value();
static_assert(missed.below->effective_batch == accrue::samples{96});
static_assert(missed.above->effective_batch == accrue::samples{104});

void a_plan() {
  layer const parameters;
  accrue::accumulator const group(accrue::parameters(parameters.weight, parameters.bias), accrue::per_sample{},
                                  accrue::every{per_group}, accrue::keep_last{}, accrue::adamw{});
  check(group.policies().boundary.microbatches() == accrue::microbatches{32}, "the plan");
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  the_loop();
  a_schedule();
  a_schedule_by_hand();
  skipped_updates();
  mixed_precision();
  one_scale_for_two();
  bad_microbatches();
  observers();
  parameter_groups();
  a_rule_per_element();
  a_policy();
  a_member();
  a_plan();
  std::cout << "the guide holds\n";
}
