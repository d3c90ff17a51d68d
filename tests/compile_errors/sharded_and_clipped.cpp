// Each microbatch is summed over the replicas before anybody could look at it.
// expected-error: accrue::accumulator: accrue::sharded sums each microbatch over the replicas at once
#include <accrue/accrue.hpp>
#include <accrue/reduce/sharded.hpp>
#include <accrue/replicas.hpp>
#include <support/lone_transport.hpp>

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
  accrue::sharded const replicas{support::lone_transport{}};
  accrue::clip_by_global_norm const clip{.max_norm = 1.0};
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::on_microbatch{clip}, replicas,
                            accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, clip, replicas, accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  group.update();
}
