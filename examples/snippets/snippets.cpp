// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the pages of the reference show: small views in host memory, and checks of what comes out.
#include <accrue/accrue.hpp>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace {

using vector = Kokkos::View<double*, Kokkos::HostSpace>;
using scalar = Kokkos::View<float, Kokkos::HostSpace>;

// Tags of terms: any types will do, and a name is printed.
struct language {
  static constexpr std::string_view name = "language";
};
struct balance {};

/// Ends the program where something does not hold.
void check(bool holds, int line = __builtin_LINE()) {
  if (!holds) throw std::runtime_error("line " + std::to_string(line) + " does not do what its page says");
}

void boundary() {
  scalar const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(gradient, 1.0f);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::at_least{accrue::tokens{4096}},
                            accrue::keep_last{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{3000});
  check(!group.full());
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{2000});
  check(group.full());  // 5000 tokens, and the sum is divided by these
  group.update();
  check(group.ledger().records().back().weight == 5000);
}

void another_boundary() {
  scalar const theta("theta"), gradient("gradient");

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{4}, accrue::keep_last{},
                            accrue::sgd{});
  for (int i = 0; i < 2; ++i) group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
  check(!group.full());
  group.change_boundary(accrue::every{2});
  check(group.full());
}

void summation() {
  scalar const theta("theta"), gradient("gradient");

  accrue::accumulator group(accrue::parameters(theta), accrue::per_microbatch{}, accrue::sum_objective{},
                            accrue::widened<double>{}, accrue::sgd{.learning_rate = 1.0});
  for (float const each : {1e8f, 1.0f, -1e8f}) {
    Kokkos::deep_copy(gradient, each);
    group.accumulate(accrue::sum_gradient{gradient});
  }
  check(group.update() == accrue::outcome::applied);
  check(theta() == -1);  // summed in float: 0, because the 1 is lost beside 1e8
}

void holding() {
  vector const weight("weight", 3), bias("bias", 2);

  accrue::accumulator group(accrue::parameters(weight, bias), accrue::per_sample{}, accrue::every{4},
                            accrue::keep_last{}, accrue::gather<2>{}, accrue::sgd{.learning_rate = 1.0});
  for (int m = 0; m < 4; ++m) {
    auto const [of_weight, of_bias] = group.next_gradients();  // where this microbatch's gradients go
    Kokkos::deep_copy(of_weight, 1.0 + m);                     // in place of a backward pass
    Kokkos::deep_copy(of_bias, 2.0);
    group.accumulate(accrue::mean_gradient{of_weight, of_bias}, accrue::samples{8});
  }
  group.update();
  check(weight(2) == -2.5 && bias(0) == -2.0);
}

void adoption() {
  vector const theta("theta", 3);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{2}, accrue::keep_last{},
                            accrue::sgd{.learning_rate = 1.0});
  vector gradient("gradient", 3), second("gradient", 3);
  for (int update = 0; update < 2; ++update) {
    if (gradient.data() == nullptr) gradient = vector("gradient", 3);
    Kokkos::deep_copy(gradient, 1.0);  // in place of a backward pass
    auto const before = group.adopt(accrue::mean_gradient{std::move(gradient)}, accrue::samples{8});
    gradient = before ? std::get<0>(before->items) : vector();  // of the last group, to be written again
    Kokkos::deep_copy(second, 3.0);
    group.accumulate(accrue::mean_gradient{second}, accrue::samples{8});
    group.update();
  }
  check(theta(2) == -4.0);
}

void contribution() {
  scalar const a("a"), b("b"), of_a("of_a"), of_b("of_b");
  Kokkos::deep_copy(of_a, 1.0f);
  Kokkos::deep_copy(of_b, 6.0f);

  accrue::accumulator group(accrue::parameters(a, b), accrue::per_sample{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{of_a, accrue::no_gradient}, accrue::samples{8});
  group.accumulate(accrue::sum_gradient{of_a, of_b}, accrue::samples{4});
  check(group.update() == accrue::outcome::applied);
  check(a() == -0.75);  // (8 * 1 + 1) / 12
  check(b() == -0.5);   // 6 / 12
}

void facts() {
  scalar const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(gradient, 16.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0});

  // Two rows of five labels; the last position of a row has no next token.
  group.accumulate(accrue::sum_gradient{gradient}, accrue::samples{2}, accrue::tokens{2 * 4},
                   accrue::ignored_tokens{2 * 1}, accrue::positions{2 * 5}, accrue::sum_loss{16.0});
  check(group.update() == accrue::outcome::applied);
  check(theta() == -2);  // 16 / 8; divided by the labels: 1.6
  check(group.ledger().records().back().loss == 2.0);
}

