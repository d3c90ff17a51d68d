// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_ADD_SUMS_HPP
#define ACCRUE_PASSES_ADD_SUMS_HPP

#include <accrue/core/scalar_id.hpp>
#include <accrue/passes/add.hpp>
#include <accrue/passes/gradient_tables.hpp>
#include <accrue/passes/lending.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace accrue {

/// Sums that are to be added to others, like gradients: where those of their views lie that the group has touched, and
/// what they are multiplied by.
template <class Exec>
struct summand {
  device_table<strided, Exec> views;
  double factor = 0.0;

  template <int Sets>
  void find(Exec const& exec, gradient_tables<Exec, Sets> const& sums, double times) {
    factor = times;
    for (std::size_t at = 0; at < views.size(); ++at)
      views.set(at, sums.touched().is_touched(at) ? sums.sum(at) : strided{});
    views.upload(exec);
  }
};

/// Where the sums lie that begin at `first(block)` and are laid out as the buffer is, by the number of the view.
template <class Model, class First>
[[nodiscard]] std::vector<strided> laid_out_like_sums(Model& model, First const& first) {
  std::vector<strided> all;
  model.for_each_block({}, [&]<class Block>(Block& each, auto const&...) {
    using B = typename Block::buffer_scalar;
    B* const begin = first(each);
    for (std::size_t v = 0; v < each.parameters.size(); ++v)
      all.push_back(run_of(begin + each.placements[v].begin, each.parameters[v].size, scalar_id<B>()));
  });
  return all;
}

/// Adds summands to the sums `to`, up to `Together` of them in one pass, and measures the new sums on the way where a
/// norm is `wanted`. `weigh_for(type of the buffer's scalar, factor)` maps their elements.
template <int Together, class Exec, class Model, int Sets, class WeighFor>
void add_summands(std::string const& label, Exec const& exec, Model& model, gradient_tables<Exec, Sets>& to,
                  std::vector<summand<Exec> const*> const& all, WeighFor const& weigh_for,
                  norm_request const& wanted = {}) {
  for (std::size_t begin = 0; begin < all.size(); begin += Together) {
    std::size_t const count = std::min<std::size_t>(Together, all.size() - begin);
    auto const nth = [&](int j) -> summand<Exec> const& {
      return *all[begin + std::min(static_cast<std::size_t>(j), count - 1)];
    };
    first_touch const first = to.upload(exec, 0);
    norm_request const measured = begin + count == all.size() ? wanted : norm_request{};
    model.for_each_block(measured, [&]<class Block>(Block& each, measuring const& here, exit_gate const& gate) {
      using B = typename Block::buffer_scalar;
      using weigh_type = decltype(weigh_for(std::type_identity<B>{}, 1.0));
      [&]<int... J>(std::integer_sequence<int, J...>) {
        for_each_chunk(label, exec, each.list(),
                       add_chunk<B, B, weigh_type, Together>{each.chunks.data(),
                                                             {nth(J).views.data() + each.first_view...},
                                                             {weigh_for(std::type_identity<B>{}, nth(J).factor)...},
                                                             static_cast<std::int32_t>(count),
                                                             to.sums() + each.first_view,
                                                             to.touched().flags() + each.first_view,
                                                             to.touched().keeps() + each.first_view,
                                                             first,
                                                             scalar_id<B>(),
                                                             each.exceeds_caches(),
                                                             true,
                                                             here,
                                                             gate});
      }
      (std::make_integer_sequence<int, Together>{});
    });
    for (std::size_t j = 0; j < count; ++j)
      for (std::size_t at = 0; at < all[begin + j]->views.size(); ++at)
        if (all[begin + j]->views[at].scalar >= 0) to.touched().touch(at, 1.0);
  }
}

}  // namespace accrue
#endif
