// What becomes the sums at once cannot be looked at first.
// expected-error: accrue::accumulator: adopt() takes whole gradients
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::reject_microbatch{}, accrue::sgd{});
  group.adopt(accrue::mean_gradient{std::move(gradient)}, accrue::tokens{512});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::skip_group{}, accrue::sgd{});
  group.adopt(accrue::mean_gradient{std::move(gradient)}, accrue::tokens{512});
#endif
  (void)group.update();
}
