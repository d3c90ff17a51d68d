// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_DOCTOR_WATCHED_PARAMETERS_HPP
#define ACCRUE_DOCTOR_WATCHED_PARAMETERS_HPP

#include <accrue/core/error.hpp>
#include <accrue/core/parameters.hpp>
#include <accrue/doctor/host_copy.hpp>
#include <accrue/doctor/microbatch.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace accrue::doctor {

/// The parameters of a model, free of their types: can be copied, compared bit by bit, and put back.
///
/// Guarantee: keeps its own references to managed views. Cost: copies live on the host; all calls wait for the device.
class watched_parameters {
 public:
  using bytes = std::vector<std::vector<unsigned char>>;

  template <class Sizes, class... Items>
  watched_parameters(parameter_set<Sizes, Items...> const& set)  // NOLINT(google-explicit-constructor)
      : kept_(std::make_shared<std::tuple<Items...>>(set.items)) {
    std::apply(
        [&](auto const&... item) {
          (for_each_view(weights_of(item), [&](auto const& view) { places_.push_back(place_of(view)); }), ...);
        },
        set.items);
  }

  [[nodiscard]] std::size_t size() const { return places_.size(); }
  [[nodiscard]] tensor const& operator[](std::size_t parameter) const { return places_[parameter].tensor; }
  [[nodiscard]] std::string name(std::size_t parameter) const {
    std::string const number = std::to_string(parameter);
    if (parameter >= size() || places_[parameter].tensor.label.empty()) return joined({"parameter ", number});
    return joined({"parameter ", number, " ('", places_[parameter].tensor.label, "')"});
  }

  [[nodiscard]] bytes copy() const {
    Kokkos::fence("accrue::doctor: copy parameters");
    bytes all;
    for (place const& each : places_) all.push_back(each.bytes());
    return all;
  }
  void put_back(bytes& copied) const {
    for (std::size_t p = 0; p < size(); ++p)
      if (!copied[p].empty()) places_[p].write(places_[p].where, places_[p].element_bytes, copied[p].data());
  }
  /// Writes numbers into the parameters, rounded to their scalars.
  void write(std::vector<double> const& numbers) const {
    auto at = numbers.begin();
    for (place const& each : places_) {
      std::vector<unsigned char> rounded = rounded_bytes(each, at);
      if (!rounded.empty()) each.write(each.where, each.element_bytes, rounded.data());
      at += each.tensor.size;
    }
  }
  [[nodiscard]] std::vector<double> numbers() const {
    Kokkos::fence("accrue::doctor: copy parameters");
    std::vector<double> all;
    for (place const& each : places_) append_numbers(each, all);
    return all;
  }

  /// Gives a gradient the names of the parameters, and zeros where it has none.
  ///
  /// Failure: `accrue::error` where numbers or sizes of the tensors are others.
  void fit(gradient& given) const {
    if (given.tensors.size() != size())
      throw error(joined({"accrue::doctor: ", std::to_string(given.tensors.size()), " gradients for ",
                          std::to_string(size()), " parameters"}),
                  "each parameter has one gradient", "hand them over in the order of the parameters");
    std::vector<double> all;
    auto next = given.values.begin();
    for (std::size_t p = 0; p < size(); ++p) {
      tensor& t = given.tensors[p];
      tensor const& own = places_[p].tensor;
      if (t.size < 0) {
        t = own;
        all.insert(all.end(), static_cast<std::size_t>(own.size), 0.0);
        continue;
      }
      if (t.size != own.size)
        throw error(joined({"accrue::doctor: the gradient of ", name(p), " has ", std::to_string(t.size),
                            " numbers, the parameter ", std::to_string(own.size)}),
                    "they are compared one by one", "hand over a gradient of the parameter's shape");
      t.label = name(p);
      all.insert(all.end(), next, next + t.size);
      next += t.size;
    }
    given.values = std::move(all);
  }

 private:
  std::shared_ptr<void const> kept_;
  std::vector<place> places_;
};

}  // namespace accrue::doctor
#endif
