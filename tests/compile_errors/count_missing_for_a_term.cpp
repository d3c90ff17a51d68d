// The term is a mean over samples, and only tokens are counted.
// expected-error: accrue: accumulate() lacks the count that the normalization divides by: add accrue::samples{n}
#include <accrue/accrue.hpp>

struct lm;
struct aux;

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_sample{})), accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::of<aux>(accrue::mean_gradient{gradient}),
                   accrue::tokens{512});
#else
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_sample{})), accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}),
                   accrue::of<aux>(accrue::mean_gradient{gradient}, accrue::samples{4}), accrue::tokens{512});
#endif
  (void)group.update();
}
