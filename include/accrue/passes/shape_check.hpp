// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_SHAPE_CHECK_HPP
#define ACCRUE_PASSES_SHAPE_CHECK_HPP

#include <accrue/core/half.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/state_fields.hpp>
#include <accrue/passes/view_directory.hpp>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace accrue {

namespace detail {
[[nodiscard]] constexpr std::string_view scalar_name(std::int32_t id) {
  constexpr auto is = [](std::int32_t number, auto zero) { return number == scalar_id<decltype(zero)>(); };
  return is(id, float{})                     ? "float"
         : is(id, double{})                  ? "double"
         : is(id, Kokkos::complex<float>{})  ? "complex<float>"
         : is(id, Kokkos::complex<double>{}) ? "complex<double>"
         : is(id, float16{})                 ? "float16"
         : is(id, bfloat16{})                ? "bfloat16"
                                             : "another scalar";
}
[[nodiscard]] constexpr std::size_t bytes_of_scalar(std::int32_t id) { return static_cast<std::size_t>(id & 0xFF); }
/// Of a real number; a complex one is two of them.
[[nodiscard]] constexpr std::size_t bytes_of_real(std::int32_t id) {
  return bytes_of_scalar(id) / ((id & 0x100) != 0 && (id & 0x200) == 0 ? 2 : 1);
}

/// What must be equal for the elements of a view to go on where they lay.
[[nodiscard]] inline std::string shape_text(directory_entry const& entry, std::int32_t sums) {
  std::string text = joined(
      {scalar_name(entry.storage.scalar), " ", view_directory::text(entry.shape), ", summed in ", scalar_name(sums)});
  std::string order;
  for (int r = 0; r < entry.shape.rank; ++r) {
    int const index = entry.order[static_cast<std::size_t>(r)];
    if (entry.shape.extent[static_cast<std::size_t>(index)] != 1) order += ' ' + std::to_string(index);
  }
  if (order.size() > 2) text += joined({", indices in memory", order});
  if (entry.copy.scalar >= 0) text += joined({", copied into ", scalar_name(entry.copy.scalar)});
  if (entry.at_random) text += ", rounded at random";
  return text;
}
}  // namespace detail

/// The same for all views of a model, with their groups of parameters.
template <class Model>
[[nodiscard]] std::vector<std::string> shape_texts(Model const& model) {
  view_directory const& directory = model.directory();
  std::vector<std::string> all;
  for (std::size_t v = 0; v < directory.size(); ++v)
    all.push_back(detail::shape_text(directory[v], model.tables().sum(directory[v].number).scalar) + ", in group " +
                  std::to_string(model.storage().group(v)));
  return all;
}

/// Compares the parameters of a file, their number, shapes and words of state, with those of a model.
struct shape_check {
  std::vector<std::string> const& mine;
  view_directory const& directory;
  int words;
  template <class Visit>
  void state(Visit&& visit) {
    std::int64_t views = 0;
    std::int64_t saved_words = 0;
    visit(views, saved_words);
    if (views != static_cast<std::int64_t>(mine.size()))
      refuse_difference(
          {"the file has ", std::to_string(views), " parameters, the accumulator ", std::to_string(mine.size())});
    std::string theirs;
    for (std::size_t v = 0; v < mine.size(); ++v) {
      visit(theirs);
      if (theirs != mine[v])
        refuse_difference(
            {directory.name(v), " is ", printable(theirs), " in the file, ", mine[v], " in the accumulator"});
    }
    if (saved_words != words)
      refuse_difference({"the file has ", std::to_string(saved_words),
                         " words of rule state for each element, the accumulator ", std::to_string(words)});
  }
};

/// Labels may change, but not name another parameter than they did: then the order is another.
struct label_check {
  view_directory const& directory;
  template <class Visit>
  void state(Visit&& visit) {
    std::string theirs;
    for (std::size_t v = 0; v < directory.size(); ++v) {
      visit(theirs);
      if (theirs.empty() || theirs == directory[v].label) continue;
      for (std::size_t other = 0; other < directory.size(); ++other)
        if (directory[other].label == theirs)
          refuse_difference({directory.name(v), " is '", printable(theirs), "' in the file, which is ",
                             directory.name(other), " of the accumulator"});
    }
  }
};

}  // namespace accrue
#endif
