// The scale does not say what becomes of it after a group.
// expected-error: accrue::accumulator: the loss scale policy does not satisfy accrue::loss_scale_policy
#include <accrue/accrue.hpp>

struct fixed {
  using fills = accrue::slot::loss_scale;
  static constexpr bool scales = true;
  accrue::loss_scale_state initial_state() const { return {.scale = 2.0f}; }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, fixed{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::constant_scale{.scale = 2.0f},
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}
