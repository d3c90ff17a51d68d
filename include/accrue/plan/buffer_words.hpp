// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PLAN_BUFFER_WORDS_HPP
#define ACCRUE_PLAN_BUFFER_WORDS_HPP

#include <accrue/plan/exact_product.hpp>
#include <accrue/plan/planned.hpp>

#include <cstdint>

namespace accrue::plan {

/// When the sum of a group is divided: the policies of the slot division, by name.
enum class division { late, early, running };

/// What sums are kept in: the policies of the slot summation, by name.
enum class summation { widened, compensated, order_independent };

/// What an element of the buffer is.
enum class buffer_scalar { in_float, in_double };

/// How many numbers the accumulation buffer keeps for each element of the parameters: one for each term of the loss
/// under late division, one for all of them under early.
///
/// Failure: `no_terms`; `terms_not_combined` for several terms under running division.
[[nodiscard]] constexpr planned<std::int64_t> buffer_words(std::int64_t terms, division when) noexcept {
  if (terms < 1) return refusal::no_terms;
  if (terms > 1 && when == division::running) return refusal::terms_not_combined;
  return when == division::late ? terms : std::int64_t{1};
}

/// The bytes of the buffer of so many elements of parameters; a complex element counts for two.
///
/// `compensated` keeps a second number beside each, `order_independent` two doubles beside a float and three beside a
/// double. What the update rule and `gather` keep comes on top. Failure: `terms_not_combined` for several terms under
/// late division beside these two as well; `too_large`.
[[nodiscard]] constexpr planned<std::int64_t> buffer_bytes(std::int64_t elements, std::int64_t terms = 1,
                                                           division when = division::late,
                                                           summation in = summation::widened,
                                                           buffer_scalar of = buffer_scalar::in_float) noexcept {
  auto const words = buffer_words(terms, when);
  if (!words) return *words.reason();
  if (words.value() > 1 && in != summation::widened) return refusal::terms_not_combined;
  std::int64_t const number = of == buffer_scalar::in_float ? 4 : 8;
  std::int64_t const beside = in == summation::widened       ? 0
                              : in == summation::compensated ? number
                              : number == 4                  ? 16
                                                             : 24;
  return exact_product<std::int64_t>({elements, words.value(), number + beside});
}

}  // namespace accrue::plan
#endif
