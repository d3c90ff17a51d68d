// A division that does not say what the sums are divided by already.
// expected-error: accrue::accumulator: the division policy does not satisfy accrue::division_policy: it needs
// keeps_sums and divided_by(weight)
#include <accrue/accrue.hpp>

struct says_nothing {
  using fills = accrue::slot::division;
};
struct in_halves {
  using fills = accrue::slot::division;
  static constexpr bool keeps_sums = false;
  double divided_by(double) const { return 2.0; }
};

void use(Kokkos::View<float*> theta, Kokkos::View<float*> gradient) {
#ifdef ACCRUE_TEST_ERROR
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, says_nothing{},
                            accrue::sgd{});
#else
  accrue::accumulator group(accrue::parameters(theta), accrue::per_token{}, accrue::keep_last{}, in_halves{},
                            accrue::sgd{});
#endif
  group.accumulate(accrue::mean_gradient{gradient}, accrue::tokens{512});
  (void)group.update();
  (void)group.end_of_data();
}