void parameters() {
  scalar const a("a"), b("b"), of_a("of_a"), of_b("of_b");
  Kokkos::deep_copy(of_a, 3.0f);
  Kokkos::deep_copy(of_b, 4.0f);

  std::vector<scalar> const layers{a, b};  // as many views as the vector holds, under one name
  accrue::accumulator group(accrue::parameters(layers), accrue::per_sample{}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{std::vector<scalar>{of_a, of_b}}, accrue::samples{1});
  check(group.update() == accrue::outcome::applied);
  check(a() == -3 && b() == -4);
}

void masters() {
  using halves = Kokkos::View<accrue::bfloat16*, Kokkos::HostSpace>;
  vector const weights("weights", 4);    // what is trained
  halves const copy("copy", 4);          // what the forward pass reads
  halves const gradient("gradient", 4);  // what the backward pass writes
  Kokkos::deep_copy(weights, 1.0);
  Kokkos::deep_copy(copy, accrue::bfloat16(1.0f));  // begin with equal values
  Kokkos::deep_copy(gradient, accrue::bfloat16(0.125f));

  accrue::accumulator group(accrue::parameters(accrue::master_weights{weights, copy}), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 0.0078125});
  for (int update = 0; update < 8; ++update) {
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
    group.update();
  }
  check(weights(3) == 0.9921875 && float(copy(3)) == 0.9921875f);  // in bfloat16 alone: 1, each update is rounded away
}

void rounding_at_random() {
  using halves = Kokkos::View<accrue::bfloat16*, Kokkos::HostSpace>;
  halves const theta("theta", 1000);
  halves const gradient("gradient", 1000);
  Kokkos::deep_copy(theta, accrue::bfloat16(1.0f));
  Kokkos::deep_copy(gradient, accrue::bfloat16(-0.125f));

  accrue::accumulator group(accrue::parameters(accrue::stochastic_rounding{theta}), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 0.0078125});  // an eighth of a unit in the last place of 1
  for (int update = 0; update < 8; ++update) {
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
    group.update();
  }
  double mean = 0.0;
  for (std::size_t i = 0; i < theta.size(); ++i) mean += float(theta(i)) / 1000.0;
  check(mean > 1.007 && mean < 1.0087);  // 1 + 8 / 1024; to the nearest, all of them had stayed at 1
}

void outcome() {
  scalar const theta("theta"), gradient("gradient");

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{.learning_rate = 1.0});
  check(group.update() == accrue::outcome::empty);

  Kokkos::deep_copy(gradient, std::numeric_limits<float>::quiet_NaN());
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
  check(group.update() == accrue::outcome::skipped_non_finite);
  check(theta() == 0);

  Kokkos::deep_copy(gradient, 2.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
  check(group.update() == accrue::outcome::applied);
  check(theta() == -2);  // nothing is left of the NaN
}

void clip_on_the_group() {
  scalar const a("a"), b("b"), of_a("of_a"), of_b("of_b");

  accrue::accumulator group(accrue::parameters(a, b), accrue::per_sample{},
                            accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::sgd{.learning_rate = 1.0});
  Kokkos::deep_copy(of_b, 4.0f);
  for (float const each : {3.0f, -3.0f}) {
    Kokkos::deep_copy(of_a, each);
    group.accumulate(accrue::mean_gradient{of_a, of_b}, accrue::samples{1});
  }
  check(group.update() == accrue::outcome::applied);
  check(group.ledger().records().back().norm == 4);  // G is (0, 4)
  check(a() == 0 && b() == -1);
}

void clip_on_the_microbatch() {
  scalar const a("a"), b("b"), of_a("of_a"), of_b("of_b");

  accrue::accumulator group(accrue::parameters(a, b), accrue::per_sample{},
                            accrue::on_microbatch(accrue::clip_by_global_norm{.max_norm = 1.0}),
                            accrue::sgd{.learning_rate = 1.0});
  Kokkos::deep_copy(of_b, 4.0f);
  for (float const each : {3.0f, -3.0f}) {
    Kokkos::deep_copy(of_a, each);
    group.accumulate(accrue::mean_gradient{of_a, of_b}, accrue::samples{1});
  }
  check(group.update() == accrue::outcome::applied);
  check(a() == 0 && std::abs(b() + 0.8f) < 1e-6f);  // the means of (0.6, 0.8) and (-0.6, 0.8); on the group: 1
}

