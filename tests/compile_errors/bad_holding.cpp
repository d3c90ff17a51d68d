// No kernel adds five sets at once.
// expected-error: accrue::accumulator: the holding policy does not satisfy accrue::holding_policy: it needs sets, from
// 1
#include <accrue/accrue.hpp>

struct five_at_once {
  using fills = accrue::slot::holding;
  static constexpr int sets = 5;
  static constexpr int lent = 0;
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, five_at_once{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::sgd{}, accrue::gather<4>{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
}
