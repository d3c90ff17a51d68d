// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_FINALIZE_STOP_CHECK_HPP
#define ACCRUE_FINALIZE_STOP_CHECK_HPP

#include <accrue/core/decision.hpp>
#include <accrue/core/error.hpp>
#include <accrue/core/outcome.hpp>

#include <cstdint>
#include <string>

namespace accrue {

/// What the host has to look for after an update, because a policy makes it an error: a group that is not finite, so
/// many of them in a row, an overflow where the loss scale is at its floor.
class stop_check {
 public:
  template <class NonFinite, class LossScale>
  stop_check(NonFinite const& non_finite, LossScale const& scaling)
      : raises_(NonFinite::raises),
        limit_(non_finite.most_skips_in_a_row()),
        floor_matters_(scaling.stops_at_floor()) {}

  [[nodiscard]] bool looks() const { return raises_ || limit_ > 0 || floor_matters_; }

  /// Failure: `accrue::error`, with the group closed and on the record.
  void operator()(device_record const& found, device_totals const& totals, bool stuck) const {
    bool const failed = found.result == outcome::skipped_non_finite || found.result == outcome::empty;
    std::string const group = "accrue::accumulator: group " + std::to_string(found.number);
    if (raises_ && failed)
      throw error(group + " is not finite", "the recipe says raise; the group is closed and nothing was changed",
                  "look at the record, or let accrue::skip_group{} pass over it");
    if (floor_matters_ && found.overflowed != 0 && stuck)
      throw error(group + " overflows although the loss scale is at its floor",
                  found.result == outcome::applied
                      ? "no smaller scale would help; the group is closed, without what overflowed"
                      : "no smaller scale would help; the group is closed and nothing was changed",
                  "look for the NaN in the model, or say overflow_at_floor::stays");
    if (limit_ > 0 && failed && totals.consecutive_skips >= limit_)
      throw error(group + " is skipped, as the last of " + std::to_string(totals.consecutive_skips) + " in a row",
                  "the recipe stops after " + std::to_string(limit_) + "; the group is closed and nothing was changed",
                  "look at the records: the data, the learning rate or the loss scale are at fault");
  }

 private:
  bool raises_;
  std::int64_t limit_;
  bool floor_matters_;
};

}  // namespace accrue
#endif
