// A clip that looks at a microbatch has to see it before it is added.
// expected-error: accrue::accumulator: adopt() takes whole gradients, mean_gradient or sum_gradient without rows
#include <accrue/accrue.hpp>

#include <utility>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{},
                            accrue::on_microbatch(accrue::clip_by_global_norm{.max_norm = 1.0}));
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{},
                            accrue::clip_by_global_norm{.max_norm = 1.0});
#endif
  (void)group.adopt(accrue::mean_gradient{std::move(gradient)}, accrue::tokens{512});
}
