// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_PASSES_MODEL_HPP
#define ACCRUE_PASSES_MODEL_HPP

#include <accrue/passes/apply.hpp>
#include <accrue/passes/measure.hpp>
#include <accrue/passes/merge_carried.hpp>
#include <accrue/passes/model_views.hpp>
#include <accrue/passes/pieces.hpp>

#include <Kokkos_Core.hpp>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

namespace accrue {

/// Launches the passes over all views of a model.
///
/// Guarantee: one launch per pass and pair of scalar types, whatever the number of views; after construction nothing
/// allocates.
template <class Exec, class Summation, class Set, int Sets = 1>
class model : public model_views<Exec, Summation, Set, Sets> {
  using base = model_views<Exec, Summation, Set, Sets>;

 public:
  using typename base::set_type;
  template <class P>
  using writers = typename base::template writers<P>;

  using base::base;

  /// For passes that are launched elsewhere: `launch(block, what measures there, gate)` for each scalar type.
  template <class Launch>
  void for_each_block(norm_request const& wanted, Launch const& launch) {
    exit_gate const gate = wanted ? gate_of_launches<void>(wanted) : exit_gate{};
    this->storage_.for_each_block([&](auto& each) { launch(each, this->measuring_of(each, wanted), gate); });
  }

  /// Adds the first `count` contributions that are held; `weigh_for(type of the buffer's scalar, number)` maps the
  /// elements of each. Where a norm is `wanted`, of the sums with these contributions in them, it is measured in the
  /// same pass.
  template <class Contribution, class WeighFor>
  void add(std::string const& label, Exec const& exec, int count, WeighFor const& weigh_for,
           norm_request const& wanted = {}, std::int32_t const* rejects = nullptr, piece const* only = nullptr) {
    std::size_t number = 0;
    first_touch first = this->tables_.upload(exec, count);
    if (this->gated_touch() != nullptr) first = first_touch::told;
    exit_gate const gate = wanted ? gate_of_launches<Contribution>(wanted) : exit_gate{};
    this->storage_.for_each_block([&]<class P, class B>(block<Exec, P, B>& each) {
      using found = gradient_scalars<P, set_type, Contribution>;
      using product = product_scalar<Summation, B>;
      using weigh_type = decltype(weigh_for(std::type_identity<product>{}, 0));
      bool takes_absent = true;
      chunk_list const list = chunks_of(each, number++, only);
      found::for_each([&]<class G>(std::type_identity<G>) {
        [&]<int... J>(std::integer_sequence<int, J...>) {
          add_chunk<G, B, weigh_type, Sets> const pass{each.chunks.data(),
                                                       {this->gradients_of(each, J)...},
                                                       {weigh_for(std::type_identity<product>{}, J)...},
                                                       count,
                                                       this->sums_of_block(each),
                                                       this->touched_of(each),
                                                       this->keep_of(each),
                                                       first,
                                                       scalar_id<G>(),
                                                       each.exceeds_caches(),
                                                       std::exchange(takes_absent, false),
                                                       this->measuring_of(each, wanted),
                                                       gate,
                                                       rejects};
          for_each_chunk(label, exec, list, add_what_is_carried<Summation>(each, pass));
        }
        (std::make_integer_sequence<int, Sets>{});
      });
      if (found::size == 0 && wanted) measure_block_of_sums(label, exec, each, wanted, gate);
    });
    if (only == nullptr) this->tables_.touch(count);
  }

  /// Adds the sums that another model has formed of the same parameters, with what is carried beside them.
  void merge(std::string const& label, Exec const& exec, model& other) requires(carries_v<Summation>) {
    this->tables_.upload_sums(exec);
    other.tables_.upload_sums(exec);
    this->storage_.for_each_block([&]<class P, class B>(block<Exec, P, B>& each) {
      for_each_chunk(label, exec, each.list(),
                     merge_chunk<B, carry_of<Summation, B>>{each.chunks.data(), side_of(each),
                                                            other.side_of(other.storage_.template block_of<P>())});
    });
    for (std::size_t view = 0; view < this->directory().size(); ++view)
      if (other.is_touched(view)) this->note_written(view);
  }

