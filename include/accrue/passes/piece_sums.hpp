// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_PIECE_SUMS_HPP
#define ACCRUE_PASSES_PIECE_SUMS_HPP

#include <accrue/passes/pieces.hpp>

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace accrue {

/// Adds what is held of each piece, sums it over the replicas and measures it while it is still in the caches.
template <class Add, class Sum, class Measure>
void sum_in_turn(std::vector<piece> const& pieces, Add const& add, Sum const& sum, Measure const& measure) {
  for (piece const& each : pieces) {
    add(each);
    sum(each);
    measure(each);
  }
}

/// The same while pieces are on their way: a thread sums one, while this one adds the next and measures those that have
/// arrived. Failure: what `sum` throws there is thrown here.
template <class Add, class Sum, class Measure>
void sum_on_a_thread(std::vector<piece> const& pieces, Add const& add, Sum const& sum, Measure const& measure) {
  std::mutex guard;
  std::condition_variable changed;
  std::size_t added = 0, arrived = 0;
  std::exception_ptr failed;
  bool given_up = false;
  std::thread summing([&] {
    try {
      for (std::size_t p = 0; p < pieces.size(); ++p) {
        {
          std::unique_lock lock(guard);
          changed.wait(lock, [&] { return added > p || given_up; });
          if (given_up) return;
        }
        sum(pieces[p]);
        std::lock_guard const lock(guard);
        ++arrived;
        changed.notify_all();
      }
    } catch (...) {
      std::lock_guard const lock(guard);
      failed = std::current_exception();
      changed.notify_all();
    }
  });
  std::size_t measured = 0;
  auto const measure_arrived = [&](bool wait) {
    std::unique_lock lock(guard);
    while (measured < pieces.size() && !failed) {
      if (arrived == measured && !wait) return;
      changed.wait(lock, [&] { return arrived > measured || failed; });
      if (failed) return;
      lock.unlock();
      measure(pieces[measured++]);
      lock.lock();
    }
  };
  try {
    for (piece const& each : pieces) {
      add(each);
      {
        std::lock_guard const lock(guard);
        ++added;
        changed.notify_all();
      }
      measure_arrived(false);
    }
    measure_arrived(true);
  } catch (...) {
    {
      std::lock_guard const lock(guard);
      given_up = true;
      changed.notify_all();
    }
    summing.join();
    throw;
  }
  summing.join();
  if (failed) std::rethrow_exception(failed);
}

}  // namespace accrue
#endif
