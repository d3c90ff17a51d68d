// With one replica its own gradient is that of the group.
// expected-error: accrue::accumulator: on_replica clips by norm before a sum over replicas
#include <accrue/accrue.hpp>
#include <accrue/replicas.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::clip_by_global_norm const clip{.max_norm = 1.0};
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::on_replica(clip), accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, clip, accrue::sgd{});
#endif
  group.accumulate(accrue::sum_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}
