// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_LEDGER_CSV_HPP
#define ACCRUE_LEDGER_CSV_HPP

#include <accrue/core/error.hpp>
#include <accrue/ledger/ledger.hpp>

#include <limits>
#include <ostream>
#include <sstream>

namespace accrue {

/// The names of the columns that `write_csv_row` writes.
inline void write_csv_header(std::ostream& out) {
  out << "group,outcome,microbatches,ignored_microbatches,samples,tokens,ignored_tokens,positions,weight,norm,clip_"
         "factor,loss,loss_scale,rejected_microbatches,term_weights\n";
}

/// One closed group as a line of comma-separated values; numbers in the C locale, with all their digits; an absent loss
/// is an empty field, and so are the weights of named terms where there are none; else they stand there with semicolons
/// between them.
inline void write_csv_row(std::ostream& out, record const& r) {
  std::ostringstream row;
  row.imbue(std::locale::classic());
  row.precision(std::numeric_limits<double>::max_digits10);
  group_counts const& n = r.counts;
  row << r.number << ',' << r.result << ',' << n.microbatches.value() << ',' << n.ignored_microbatches.value() << ','
      << n.samples.value() << ',' << n.tokens.value() << ',' << n.ignored_tokens.value() << ',' << n.positions.value()
      << ',' << r.weight << ',' << r.norm << ',' << r.clip_factor << ',';
  if (r.loss) row << *r.loss;
  row << ',' << r.loss_scale << ',' << r.rejected.microbatches.value();
  row << ',';
  for (std::size_t t = 0; t < r.terms; ++t) row << (t > 0 ? ";" : "") << r.term_weights[t];
  out << row.str() << '\n';
}

/// The last closed groups as comma-separated values with a header.
///
/// Failure: `accrue::error` where the stream does not take it.
inline void write_csv(std::ostream& out, ledger const& book) {
  write_csv_header(out);
  for (record const& r : book.records()) write_csv_row(out, r);
  if (!out.flush())
    throw error("accrue::write_csv: the stream does not take the records", "the file would be cut short",
                "check the path and the space on the disk");
}

/// An observer that writes every group's line as soon as its outcome is known: the long memory of a run.
///
/// Guarantee: the stream outlives the accumulator, by the user's care.
class csv_writer {
 public:
  explicit csv_writer(std::ostream& out) : out_(&out) { write_csv_header(out); }
  void group_recorded(record const& entry) { write_csv_row(*out_, entry); }

 private:
  std::ostream* out_;
};

}  // namespace accrue
#endif
