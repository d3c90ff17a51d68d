// Nothing says what becomes of the last group.
// expected-error: accrue::accumulator: the last-group policy does not satisfy accrue::last_group_policy: it needs
#include <accrue/accrue.hpp>

struct as_it_comes {
  using fills = accrue::slot::last_group;
#ifndef ACCRUE_TEST_ERROR
  static constexpr accrue::last_group_action action = accrue::last_group_action::update;
#endif
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, as_it_comes{}, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}
