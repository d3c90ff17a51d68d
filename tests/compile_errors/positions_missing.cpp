// What a normalization of one's own counts is missing too.
// expected-error: accrue: accumulate() lacks the count that the normalization policy names in its member type needs:
// add it
#include <accrue/accrue.hpp>

struct per_position {
  using fills = accrue::slot::normalization;
  using needs = accrue::positions;
  using count_type = std::int64_t;
  static count_type count(accrue::microbatch_facts const& facts) { return facts.positions.value(); }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), per_position{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::positions{552});
#endif
  (void)group.update();
}
