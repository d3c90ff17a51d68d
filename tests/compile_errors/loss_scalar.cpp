// An integer is no loss that a kernel reads.
// expected-error: accrue: a loss is a number, or a view of one real number that the accumulator's execution space can
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient, Kokkos::View<int> loss) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::mean_loss{loss});
#else
  (void)loss;
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512},
                   accrue::mean_loss{Kokkos::View<float>("loss")});
#endif
  (void)group.update();
}
