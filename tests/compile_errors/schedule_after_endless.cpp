// An inverse square root has no end after which another part could begin.
// expected-error: accrue::schedule::sequence: a part that has no end is followed by another
#include <accrue/accrue.hpp>

double use() {
  accrue::schedule::cosine const falls(accrue::updates{1000});
  accrue::schedule::inverse_square_root const endless(accrue::updates{1000});
#ifdef ACCRUE_TEST_ERROR
  accrue::schedule::sequence const rate(endless, falls);
#else
  accrue::schedule::sequence const rate(falls, endless);
#endif
  return rate.factor(0);
}
