// A function of the user would leave the copy as it was.
// expected-error: accrue::accumulator: with_gradient leaves the update to your function, which rounds and copies itself
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<accrue::bfloat16*> copy) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(accrue::master_weights{theta, copy}), accrue::per_token{},
                            accrue::with_gradient([](auto const&) {}));
#else
  accrue::accumulator group(accrue::parameters(accrue::master_weights{theta, copy}), accrue::per_token{},
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{theta}, accrue::tokens{512});
  (void)group.update();
}