void clip_by_value() {
  vector const theta("theta", 3), gradient("gradient", 3);
  gradient(0) = -3, gradient(1) = 0.25, gradient(2) = 8;

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::clip_by_value{.max_value = 0.5},
                            accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  check(group.update() == accrue::outcome::applied);
  check(theta(0) == 0.5 && theta(1) == -0.25 && theta(2) == -0.5);
}

void last_group() {
  scalar const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(gradient, 1.0f);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::every{4}, accrue::pad_last{},
                            accrue::sgd{.learning_rate = 1.0});
  for (int i = 0; i < 6; ++i) {
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
    if (group.full()) group.update();
  }
  check(group.held() == accrue::microbatches{2});
  check(group.end_of_data() == accrue::outcome::applied);
  check(theta() == -1.5);  // the last group counts for half; under keep_last: 2, under drop_last: 1
}

void normalization() {
  scalar const theta("theta"), gradient("gradient");

  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{.learning_rate = 1.0});
  Kokkos::deep_copy(gradient, 2.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::mean_loss{5.0});
  Kokkos::deep_copy(gradient, 4.0f);
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1536}, accrue::mean_loss{3.0});
  check(group.update() == accrue::outcome::applied);
  check(theta() == -3.5);                              // a mean of means: 3
  check(group.ledger().records().back().loss == 3.5);  // a mean of means: 4
}

void batch_statistics() {
  struct statistics {
    double mean, variance;
  };
  auto const of = [](std::vector<double> const& values) {
    statistics found{0, 0};
    for (double const each : values) found.mean += each / static_cast<double>(values.size());
    for (double const each : values)
      found.variance += (each - found.mean) * (each - found.mean) / static_cast<double>(values.size());
    return found;
  };
  statistics const whole = of({0, 2, 10, 12}), first = of({0, 2}), second = of({10, 12});
  check(first.variance == 1 && second.variance == 1 && whole.variance == 26);
  // The variance of the large batch is that within the microbatches and that between them.
  check(whole.variance == (first.variance + second.variance) / 2 + of({first.mean, second.mean}).variance);
}

void objective() {
  scalar const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(gradient, 1.0f);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sum_objective{},
                            accrue::sgd{.learning_rate = 1.0});
  for (int i = 0; i < 4; ++i) group.accumulate(accrue::sum_gradient{gradient}, accrue::tokens{2});
  check(group.update() == accrue::outcome::applied);
  check(theta() == -4);  // under mean_objective: 4 / 8
}

void division() {
  scalar const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(gradient, 1e30f);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{},
                            accrue::early{accrue::tokens{4000000000}}, accrue::sgd{.learning_rate = 1.0});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1000000000});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{3000000000});
  check(group.update() == accrue::outcome::applied);  // late: skipped, a float holds no 4e39
  check(std::abs(theta() / -1e30f - 1.0f) < 1e-6f);

  group.change_division(accrue::early{accrue::tokens{2000}});  // of the next group
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{1000});
  try {
    group.update();
  } catch (accrue::error const& e) {
    std::cout << e.what() << '\n';  // the group weighs 1000, and 2000 was announced
  }
  check(group.held() == accrue::microbatches{1});  // it is still open
}

void terms() {
  scalar const theta("theta"), of_tokens("gradient of the tokens' loss"), of_balance("gradient of the auxiliary loss");
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<language>(accrue::per_token{}), accrue::term<balance>(accrue::per_microbatch{}, 0.25)),
      accrue::clip_by_global_norm{.max_norm = 10.0}, accrue::sgd{.learning_rate = 1.0});

  Kokkos::deep_copy(of_tokens, 6.0f), Kokkos::deep_copy(of_balance, 4.0f);
  group.accumulate(accrue::of<language>(accrue::sum_gradient{of_tokens}, accrue::sum_loss{1.0}),
                   accrue::of<balance>(accrue::mean_gradient{of_balance}, accrue::mean_loss{2.0}), accrue::tokens{2});
  Kokkos::deep_copy(of_tokens, 18.0f), Kokkos::deep_copy(of_balance, 12.0f);
  group.accumulate(accrue::of<language>(accrue::sum_gradient{of_tokens}, accrue::sum_loss{7.0}),
                   accrue::of<balance>(accrue::mean_gradient{of_balance}, accrue::mean_loss{2.0}), accrue::tokens{6});
  group.update();
  check(theta() == -5);  // (6 + 18) / 8 + 0.25 * (4 + 12) / 2

  accrue::record const last = group.ledger().records().back();
  check(last.term_weights[0] == 8 && last.term_weights[1] == 2);
  check(last.loss == 1.5 && last.norm == 5);  // (1 + 7) / 8 + 0.25 * 2
}

