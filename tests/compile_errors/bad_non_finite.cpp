// The policy does not say whether it raises.
// expected-error: accrue::accumulator: the non-finite policy does not satisfy accrue::non_finite_policy
#include <accrue/accrue.hpp>

struct rejecting {
  using fills = accrue::slot::non_finite;
  static constexpr bool rejects = true;
  double largest_norm() const { return 1.0; }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, rejecting{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::reject_microbatch{.max_norm = 1.0},
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}
