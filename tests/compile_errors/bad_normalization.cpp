// The count of a microbatch has no type that says what it is read from.
// expected-error: accrue::accumulator: the normalization policy does not satisfy accrue::normalization_policy: it needs
#include <accrue/accrue.hpp>

struct per_pair {
  using fills = accrue::slot::normalization;
  using count_type = std::int64_t;
#ifndef ACCRUE_TEST_ERROR
  using needs = accrue::samples;
#endif
  static std::int64_t count(accrue::microbatch_facts const& facts) { return facts.samples.value() / 2; }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), per_pair{}, accrue::keep_last{}, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::samples{8});
  (void)group.update();
  (void)group.end_of_data();
}