void measure() {
  vector const theta("theta", 2), gradient("gradient", 2);
  gradient(0) = 6, gradient(1) = -8;

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{});
  group.accumulate(accrue::sum_gradient{gradient}, accrue::samples{2});
  accrue::gradient_summary const seen = group.measure();
  check(seen.norm == 5 && seen.largest == 4 && seen.finite);  // of the mean over two samples
  auto const copy = group.snapshot<0>();
  check(copy(0) == 3 && copy(1) == -4);
}

void ledger() {
  scalar const theta("theta"), gradient("gradient");
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::every{2}, accrue::drop_last{},
                            accrue::sgd{});
  for (int i = 0; i < 5; ++i) {
    group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{100});
    if (group.full()) group.update();
  }
  group.end_of_data();

  accrue::ledger const& book = group.ledger();
  check(book.tokens() == accrue::tokens{500} && book.dropped().tokens == accrue::tokens{100});
  check(book.applied() == accrue::updates{2} && book.groups() == 3 && book.dropped_groups() == 1);
}

void record() {
  scalar const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(gradient, 3.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{},
                            accrue::clip_by_global_norm{.max_norm = 1.5});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{20}, accrue::mean_loss{0.25});
  group.update();

  accrue::record const last = group.ledger().records().back();
  check(last.number == 1 && last.result == accrue::outcome::applied && last.loss == 0.25);
  std::ostringstream out;
  out << last;
  check(out.str() == "group 1: applied, 1 microbatches, weight 20, norm 3, clip factor 0.5, loss 0.25");
}

void handle() {
  scalar const theta("theta"), gradient("gradient");
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
  auto const first = group.update();  // does not wait for the device
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
  group.update();                            // ignoring the handle costs nothing
  check(first == accrue::outcome::applied);  // waits, and asks for the first group
  check(first.result() != accrue::outcome::empty);
}

void csv() {
  scalar const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(gradient, 3.0f);
  std::ostringstream out;  // or a std::ofstream; it outlives the accumulator
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, accrue::sgd{});
  group.observe(accrue::csv_writer(out));
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{2}, accrue::tokens{20}, accrue::mean_loss{0.25});
  group.end_of_data();  // writes the row
  check(out.str() ==
        "group,outcome,microbatches,ignored_microbatches,samples,tokens,ignored_tokens,positions,weight,norm,clip_"
        "factor,loss,loss_scale,rejected_microbatches,term_weights\n"
        "1,applied,1,0,2,20,0,0,20,3,1,0.25,1,0,\n");
}

void recipe() {
  scalar const theta("theta");
  accrue::accumulator const group(accrue::parameters(theta), accrue::per_token{},
                                  accrue::at_least{accrue::tokens{4096}}, accrue::keep_last{},
                                  accrue::on_microbatch(accrue::clip_by_value{}), accrue::sgd{.learning_rate = 0.5});
  std::ostringstream out;
  out << group.policies();
  check(out.str() ==
        "per_token, mean_objective, at_least{tokens=4096}, one_at_a_time, widened, one_replica, unscaled, late, "
        "skip_group, on_microbatch{clip=clip_by_value{max_value=1}}, keep_last, "
        "sgd{learning_rate=0.5, weight_decay=0}");
}

void sgd() {
  scalar const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(theta, 2.0f);
  Kokkos::deep_copy(gradient, 1.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::sgd{.learning_rate = 0.5, .weight_decay = 0.25});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  check(group.update() == accrue::outcome::applied);
  check(theta() == 1.25);  // 2 - 0.5 * (1 + 0.25 * 2)
}

void momentum() {
  scalar const theta("theta"), gradient("gradient");
  Kokkos::deep_copy(gradient, 8.0f);
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::momentum{.learning_rate = 1.0, .factor = 0.5});
  for (float const expected : {-8.0f, -20.0f, -34.0f}) {  // the velocity is 8, then 12, then 14
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
    check(group.update() == accrue::outcome::applied);
    check(theta() == expected);
  }
}

