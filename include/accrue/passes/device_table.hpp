// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_DEVICE_TABLE_HPP
#define ACCRUE_PASSES_DEVICE_TABLE_HPP

#include <accrue/core/device_array.hpp>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace accrue {

/// How many contents a table that changes keeps on a device: a training loop goes round between a few of them.
inline constexpr std::size_t table_versions = 4;

/// Writes entries that travel as arguments of the kernel: all of `entries`, or the first one everywhere.
template <class T>
struct write_entries {
  static constexpr std::size_t room = sizeof(T) < 256 ? 256 / sizeof(T) : 1;
  T entries[room];
  T* to;
  bool repeated;
  KOKKOS_FUNCTION void operator()(std::int64_t i) const { to[i] = entries[repeated ? 0 : i]; }
};

/// A small table that the host writes and kernels read.
///
/// Guarantee: entries set before `upload(exec)` are seen by kernels launched on `exec` afterwards, and by no earlier
/// one. Cost: on the host nothing. On a device nothing either while the contents are among the last that were sent;
/// else what is the same everywhere, or small, goes with one or a few small kernels. What is neither is copied, after a
/// fence where the content that it replaces may still be on its way.
template <class T, class Exec, bool Direct = runs_on_host_v<Exec>>
class device_table {
 public:
  device_table() = default;
  device_table(Exec const& exec, std::string const& label, std::vector<T> entries, std::size_t = 1)
      : host_(std::move(entries)), device_(exec, label, host_.size()) {
    device_.write(exec, host_.data());
  }

  [[nodiscard]] T const* data() const { return device_.data(); }
  [[nodiscard]] std::size_t size() const { return host_.size(); }
  [[nodiscard]] T const& operator[](std::size_t i) const { return host_[i]; }

  void set(std::size_t i, T const& entry) {
    if (host_[i] == entry) return;
    host_[i] = entry;
    device_.data()[i] = entry;
  }
  void upload(Exec const&) {}

 private:
  std::vector<T> host_;
  device_array<T, Exec> device_;
};

template <class T, class Exec>
class device_table<T, Exec, false> {
 public:
  device_table() = default;
  /// Cost: allocates as many versions on the device.
  device_table(Exec const& exec, std::string const& label, std::vector<T> entries, std::size_t versions = 1)
      : host_(std::move(entries)), versions_(versions) {
    for (version& each : versions_) each.device = {exec, label, host_.size()};
    send(exec, versions_[0]);
  }

  [[nodiscard]] T const* data() const { return versions_[current_].device.data(); }
  [[nodiscard]] std::size_t size() const { return host_.size(); }
  [[nodiscard]] T const& operator[](std::size_t i) const { return host_[i]; }

  void set(std::size_t i, T const& entry) {
    if (host_[i] == entry) return;
    host_[i] = entry;
    changed_ = true;
  }

  void upload(Exec const& exec) {
    if (!std::exchange(changed_, false)) return;
    auto const known = std::find_if(versions_.begin(), versions_.end(),
                                    [&](version const& each) { return each.last_used > 0 && each.sent == host_; });
    if (known != versions_.end()) {
      use(*known);
      return;
    }
    version& oldest = *std::min_element(versions_.begin(), versions_.end(),
                                        [](version const& a, version const& b) { return a.last_used < b.last_used; });
    send(exec, oldest);
  }

 private:
  struct version {
    std::vector<T> sent;  ///< stays as it is while it may be on its way
    bool on_its_way = false;
    device_array<T, Exec> device;
    std::int64_t last_used = 0;
  };

  void send(Exec const& exec, version& to) {
    if (std::exchange(to.on_its_way, false)) exec.fence("accrue::passes: a table has more contents than are kept");
    to.sent = host_;
    use(to);
    if (host_.empty()) return;
    bool const repeated = std::count(host_.begin(), host_.end(), host_.front()) == std::ssize(host_);
    if (repeated || host_.size() * sizeof(T) <= 4096) {
      std::size_t const room = repeated ? host_.size() : write_entries<T>::room;
      for (std::size_t first = 0; first < host_.size(); first += room)
        write(exec, to.device.data() + first, first, std::min(room, host_.size() - first), repeated);
    } else {
      to.device.write(exec, to.sent.data());
      to.on_its_way = true;
    }
  }
  void write(Exec const& exec, T* to, std::size_t first, std::size_t count, bool repeated) const {
    write_entries<T> entries{{}, to, repeated};
    for (std::size_t i = 0; i < (repeated ? 1 : count); ++i) entries.entries[i] = host_[first + i];
    Kokkos::parallel_for("accrue::passes::table",
                         Kokkos::RangePolicy<Exec, Kokkos::IndexType<std::int64_t>>(exec, 0, count), entries);
  }
  void use(version& now) {
    now.last_used = ++uses_;
    current_ = static_cast<std::size_t>(&now - versions_.data());
  }

  std::vector<T> host_;
  std::vector<version> versions_;
  std::size_t current_ = 0;
  std::int64_t uses_ = 0;
  bool changed_ = false;
};

}  // namespace accrue
#endif
