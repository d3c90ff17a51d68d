// Nothing says when the group is full.
// expected-error: accrue::accumulator: the boundary policy does not satisfy accrue::boundary_policy: it needs
#include <accrue/accrue.hpp>

struct by_positions {
  using fills = accrue::slot::boundary;
#ifndef ACCRUE_TEST_ERROR
  bool full(accrue::group_counts const& held) const { return held.positions >= accrue::positions{4096}; }
#endif
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, by_positions{}, accrue::keep_last{},
                            accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}
