// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_MEMORY_CALLBACKS_HPP
#define ACCRUE_DOCTOR_MEMORY_CALLBACKS_HPP

#include <accrue/core/error.hpp>
#include <accrue/doctor/memory_book.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>
#include <string_view>
#include <vector>

namespace accrue::detail {

/// The one pair of Kokkos Tools callbacks through which all books of the process hear of memory, from the first book
/// to the last. What was set before is called with every event, and put back.
class memory_callbacks {
 public:
  static memory_callbacks& all() {
    static memory_callbacks only;
    return only;
  }

  /// Failure: `accrue::error` where other callbacks were set over ours and are there still.
  void add(memory_book& book) {
    std::lock_guard const lock(mutex_);
    if (!on_top()) install();
    books_.push_back(&book);
  }
  void remove(memory_book& book) {
    std::lock_guard const lock(mutex_);
    books_.erase(std::find(books_.begin(), books_.end(), &book));
    if (!books_.empty() || !on_top()) return;  // who was set over ours may call ours
    Kokkos::Tools::Experimental::set_allocate_data_callback(allocate_before_);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(free_before_);
    is_below_ = false;
  }
  /// Calls `look()` while no event comes in.
  template <class Look>
  auto reading(Look const& look) {
    std::lock_guard const lock(mutex_);
    return look();
  }

 private:
  using event_set = Kokkos::Tools::Experimental::EventSet;

  [[nodiscard]] static bool on_top() {
    event_set const now = Kokkos::Tools::Experimental::get_callbacks();
    return now.allocate_data == &allocated && now.deallocate_data == &freed;
  }
  void install() {
    event_set const now = Kokkos::Tools::Experimental::get_callbacks();
    bool const came_later = now.allocate_data != nullptr && now.allocate_data != allocate_before_;
    if (is_below_ && came_later)
      throw error("accrue::memory_watch: other callbacks were set over those of a watch",
                  "nobody knows whether they call it, so that memory would be missed or counted twice",
                  "put back what was there before you set them");
    allocate_before_ = now.allocate_data;
    free_before_ = now.deallocate_data;
    Kokkos::Tools::Experimental::set_allocate_data_callback(&allocated);
    Kokkos::Tools::Experimental::set_deallocate_data_callback(&freed);
    is_below_ = true;
  }

  static void allocated(Kokkos::Tools::SpaceHandle const space, char const* label, void const* address,
                        std::uint64_t const bytes) {
    auto const before = all().reading([&] {
      std::string_view name(space.name, sizeof(space.name));
      name = name.substr(0, name.find('\0'));
      for (memory_book* const each : all().books_) {
        try {
          each->allocate(name, label, address, static_cast<std::int64_t>(bytes));
        } catch (std::bad_alloc const&) {  // no room for an entry: what Kokkos allocated is the user's all the same
        }
      }
      return all().allocate_before_;
    });
    if (before != nullptr) before(space, label, address, bytes);
  }
  static void freed(Kokkos::Tools::SpaceHandle const space, char const* label, void const* address,
                    std::uint64_t const bytes) {
    auto const before = all().reading([&] {
      for (memory_book* const each : all().books_) each->free(address);
      return all().free_before_;
    });
    if (before != nullptr) before(space, label, address, bytes);
  }

  std::mutex mutex_;
  std::vector<memory_book*> books_;
  decltype(event_set::allocate_data) allocate_before_ = nullptr;
  decltype(event_set::deallocate_data) free_before_ = nullptr;
  bool is_below_ = false;  ///< ours were set, and not taken back
};

}  // namespace accrue::detail
#endif