void adam() {
  vector const a("a", 1), b("b", 1), gradient("gradient", 1);
  a(0) = b(0) = 2;
  accrue::accumulator coupled(accrue::parameters(a), accrue::per_sample{},
                              accrue::adam{.learning_rate = 0.5, .epsilon = 0.0, .weight_decay = 0.25});
  accrue::accumulator decoupled(accrue::parameters(b), accrue::per_sample{},
                                accrue::adamw{.learning_rate = 0.5, .epsilon = 0.0, .weight_decay = 0.25});
  gradient(0) = 3;
  coupled.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  decoupled.accumulate(accrue::mean_gradient{gradient}, accrue::samples{1});
  check(coupled.update() == accrue::outcome::applied && decoupled.update() == accrue::outcome::applied);
  check(std::abs(a(0) - 1.5) < 1e-12);   // the first update has the length of the learning rate
  check(std::abs(b(0) - 1.25) < 1e-12);  // and decay, 0.5 * 0.25 * 2, beside it
}

void per_element() {
  vector const theta("theta", 2), gradient("gradient", 2);
  gradient(0) = 3, gradient(1) = -0.5;

  auto const by_sign = KOKKOS_LAMBDA(double& t, double g) { t -= g > 0 ? 0.25 : -0.25; };
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::per_element(by_sign));
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{2});
  check(group.update() == accrue::outcome::applied);
  check(theta(0) == -0.25 && theta(1) == 0.25);
}

void per_group() {
  scalar const weight("weight"), bias("bias"), of_weight("of_weight"), of_bias("of_bias");
  Kokkos::deep_copy(of_weight, 6.0f);
  Kokkos::deep_copy(of_bias, 8.0f);

  accrue::accumulator group(
      accrue::parameter_groups(accrue::parameters(weight), accrue::parameters(bias)), accrue::per_sample{},
      accrue::clip_by_global_norm{.max_norm = 5.0},
      accrue::per_group{accrue::sgd{.learning_rate = 1.0}, accrue::momentum{.learning_rate = 0.5}});
  group.accumulate(accrue::mean_gradient{of_weight, of_bias}, accrue::samples{1});
  check(group.update() == accrue::outcome::applied);
  check(group.ledger().records().back().norm == 10);  // one norm: the clip factor is 0.5
  check(weight() == -3 && bias() == -2);
}

void with_gradient() {
  vector const theta("theta", 2), gradient("gradient", 2);
  gradient(0) = 3, gradient(1) = -4;

  auto const my_optimizer = [&](auto const& finished) {
    double const rate = 1.0 / (1.0 + finished.norm());
    Kokkos::parallel_for("my_optimizer", Kokkos::RangePolicy(finished.exec(), 0, 2),
                         [=, t = theta, g = finished.template get<0>()](int i) { t(i) -= rate * g(i); });
  };
  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::with_gradient{my_optimizer});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
  group.update();
  group.exec().fence();
  check(theta(0) == -0.5 && std::abs(theta(1) - 4.0 / 6.0) < 1e-15);
}

void loss_scale() {
  vector const theta("theta", 1), gradient("gradient", 1);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::constant_scale{.scale = 1024.0f},
                            accrue::clip_by_global_norm{.max_norm = 1.0}, accrue::sgd{.learning_rate = 1.0});
  float const scale = group.loss_scale().value();
  gradient(0) = 0.5 * scale;  // of a loss that was multiplied by the scale
  group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8}, accrue::mean_loss{2.0});
  group.update();
  accrue::record const last = group.ledger().records().back();
  check(theta(0) == -0.5 && last.norm == 0.5 && last.clip_factor == 1);
  check(last.loss == 2.0 && last.loss_scale == 1024);  // losses are reported as they are
}

void dynamic_scale() {
  vector const theta("theta", 1), gradient("gradient", 1);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{},
                            accrue::dynamic_scale{.initial = 0x1p17, .growth_interval = 2},
                            accrue::sgd{.learning_rate = 1.0});
  std::vector<float> scales;
  for (int update = 0; update < 5; ++update) {
    float const scale = group.loss_scale().value();
    scales.push_back(scale);
    gradient(0) = float(accrue::float16(scale));  // 1, scaled and rounded to 16 bits
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
    group.update();
  }
  check(scales == std::vector<float>{0x1p17f, 0x1p16f, 0x1p15f, 0x1p15f, 0x1p16f});
  check(group.ledger().skipped() == accrue::updates{3} && theta(0) == -2);

  accrue::loss_scale_state const saved = group.loss_scale().state();  // to go on from here in another run
  group.loss_scale().restore(saved);
  check(saved.scale == 0x1p15f && saved.overflows == 3);
}

