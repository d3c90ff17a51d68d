// Terms are added as they arrive.
// expected-error: accrue::accumulator: named terms are added as they arrive, and clipped as one: leave out
// accrue::gather
#include <accrue/accrue.hpp>

struct lm;
struct aux;

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      accrue::gather<2>{}, accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::tokens{512});
#else
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::tokens{512});
#endif
  (void)group.update();
}
