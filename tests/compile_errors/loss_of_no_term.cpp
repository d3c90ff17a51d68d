// The loss of a microbatch is the sum of those of its terms.
// expected-error: accrue: a loss is that of a term: write it inside, accrue::of<tag>(gradient, accrue::mean_loss{...})
#include <accrue/accrue.hpp>

struct lm;
struct aux;

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::mean_loss{1.0}, accrue::tokens{512});
#else
  accrue::accumulator group(
      accrue::parameters(theta),
      accrue::terms(accrue::term<lm>(accrue::per_token{}), accrue::term<aux>(accrue::per_microbatch{}, 0.01)),
      accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}, accrue::mean_loss{1.0}), accrue::tokens{512});
#endif
  (void)group.update();
}