void shared_scale() {
  vector const theta("theta", 1), phi("phi", 1), gradient("gradient", 1);

  accrue::shared_scale const scale(accrue::dynamic_scale{.initial = 256.0});
  accrue::accumulator generator(accrue::parameters(theta), accrue::per_sample{}, scale, accrue::sgd{});
  accrue::accumulator critic(accrue::parameters(phi), accrue::per_sample{}, scale, accrue::adam{});

  gradient(0) = scale.cell().value();
  generator.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
  gradient(0) = std::numeric_limits<double>::infinity();
  critic.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});

  auto const [generator_done, critic_done] = accrue::update_together(generator, critic);
  check(generator_done == accrue::outcome::skipped_non_finite);  // because of the critic
  check(critic_done == accrue::outcome::skipped_non_finite);
  check(scale.cell().value() == 128);  // once
}

void rejection() {
  vector const theta("theta", 2), gradient("gradient", 2);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{},
                            accrue::reject_microbatch{.max_norm = 100.0}, accrue::sgd{.learning_rate = 1.0});
  gradient(0) = 1, gradient(1) = 2;
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  gradient(0) = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::int64_t> const drawn{17, 4};  // the samples of this microbatch
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{300}, accrue::sample_ids(drawn));

  check(group.update() == accrue::outcome::applied);
  check(theta(0) == -1 && theta(1) == -2);  // divided by 512 tokens
  accrue::rejection const left_out = group.ledger().rejections().back();
  check(left_out.microbatch == 2 && left_out.group == 1 && left_out.sample_ids == drawn);
  check(left_out.cause == accrue::rejection_cause::not_a_number);
  check(group.ledger().records().back().rejected.tokens == accrue::tokens{300});
}

struct norm_above {
  double bound;
  KOKKOS_FUNCTION bool operator()(accrue::group_finding const& found) const { return found.norm > bound; }
};

void veto() {
  vector const theta("theta", 1), gradient("gradient", 1);

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::veto_if(norm_above{100.0}),
                            accrue::sgd{.learning_rate = 1.0});
  for (double const each : {1.0, 1000.0, 2.0}) {
    gradient(0) = each;
    group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
    check((group.update() == accrue::outcome::vetoed) == (each == 1000));
  }
  check(theta(0) == -3 && group.ledger().vetoed() == accrue::updates{1});
}

void skip_limit() {
  vector const theta("theta", 1), gradient("gradient", 1);
  gradient(0) = std::numeric_limits<double>::infinity();

  accrue::accumulator group(accrue::parameters(theta), accrue::per_sample{}, accrue::skip_group{.max_consecutive = 3},
                            accrue::sgd{});
  int updates = 0;
  try {
    for (; updates < 10; ++updates) {
      group.accumulate(accrue::mean_gradient{gradient}, accrue::samples{8});
      group.update();
    }
  } catch (accrue::error const& e) {
    check(std::string(e.what()).find("the last of 3 in a row") != std::string::npos);
  }
  check(updates == 2 && group.ledger().skipped() == accrue::updates{3});  // the third call has thrown
}

}  // namespace

int main(int argc, char* argv[]) {
  Kokkos::ScopeGuard const kokkos(argc, argv);
  auto const all = {boundary,
                    another_boundary,
                    summation,
                    holding,
                    adoption,
                    contribution,
                    facts,
                    parameters,
                    masters,
                    rounding_at_random,
                    outcome,
                    clip_on_the_group,
                    clip_on_the_microbatch,
                    clip_by_value,
                    last_group,
                    normalization,
                    batch_statistics,
                    objective,
                    division,
                    terms,
                    measure,
                    ledger,
                    record,
                    handle,
                    csv,
                    recipe,
                    sgd,
                    momentum,
                    adam,
                    per_element,
                    per_group,
                    with_gradient,
                    loss_scale,
                    dynamic_scale,
                    shared_scale,
                    rejection,
                    veto,
                    skip_limit};
  for (auto const each : all) each();
  std::cout << all.size() << " snippets of the reference hold\n";
}
