// A schedule does not go by microbatches, which are A times as many.
// expected-error: accrue::schedule: a schedule goes by accrue::updates, accrue::samples or accrue::tokens
#include <accrue/accrue.hpp>

double use() {
#ifdef ACCRUE_TEST_ERROR
  accrue::schedule::cosine const rate(accrue::microbatches{1000});
#else
  accrue::schedule::cosine const rate(accrue::updates{1000});
#endif
  return rate.factor(0);
}
