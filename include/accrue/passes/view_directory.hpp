// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_VIEW_DIRECTORY_HPP
#define ACCRUE_PASSES_VIEW_DIRECTORY_HPP

#include <accrue/core/contribution.hpp>
#include <accrue/core/error.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/storage_overlap.hpp>
#include <accrue/core/strided.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace accrue {

/// One view of the model, in the order in which the user gave them.
struct directory_entry {
  std::size_t block;   ///< of its scalar type
  std::size_t local;   ///< its number in the block
  std::size_t number;  ///< its number in the tables that span all blocks
  view_shape shape;
  index_order order;
  strided storage;
  std::size_t element_bytes;
  std::string label;
  strided copy{};  ///< of the weights, rounded; `scalar` is -1 where there is none
  std::size_t copy_element_bytes = 0;
  bool at_random = false;  ///< whether an update rounds its values up or down at random
  bool in_common = false;  ///< whether partners hold it as well
};

/// Knows every parameter's name, shape and place, and checks gradients against them.
class view_directory {
 public:
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] directory_entry const& operator[](std::size_t view) const { return entries_[view]; }
  /// Numbers the views of a block from `first` on.
  void number_block(std::size_t block, std::size_t first) {
    for (directory_entry& entry : entries_)
      if (entry.block == block) entry.number = first + entry.local;
  }

  template <class View>
  strided const& enter(View const& view, std::size_t block, std::size_t local) {
    using scalar = typename View::non_const_value_type;
    return enter(shape_of(view), view.data(), scalar_id<scalar>(), sizeof(scalar), view.label(), block, local);
  }

  /// The copies of the weights that were entered last.
  template <class Weights, class Copy>
  void enter_copies(master_weights<Weights, Copy> const& item) {
    using scalar = typename view_of_t<Copy>::non_const_value_type;
    std::size_t const weights = view_count(item.weights);
    std::size_t const copies = view_count(item.copy);
    if (copies != weights)
      throw error(joined({"accrue::master_weights: ", std::to_string(copies), " copies for ", std::to_string(weights),
                          " weights"}),
                  "each is rounded into a copy of its own", "give vectors of the same length");
    std::size_t view = size() - weights;
    for_each_view(item.copy, [&](auto const& copy) {
      enter_copy(view++, shape_of(copy), copy.data(), scalar_id<scalar>(), sizeof(scalar));
    });
  }

  /// The last `count` that were entered are rounded at random.
  void round_at_random(std::size_t count) {
    for (std::size_t v = size() - count; v < size(); ++v) entries_[v].at_random = true;
  }

  /// The last `count` that were entered are held by partners as well.
  void hold_in_common(std::size_t count) {
    for (std::size_t v = size() - count; v < size(); ++v) entries_[v].in_common = true;
  }

  /// Every element has memory, and one place in it: a shared tensor is named once, and gets the sum of its gradients.
  void refuse_bad_storage() const {
    std::vector<written> all;
    for (std::size_t v = 0; v < size(); ++v) {
      directory_entry const& entry = entries_[v];
      all.push_back({&entry.storage, entry.element_bytes, v, false});
      if (entry.copy.scalar >= 0) all.push_back({&entry.copy, entry.copy_element_bytes, v, true});
    }
    for (written const& each : all) {
      if (each.storage->data == nullptr && each.storage->size > 0)
        throw error(joined({"accrue::parameters: ", name(each), " was never allocated"}), "there is nothing to update",
                    "construct the view with a label and extents");
      if (repeats_elements(*each.storage))
        throw error(joined({"accrue::parameters: ", name(each), " has several indices for one element"}),
                    "its gradient has no single place to go", "pass the view of the stored elements");
    }
    for (std::size_t a = 0; a < all.size(); ++a)
      for (std::size_t b = a + 1; b < all.size(); ++b)
        if (share_elements(*all[a].storage, all[a].element_bytes, *all[b].storage, all[b].element_bytes))
          throw error(joined({"accrue::parameters: ", name(all[a]), " and ", name(all[b]), " share storage"}),
                      "it would be counted twice in the norm and updated twice",
                      "name it once and hand over the sum of its gradients");
  }

  /// Checks the gradients of one item, `view` being the number of its first parameter, and notes where they lie.
  template <parameter_item Item, class Gradient>
  void check(Item const& parameter, Gradient const& gradient, std::size_t& view) {
    std::size_t const first = view;
    std::size_t const expected = view_count(weights_of(parameter));
    std::size_t const given = for_each_gradient(
        parameter, gradient,
        [&]<class View>(View const& g) {
          using element = typename View::non_const_value_type;
          check_one(shape_of(g), const_cast<element*>(g.data()), scalar_id<element>(), view++);
        },
        [&] { gradients_[view++] = strided{}; });
    if (given != expected) refuse_count(given, expected, first);
  }

  /// Calls `present(view)` or `absent()` for each gradient of an item, but not for more than it has views. Returns how
  /// many gradients there are.
  template <parameter_item Item, class Gradient, class Present, class Absent>
  static std::size_t for_each_gradient(Item const& item, Gradient const& gradient, Present const& present,
                                       Absent const& absent) {
    std::size_t const expected = view_count(weights_of(item));
    std::size_t given = 0;
    auto const note = [&](auto const& g) { given++ < expected ? void(present(g)) : void(); };
    auto const note_absent = [&] { given++ < expected ? void(absent()) : void(); };
    if constexpr (std::same_as<Gradient, no_gradient_t> || is_rows_v<Gradient>) {  // rows are added by themselves
      while (given < expected) note_absent();
    } else if constexpr (view_item<Gradient>) {
      for_each_view(gradient, note);
    } else if constexpr (requires { gradient.has_value(); }) {
      gradient.has_value() ? note(*gradient) : note_absent();
    } else {
      for (auto const& each : gradient) each.has_value() ? note(*each) : note_absent();
    }
    return given;
  }

  /// A gradient was written where one of its group is still needed.
  [[noreturn]] void refuse_overwriting(std::size_t view) const {
    throw error(joined({"accrue: the gradient of ", name(view), " lies where one of this group is still needed"}),
                "that one was overwritten", "ask for next_gradients() before each microbatch");
  }

  void no_gradients() { gradients_.assign(gradients_.size(), strided{}); }

  /// Where the gradient of a view lies that was checked last; `scalar` is -1 where it has none.
  [[nodiscard]] strided const& gradient(std::size_t view) const { return gradients_[view]; }

  [[nodiscard]] std::string name(std::size_t view) const {
    std::string const number = std::to_string(view);
    if (view >= size() || entries_[view].label.empty()) return joined({"parameter ", number});
    return joined({"parameter ", number, " ('", entries_[view].label, "')"});
  }

  [[nodiscard]] static std::string text(view_shape const& shape) {
    std::string list = "(";
    for (int r = 0; r < shape.rank; ++r)
      list.append(r > 0 ? ", " : "").append(std::to_string(shape.extent[static_cast<std::size_t>(r)]));
    return list.append(")");
  }

 private:
  /// Memory that an update writes: a parameter, or the copy of one.
  struct written {
    strided const* storage;
    std::size_t element_bytes;
    std::size_t view;
    bool is_copy;
  };
  [[nodiscard]] std::string name(written const& which) const {
    return which.is_copy ? joined({"the copy of ", name(which.view)}) : name(which.view);
  }

  void enter_copy(std::size_t view, view_shape const& shape, void* data, std::int32_t scalar, std::size_t bytes) {
    directory_entry& entry = entries_[view];
    if (!shape.same_extents(entry.shape))
      throw error(joined({"accrue::master_weights: ", name(view), " has extents ", text(entry.shape), ", its copy ",
                          text(shape)}),
                  "elements are rounded one by one", "give a copy of the weights' shape");
    entry.copy = fold(shape, entry.order, data, scalar);
    entry.copy_element_bytes = bytes;
  }
  strided const& enter(view_shape const& shape, void* data, std::int32_t scalar, std::size_t element_bytes,
                       std::string label, std::size_t block, std::size_t local) {
    index_order const order = order_in_memory(shape);
    directory_entry entry{block,         local,           local, shape, order, fold(shape, order, data, scalar),
                          element_bytes, std::move(label)};
    entries_.push_back(std::move(entry));
    gradients_.emplace_back();
    return entries_.back().storage;
  }

  [[noreturn]] void refuse_count(std::size_t given, std::size_t expected, std::size_t first) const {
    throw error(joined({"accrue: ", std::to_string(given), " gradients for ", std::to_string(expected),
                        " parameters, from ", name(first)}),
                "each parameter has one gradient", "leave a std::optional empty where there is none");
  }

  /// Not a template: the same for every type of view, so that it is compiled once.
  void check_one(view_shape const& shape, void* data, std::int32_t scalar, std::size_t view) {
    directory_entry const& entry = entries_[view];
    if (!shape.same_extents(entry.shape))
      throw error(joined({"accrue: ", name(view), " has extents ", text(entry.shape), ", its gradient ", text(shape)}),
                  "gradients are added index by index", "hand over a gradient of the parameter's shape");
    if (data == nullptr && shape.size() > 0)
      throw error(joined({"accrue: the gradient of ", name(view), " was never allocated"}), "there is nothing to add",
                  "write accrue::no_gradient where a parameter has none");
    if (data == entry.storage.data && shape.size() > 0)
      throw error(joined({"accrue: the gradient of ", name(view), " is the parameter itself"}),
                  "its values would be added up as a gradient", "hand over the view that the gradient was written to");
    gradients_[view] = fold(shape, entry.order, data, scalar);
  }

  std::vector<directory_entry> entries_;
  std::vector<strided> gradients_;
};

}  // namespace accrue
#endif
