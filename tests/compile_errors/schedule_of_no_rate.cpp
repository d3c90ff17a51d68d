// A rule of the user that has no learning rate to multiply.
// expected-error: accrue::scheduled: the rule has no member learning_rate
#include <accrue/accrue.hpp>

struct descend {
  KOKKOS_FUNCTION void operator()(float& theta, float gradient) const { theta -= gradient; }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::schedule::cosine const rate(accrue::updates{1000});
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{},
                            accrue::scheduled(accrue::per_element(descend{}), rate));
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::scheduled(accrue::sgd{}, rate));
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}
