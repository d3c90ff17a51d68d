// A recipe with one normalization has no terms.
// expected-error: accrue: accrue::of<tag> is for recipes with named terms: hand over the gradient itself, or give the
// accumulator
#include <accrue/accrue.hpp>

struct lm;
struct aux;

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
  group.accumulate(accrue::of<lm>(accrue::mean_gradient{gradient}), accrue::tokens{512});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
#endif
  (void)group.update();
}
