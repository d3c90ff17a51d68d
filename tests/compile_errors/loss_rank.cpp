// Which of the losses of a batch is the microbatch's?
// expected-error: accrue: a loss on the device is a view of rank 0: take a subview of one element
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient, Kokkos::View<float*> losses) {
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{});
#ifdef ACCRUE_TEST_ERROR
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::mean_loss{losses});
#else
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512}, accrue::mean_loss{Kokkos::subview(losses, 0)});
#endif
  (void)group.update();
}
