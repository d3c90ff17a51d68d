// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_EXAMPLES_SUPPORT_MEMORY_CHECK_HPP
#define ACCRUE_EXAMPLES_SUPPORT_MEMORY_CHECK_HPP

#include <accrue/doctor/memory_watch.hpp>
#include <accrue/ledger/record_ring.hpp>
#include <accrue/plan/memory_line.hpp>

#include <cmath>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <vector>

#include "format.hpp"
#include "memory_use.hpp"

namespace examples {

/// Prints, for several microbatches of which a group consists, the most that Kokkos views hold while `train(m, A)`
/// runs, beside what the memory model says: from the sizes, and by the line through the first and the last one. Returns
/// whether all is within 10 %.
template <class Train>
bool memory_model_holds(accrue::plan::model_sizes sizes, int batch, std::vector<int> const& microbatches,
                        Train const& train) {
  auto const run = [&](int m) {
    std::ostringstream unread;
    std::streambuf* const out = std::cout.rdbuf(unread.rdbuf());
    train(m, batch / m);
    std::cout.rdbuf(out);
  };
  run(microbatches.front());  // Kokkos allocates for itself at the first launch
  std::vector<std::int64_t> peaks;
  for (int const m : microbatches) {
    accrue::memory_watch const watch;
    run(m);
    peaks.push_back(peak_bytes(watch));
  }
  sizes.other_bytes += sizeof(accrue::device_book);  // the records of the ledger
  auto const measured = [&](std::size_t i) {
    return accrue::plan::memory_peak{accrue::samples{microbatches[i]}, peaks[i]};
  };
  auto const from_sizes = accrue::plan::memory_of(sizes).value();
  auto const from_peaks = accrue::plan::calibrated(measured(0), measured(peaks.size() - 1)).value();

  bool holds = true;
  std::cout << "Memory of views in bytes, measured and by the model\n"
            << "      m      A    measured  from sizes       from two peaks\n";
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    std::cout << std::right << std::setw(7) << microbatches[i] << std::setw(7) << batch / microbatches[i]
              << std::setw(12) << peaks[i];
    for (auto const& model : {from_sizes, from_peaks}) {
      std::int64_t const said = model.bytes(accrue::samples{microbatches[i]}).value();
      double const off = 100.0 * static_cast<double>(said - peaks[i]) / static_cast<double>(peaks[i]);
      std::cout << std::setw(12) << said << std::setw(7) << fixed(off, 1) << " %";
      holds = holds && std::abs(off) < 10;
    }
    std::cout << '\n';
  }
  std::cout << (holds ? "All are within 10 %.\n" : "They are NOT all within 10 %.\n");
  return holds;
}

}  // namespace examples
#endif