  /// Measures the first contribution that is held.
  template <class Contribution>
  void measure_held(std::string const& label, Exec const& exec, norm_request const& wanted) {
    this->tables_.upload(exec, 1);
    exit_gate const gate = gate_of_launches<Contribution>(wanted);
    this->storage_.for_each_block([&]<class P, class B>(block<Exec, P, B>& each) {
      using found = gradient_scalars<P, set_type, Contribution>;
      using read = std::conditional_t<found::size == 0, type_list<B>, found>;
      bool takes_absent = true;
      read::for_each([&]<class G>(std::type_identity<G>) {
        for_each_chunk(
            label, exec, each.list(),
            measure_chunk<G>{each.chunks.data(), this->gradients_of(each, 0), nullptr, nullptr, scalar_id<G>(),
                             std::exchange(takes_absent, false), this->measuring_of(each, wanted), gate});
      });
    });
  }

  /// Measures the raw sums of the touched views; of those alone that `counted` flags, where it is given.
  void measure_sums(std::string const& label, Exec const& exec, norm_request const& wanted,
                    std::uint8_t const* counted = nullptr) {
    this->tables_.upload_sums(exec);
    exit_gate const gate = gate_of_launches<void>(wanted);
    this->storage_.for_each_block([&](auto& each) { measure_block_of_sums(label, exec, each, wanted, gate, counted); });
  }

  /// Measures the raw sums of one piece; with the last of all pieces the total is formed. The gate expects the workers
  /// of all of them; `counted` flags every view.
  void measure_piece(std::string const& label, Exec const& exec, norm_request const& wanted, piece const& only,
                     exit_gate const& gate, std::uint8_t const* counted) {
    this->tables_.upload_sums(exec);
    std::size_t number = 0;
    this->storage_.for_each_block([&](auto& each) {
      if (number++ == only.block) measure_block_of_sums(label, exec, each, wanted, gate, counted, &only.list);
    });
  }

  /// Runs the update pass with one rule per parameter group.
  template <class Rules, class Clip, class Decide>
  void apply(std::string const& label, Exec const& exec, Rules const& rules, Clip const& clip, Decide const& decide,
             std::int64_t* workers_gone) {
    this->tables_.upload_sums(exec);
    exit_gate gate{workers_gone, 0};
    this->storage_.for_each_block([&](auto& each) { gate.expected += each.list().template workers<Exec>(); });
    this->storage_.for_each_block([&]<class P, class B>(block<Exec, P, B>& each) {
      for_each_chunk(label, exec, each.list(),
                     apply_chunk<P, B, Rules, Clip, Decide, writers<P>>{
                         each.chunks.data(), each.parameters.data(), this->sums_of_block(each), each.placements.data(),
                         this->touched_of(each), this->keep_of(each), this->updates_of_view_.data() + each.first_view,
                         each.state(), each.words_apart, rules, clip, decide, gate, this->writing_of(each)});
    });
  }

 private:
  template <class Block>
  [[nodiscard]] auto side_of(Block const& each) const {
    using carry = carry_of<Summation, typename Block::buffer_scalar>;
    return merged_side<carry>{this->sums_of_block(each), each.template carried<carry>(), this->touched_of(each)};
  }
  template <class P, class B>
  void measure_block_of_sums(std::string const& label, Exec const& exec, block<Exec, P, B>& each,
                             norm_request const& wanted, exit_gate const& gate, std::uint8_t const* counted = nullptr,
                             chunk_list const* list = nullptr) {
    measure_chunk<B> const pass{each.chunks.data(),
                                this->sums_of_block(each),
                                counted != nullptr ? counted + each.first_view : this->touched_of(each),
                                this->keep_of(each),
                                scalar_id<B>(),
                                false,
                                this->measuring_of(each, wanted),
                                gate};
    for_each_chunk(label, exec, list == nullptr ? each.list() : *list, settle_what_is_late<Summation>(each, pass));
  }
  /// The workers of a pass that has one launch for each pair of scalars, and one for a block without gradients.
  template <class Contribution>
  [[nodiscard]] exit_gate gate_of_launches(norm_request const& wanted) {
    exit_gate gate{wanted.workers_gone, 0};
    this->storage_.for_each_block([&]<class P, class B>(block<Exec, P, B>& each) {
      constexpr std::size_t launches = gradient_scalars<P, set_type, Contribution>::size;
      gate.expected += each.list().template workers<Exec>() * static_cast<std::int64_t>(launches > 0 ? launches : 1);
    });
    return gate;
  }
};

}  // namespace accrue
#endif
