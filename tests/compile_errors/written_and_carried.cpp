// A producer that writes into the sums knows nothing of what is carried beside them.
// expected-error: accrue: accrue::compensated and accrue::order_independent keep more than the sums
#include <accrue/accrue.hpp>

void use(Kokkos::View<float*> theta) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::order_independent{}, accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::widened{}, accrue::sgd{});
#endif
  auto const write = [](auto const&, auto const& target) { (void)target.sums(); };
  group.accumulate(accrue::mean_written_by{write}, accrue::tokens{512});
}
