// Two terms have two weights.
// expected-error: accrue::early: announce the count that the normalization divides by: accrue::tokens{n} for per_token
#include <accrue/accrue.hpp>

struct lm;
struct aux;

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      accrue::early{accrue::tokens{512}}, accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::tokens{512});
#else
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      accrue::early{accrue::tokens{512}, accrue::microbatches{1}}, accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::of<aux>(accrue::mean_gradient{gradient}),
                   accrue::tokens{512});
#endif
  (void)group.update();
}
