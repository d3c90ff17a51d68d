// What a producer adds to the sums was never a gradient of its own.
// expected-error: accrue: accrue::on_microbatch and accrue::reject_microbatch read a microbatch
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{},
                            accrue::on_microbatch(accrue::clip_by_global_norm{}));
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{},
                            accrue::clip_by_global_norm{});
#endif
  group.accumulate(accrue::mean_written_by{[](auto const&, auto const&) {}}, accrue::tokens{512});
}
