// One term has one gradient in a microbatch.
// expected-error: accrue: accumulate() was given the same term twice
#include <accrue/accrue.hpp>

struct lm;
struct aux;

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::of<lm>(accrue::mean_gradient{gradient}),
                   accrue::tokens{512});
#else
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::of<aux>(accrue::mean_gradient{gradient}),
                   accrue::tokens{512});
#endif
  (void)group.update();
}
