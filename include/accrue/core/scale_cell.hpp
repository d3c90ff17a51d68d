// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_CORE_SCALE_CELL_HPP
#define ACCRUE_CORE_SCALE_CELL_HPP

#include <accrue/core/device_array.hpp>
#include <accrue/core/error.hpp>
#include <accrue/core/loss_scale_state.hpp>

#include <Kokkos_Core.hpp>
#include <memory>
#include <string>
#include <utility>

namespace accrue {

/// A loss scale as it lies on the device, for whoever multiplies losses by it; copies are the same scale.
///
/// Order: constant from the first microbatch of a group to its update; read it when the group opens, on the instance of
/// the accumulator or after a fence. Example: `float const scale = group.loss_scale().value();`
template <class Exec>
class scale_cell {
 public:
  using memory_space = typename Exec::memory_space;
  using view_type = Kokkos::View<float const, memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  scale_cell(Exec const& exec, loss_scale_state const& initial)
      : exec_(exec), state_(exec, "accrue::finalize::loss_scale", 1), open_(std::make_shared<int>(0)) {
    put(initial);
  }

  /// For kernels: what losses are multiplied by. Valid as long as a copy of this object is.
  [[nodiscard]] view_type view() const { return view_type(&state_.data()->scale); }
  /// The same number on the host. Cost: one fence.
  [[nodiscard]] float value() const { return state().scale; }

  /// All five numbers, to be saved. Cost: one fence.
  [[nodiscard]] loss_scale_state state() const {
    loss_scale_state found;
    state_.read(exec_, "accrue::finalize: read the loss scale", 0, 1, &found);
    return found;
  }
  /// Goes on from numbers that were saved.
  ///
  /// Failure: `accrue::error` while a group is open that was filled under the scale as it is.
  void restore(loss_scale_state const& saved) {
    require_no_open_group("restore()");
    if (!saved.plausible())
      throw error("accrue::scale_cell: a state that no loss scale can have", "gradients would be divided by it",
                  "check where it was saved");
    put(saved);
  }

  // The accumulator's side.

  void put(loss_scale_state const& state) const {
    state_.write(exec_, &state);
    if constexpr (!runs_on_host_v<Exec>) exec_.fence("accrue::finalize: write the loss scale");
  }
  /// The same scale, read on another instance.
  [[nodiscard]] scale_cell on(Exec const& exec) const {
    scale_cell same = *this;
    same.exec_ = exec;
    return same;
  }

  [[nodiscard]] loss_scale_state* data() const { return state_.data(); }
  void open_group() const { ++*open_; }
  void close_group() const { --*open_; }
  [[nodiscard]] int open_groups() const { return *open_; }
  void require_no_open_group(char const* call) const {
    if (*open_ > 0)
      throw error(joined({"accrue: ", call, " changes the loss scale inside a group"}),
                  "contributions of one group must have been multiplied by one scale",
                  "close the group first, with update() or discard()");
  }

 private:
  Exec exec_;
  device_array<loss_scale_state, Exec> state_;
  std::shared_ptr<int> open_;  ///< groups that are being filled under this scale
};

/// One accumulator's use of a scale: counts its open group among those of the scale.
template <class Exec>
class scale_use {
 public:
  explicit scale_use(scale_cell<Exec> cell) : cell_(std::move(cell)) {}
  scale_use(scale_use&& other) noexcept : cell_(other.cell_), open_(std::exchange(other.open_, false)) {}
  scale_use& operator=(scale_use&& other) noexcept {
    close();
    cell_ = other.cell_;
    open_ = std::exchange(other.open_, false);
    return *this;
  }
  ~scale_use() { close(); }

  [[nodiscard]] scale_cell<Exec> const& cell() const { return cell_; }
  void open() {
    if (!std::exchange(open_, true)) cell_.open_group();
  }
  void close() {
    if (std::exchange(open_, false)) cell_.close_group();
  }

 private:
  scale_cell<Exec> cell_;
  bool open_ = false;
};

/// In place of one where losses are not scaled.
struct no_scale_use {
  void open() const {}
  void close() const {}
};

}  // namespace accrue
#endif
