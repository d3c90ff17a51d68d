// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Every public template on a device's memory. Compiled only: see CMakeLists.txt.
#include <accrue/accrue.hpp>
#include <accrue/drift_watch.hpp>
#include <accrue/interop/mdspan.hpp>
#include <accrue/interop/pointer.hpp>
#include <accrue/reduce/in_process_replicas.hpp>
#include <accrue/reduce/sharded.hpp>
#include <accrue/replicas.hpp>
#include <accrue/restart.hpp>
#if __has_include(<nccl.h>) && defined(__CUDACC__)
#include <accrue/reduce/nccl_replicas.hpp>
#endif

#include "../support/lone_transport.hpp"

#include <Kokkos_Core.hpp>
#include <iostream>
#include <optional>
#include <sstream>
#include <vector>

namespace devices {

using exec = Kokkos::DefaultExecutionSpace;
using memory = exec::memory_space;
using accrue::tokens;
static_assert(!Kokkos::SpaceAccessibility<Kokkos::HostSpace, memory>::accessible);

template <class Data, class Layout = Kokkos::LayoutRight>
using view = Kokkos::View<Data, Layout, memory>;

struct reads_norm {
  template <class Gradient>
  void operator()(Gradient const& gradient) const {
    static_cast<void>(gradient.norm());
  }
};

/// A model of every scalar, with views of rank 0, 2 and 8, strided ones, and vectors of them.
struct mixed {
  view<float**> a;
  view<double> b;
  view<accrue::bfloat16********> c;
  view<Kokkos::complex<float>*, Kokkos::LayoutStride> d;
  std::vector<view<Kokkos::Experimental::half_t*>> e;
  view<accrue::float16**, Kokkos::LayoutLeft> f;
  view<float> loss;
};

template <class Group, class... Gradients>
void run(Group& group, exec const& instance, mixed const& m, Gradients const&... gradients) {
  group.accumulate(instance, accrue::mean_gradient{gradients...}, tokens{1}, accrue::mean_loss{m.loss});
  group.accumulate(accrue::sum_gradient{gradients...}, tokens{1}, accrue::sum_loss{1.0f});
  static_cast<void>(group.update(instance));
  static_cast<void>(group.end_of_data(instance));
}

void every_scalar(exec const& instance, mixed const& m) {
  accrue::accumulator group(instance,
                            accrue::parameter_groups(accrue::parameters(m.a, m.b), accrue::parameters(m.c, m.d),
                                                     accrue::parameters(m.e, m.f)),
                            accrue::per_token{}, accrue::every{4}, accrue::pad_last{},
                            accrue::on_microbatch(accrue::clip_by_global_norm{.order = 3}),
                            accrue::per_group{accrue::adamw{.amsgrad = true}, accrue::momentum{.nesterov = true},
                                              accrue::with_gradient(reads_norm{})});
  group.observe(accrue::csv_writer(std::cout));
  run(group, instance, m, m.a, m.b, m.c, m.d, m.e, m.f);
  run(group, instance, m, m.a, accrue::no_gradient, std::optional<decltype(m.c)>{m.c}, m.d, m.e, m.f);
  static_cast<void>(group.measure());
  static_cast<void>(group.snapshot<0>());
  static_cast<void>(group.snapshot<1>());
  static_cast<void>(group.snapshot<2>());
  group.discard();
  std::cout << group.ledger() << group.policies();
}

void master_weights(exec const& instance, mixed const& m, view<accrue::bfloat16**> const& of_a, view<float> const& of_b,
                    view<Kokkos::Experimental::half_t**> const& of_f) {
  accrue::accumulator group(instance,
                            accrue::parameters(accrue::master_weights{m.a, of_a}, accrue::master_weights{m.b, of_b},
                                               accrue::master_weights{m.f, of_f}),
                            accrue::per_token{}, accrue::keep_last{}, accrue::adamw{});
  run(group, instance, m, m.a, m.b, m.f);
  std::stringstream state;
  save(instance, group, state);
  load(instance, group, state);
}

template <class Group>
void update_all(exec const& instance, Group& group, mixed const& m) {
  group.accumulate(instance, accrue::mean_gradient{m.a, m.f}, accrue::tokens{512});
  accrue::update_replicas(group);
}
void shards(exec const& instance, mixed const& m) {
  accrue::accumulator group(instance, accrue::parameters(m.a, m.b, m.c, m.d, m.e, m.f), accrue::per_token{},
                            accrue::keep_last{}, accrue::sharded{support::lone_transport{}}, accrue::adamw{});
  run(group, instance, m, m.a, m.b, m.c, m.d, m.e, m.f);
}
void replicas(exec const& instance, mixed const& m) {
  auto const all = accrue::parameters(m.a, accrue::stochastic_rounding{m.f});
  accrue::in_process_replicas<> const here;
  accrue::accumulator plain(instance, all, accrue::per_token{}, here, accrue::dynamic_scale{}, accrue::adamw{});
  update_all(instance, plain, m);
  accrue::accumulator ordered(instance, all, accrue::per_token{}, accrue::order_independent{}, here, accrue::sgd{});
  update_all(instance, ordered, m);
  accrue::accumulator rejecting(instance, all, accrue::per_token{}, accrue::compensated{}, accrue::reject_microbatch{},
                                here, accrue::sgd{});
  update_all(instance, rejecting, m);
  accrue::drift_watch watch(1);
  watch(plain);
#if __has_include(<nccl.h>) && defined(__CUDACC__)
  accrue::accumulator over_nccl(instance, all, accrue::per_token{}, accrue::keep_last{},
                                accrue::nccl_replicas<>(ncclComm_t{}), accrue::sgd{});
  update_all(instance, over_nccl, m);
  over_nccl.end_of_data(instance);
#endif
}

void every_rule(exec const& instance, mixed const& m) {
  auto const rule = accrue::per_element(KOKKOS_LAMBDA(float& theta, float g) { theta -= g; });
  accrue::accumulator own(accrue::parameters(m.a), accrue::weighted{}, accrue::sum_objective{}, accrue::clip_by_value{},
                          accrue::keep_last{}, rule);
  own.accumulate(accrue::mean_gradient{m.a}, accrue::weight{0.5});
  own.change_rule(rule);
  static_cast<void>(own.update());

  auto const by = accrue::schedule::by_function<tokens>(KOKKOS_LAMBDA(std::int64_t n) { return 1.0 / double(n + 1); });
  accrue::accumulator by_tokens(accrue::parameters(m.a), accrue::per_token{}, accrue::scheduled(accrue::adam{}, by));
  by_tokens.accumulate(accrue::mean_gradient{m.a}, tokens{2});
  static_cast<void>(by_tokens.update());

  accrue::accumulator wide(accrue::parameters(m.a, m.c, m.d), accrue::per_token{}, accrue::carry_last{},
                           accrue::on_microbatch(accrue::clip_by_value{}), accrue::widened<double>{}, accrue::adam{});
  run(wide, instance, m, m.a, m.c, m.d);

  accrue::accumulator plain(
      accrue::parameters(m.b), accrue::per_microbatch{}, accrue::clip_by_global_norm{},
      accrue::scheduled(accrue::sgd{}, accrue::schedule::of_attempted(accrue::schedule::sequence(
                                           accrue::schedule::sequence(accrue::schedule::warm_up(accrue::updates{9}),
                                                                      accrue::schedule::constant(accrue::updates{9})),
                                           accrue::schedule::linear(accrue::updates{9}, 1.0, 0.5),
                                           accrue::schedule::cosine(accrue::updates{9}),
                                           accrue::schedule::constant(accrue::updates{9}, 0.5),
                                           accrue::schedule::inverse_square_root(accrue::updates{9})))));
  plain.accumulate(accrue::mean_gradient{m.b});
  static_cast<void>(plain.update());
}

void divided(exec const& instance, mixed const& m) {
  accrue::accumulator early(instance, accrue::parameters(m.a, m.c), accrue::per_token{}, accrue::keep_last{},
                            accrue::early{tokens{2}}, accrue::sgd{});
  run(early, instance, m, m.a, m.c);
  early.change_division(accrue::early{tokens{4}});
  accrue::accumulator running(instance, accrue::parameters(m.a, m.c), accrue::per_token{}, accrue::keep_last{},
                              accrue::running{}, accrue::gather<2>{}, accrue::sgd{});
  run(running, instance, m, m.a, m.c);
}

struct first_term;
struct second_term;
void named_terms(exec const& instance, mixed const& m) {
  auto const terms = [] {
    return accrue::terms(accrue::term<first_term>(accrue::per_token{}),
                         accrue::term<second_term>(accrue::per_microbatch{}, 0.5));
  };
  auto const both = [&](auto& group) {
    group.accumulate(instance, accrue::of<first_term>(accrue::mean_gradient{m.a, m.c}, accrue::mean_loss{m.loss}),
                     accrue::of<second_term>(accrue::sum_gradient{m.a, accrue::no_gradient}), tokens{2});
    static_cast<void>(group.update(instance));
  };
  accrue::accumulator late(instance, accrue::parameters(m.a, m.c), terms(), accrue::sgd{});
  both(late);
  static_cast<void>(late.measure());
  static_cast<void>(late.snapshot<0>());
  accrue::accumulator early(instance, accrue::parameters(m.a, m.c), terms(),
                            accrue::early{tokens{2}, accrue::microbatches{1}}, accrue::sgd{});
  both(early);
}

void held_and_lent(exec const& instance, mixed const& m) {
  accrue::accumulator group(instance, accrue::parameters(m.a, m.c, m.d), accrue::per_token{}, accrue::every{8},
                            accrue::drop_last{}, accrue::clip_by_global_norm{}, accrue::adamw{}, accrue::gather<4>{});
  run(group, instance, m, m.a, m.c, m.d);
  auto const [a, c, d] = group.next_gradients();
  run(group, instance, m, a, c, d);
}

template <class Summation>
void summed(exec const& instance, mixed const& m) {
  accrue::accumulator group(instance, accrue::parameters(m.a, m.b, m.c, m.d), accrue::weighted{}, accrue::every{8},
                            accrue::keep_last{}, accrue::on_microbatch(accrue::clip_by_value{}), Summation{},
                            accrue::sgd{});
  group.accumulate(instance, accrue::mean_gradient{m.a, m.b, m.c, m.d}, accrue::weight{0.5});
  static_cast<void>(group.update());
  accrue::accumulator held(instance, accrue::parameters(m.a, m.b), accrue::per_token{}, accrue::keep_last{},
                           Summation{}, accrue::gather<2>{}, accrue::sgd{});
  run(held, instance, m, m.a, m.b);
  static_cast<void>(held.template snapshot<0>());
  using model = accrue::model<exec, Summation, decltype(accrue::parameters(m.a, m.d))>;
  model one(instance, accrue::parameters(m.a, m.d), 0), other(instance, accrue::parameters(m.a, m.d), 0);
  one.merge("merge", instance, other);
}
template void summed<accrue::compensated>(exec const&, mixed const&);
template void summed<accrue::order_independent>(exec const&, mixed const&);

template <class Adder>
struct add_one {
  Adder add;
  KOKKOS_FUNCTION void operator()(int i) const { add(1.0f, i, i); }
};
struct producer {
  template <class First, class Second>
  void operator()(exec const& instance, First const& a, Second const& f) const {
    auto const add = a.adder();
    Kokkos::parallel_for(Kokkos::RangePolicy<exec>(instance, 0, 2), add_one<decltype(add)>{add});
    static_cast<void>(f[0].sums());
  }
};

void rows_and_written(exec const& instance, mixed const& m) {
  view<accrue::float16**> const halves("rows", 2, 3);
  Kokkos::View<std::int64_t*, exec> const indices("indices", 2);
  accrue::accumulator group(instance, accrue::parameters(m.a, std::vector{m.f}), accrue::per_token{}, accrue::adamw{});
  group.accumulate(accrue::mean_gradient{accrue::rows(indices, halves), accrue::no_gradient}, tokens{1});
  group.accumulate(accrue::sum_gradient{accrue::rows(indices, m.a), accrue::no_gradient}, tokens{1});
  group.accumulate(accrue::mean_written_by{producer{}}, tokens{1}, accrue::last_contribution);
  accrue::accumulator complex(instance, accrue::parameters(Kokkos::View<Kokkos::complex<double>*, exec>("d", 2)),
                              accrue::per_token{}, accrue::sgd{});
  complex.accumulate(
      accrue::sum_gradient{accrue::rows(indices, Kokkos::View<Kokkos::complex<float>*, exec>("rows", 2))}, tokens{1});
}

struct unlikely {
  double bound;
  KOKKOS_FUNCTION bool operator()(accrue::group_finding const& found) const { return found.norm > bound; }
};
struct reads_scale {
  accrue::scale_cell<exec>::view_type scale;
  view<float> loss;
  KOKKOS_FUNCTION void operator()(int) const { loss() *= scale(); }
};

void scaled_and_rejecting(exec const& instance, mixed const& m) {
  accrue::accumulator group(
      instance, accrue::parameters(m.a, m.c, m.d), accrue::per_token{}, accrue::every{4}, accrue::pad_last{},
      accrue::dynamic_scale::megatron(), accrue::reject_microbatch{.max_norm = 10.0, .max_consecutive = 5},
      accrue::on_microbatch(accrue::clip_by_global_norm{}), accrue::veto_if(unlikely{100.0}), accrue::adamw{});
  Kokkos::parallel_for(Kokkos::RangePolicy<exec>(instance, 0, 1), reads_scale{group.loss_scale().view(), m.loss});
  run(group, instance, m, m.a, m.c, m.d);
  group.accumulate(accrue::mean_gradient{m.a, accrue::no_gradient, m.d}, tokens{1},
                   accrue::sample_ids(std::vector<std::int64_t>{1, 2}));
  static_cast<void>(group.measure());
  static_cast<void>(group.snapshot<0>());
  for (accrue::rejection const& each : group.ledger().rejections()) std::cout << each;
  group.loss_scale().restore(group.loss_scale().state());

  accrue::accumulator bounded(
      instance, accrue::parameters(m.a), accrue::per_token{}, accrue::keep_last{}, accrue::at_least{tokens{4}},
      accrue::reject_microbatch{}, accrue::constant_scale{.scale = 8.0f},
      accrue::on_microbatch(accrue::clip_by_value{}),
      accrue::veto_if(KOKKOS_LAMBDA(accrue::group_finding const& found) { return found.loss > 1.0; }),
      accrue::with_gradient(reads_norm{}));
  run(bounded, instance, m, m.a);

  accrue::accumulator raising(
      instance, accrue::parameters(m.a), accrue::per_token{}, accrue::keep_last{}, accrue::raise{},
      accrue::veto_on_host([](accrue::group_finding const& found) { return found.weight < 2; }), accrue::sgd{});
  run(raising, instance, m, m.a);
}

void closing_together(exec const& instance, mixed const& m) {
  accrue::shared_scale const scale(instance, accrue::dynamic_scale{.at_floor = accrue::overflow_at_floor::stays});
  accrue::accumulator first(instance, accrue::parameters(m.a), accrue::per_token{}, scale, accrue::adam{});
  accrue::accumulator second(instance, accrue::parameters(m.c, m.d), accrue::per_token{}, scale,
                             accrue::clip_by_global_norm{}, accrue::veto_if(unlikely{100.0}), accrue::sgd{});
  accrue::accumulator third(instance, accrue::parameters(m.b), accrue::per_token{}, accrue::reject_microbatch{},
                            accrue::momentum{});
  auto const done = accrue::update_together(first, second, third);
  static_cast<void>(done[0].result());
}

}  // namespace devices
