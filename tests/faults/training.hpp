// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_TESTS_FAULTS_TRAINING_HPP
#define ACCRUE_TESTS_FAULTS_TRAINING_HPP

#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include <Kokkos_Core.hpp>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

/// A small training with something of everything: three scalars, a strided view, gathered gradients, groups that are
/// skipped, microbatches without gradient or weight.
namespace faults {

using namespace accrue;

struct tensors {
  Kokkos::View<double*, Kokkos::HostSpace> a{"a", 9};
  Kokkos::View<float**, Kokkos::HostSpace> whole{"whole", 6, 10};
  Kokkos::View<float**, Kokkos::LayoutStride, Kokkos::HostSpace> b =
      Kokkos::subview(whole, Kokkos::ALL, Kokkos::pair<int, int>(2, 7));
  Kokkos::View<bfloat16*, Kokkos::HostSpace> c{"c", 12};

  [[nodiscard]] auto set() const { return parameters(a, b, c); }
  void fill(std::int64_t with) const { fill_with(with, a, b, c); }

  static void fill_with(std::int64_t with, auto const& a, auto const& b, auto const& c) {
    auto const number = [&](std::size_t i) {
      return std::sin(static_cast<double>(i + 1) * (1.0 + 0.37 * double(with)));
    };
    using third = typename std::remove_cvref_t<decltype(c)>::value_type;
    for (std::size_t i = 0; i < a.size(); ++i) a(i) = number(i);
    for (std::size_t i = 0; i < b.size(); ++i) b(i / 5, i % 5) = static_cast<float>(number(i + 100));
    for (std::size_t i = 0; i < c.size(); ++i) c(i) = narrow<third>(static_cast<float>(number(i + 200)));
  }
};

inline auto accumulator_of(tensors const& theta) {
  return accumulator(theta.set(), per_token{}, every{5}, keep_last{}, gather<2>{}, clip_by_global_norm{.max_norm = 0.8},
                     adamw{.learning_rate = 0.05});
}

/// Gradients that stay alive for as long as `gather` holds them.
class feeder {
 public:
  template <class Group>
  void operator()(Group& group, std::int64_t m) const {
    if (m % 5 == 0) {  // written where its sum belongs, to be weighed later
      auto const [a, b, c] = group.next_gradients();
      tensors::fill_with(m + 1, a, b, c);
      group.accumulate(mean_gradient{a, b, c}, tokens{10 + m % 9}, mean_loss{0.2});
      return;
    }
    tensors const& g = lent_[static_cast<std::size_t>(m % 4)];
    g.fill(m + 1);
    if (m % 23 == 11) g.a(3) = std::numeric_limits<double>::quiet_NaN();
    auto const count = tokens{m % 7 == 3 ? 0 : 10 + 3 * (m % 5)};
    if (m % 3 == 1)
      group.accumulate(mean_gradient{g.a, no_gradient, g.c}, count, mean_loss{0.1 * double(m)});
    else
      group.accumulate(mean_gradient{g.a, g.b, g.c}, count, mean_loss{0.1 * double(m)});
    if (!group.full()) return;
    if (m % 2 == 0) group.change_rule(adamw{.learning_rate = 1.0 / double(20 + m)});
    group.update();
  }

 private:
  std::vector<tensors> lent_ = std::vector<tensors>(4);
};

template <class Group>
std::string bytes_of(Group& group) {
  std::ostringstream out;
  save(group, out);
  return out.str();
}

/// The parts of a state's bytes.
struct layout {
  static constexpr std::size_t head = 12, tail = 4 + 3 + 8 + 8;  ///< before the first section; from the last on
  struct section {
    std::string name;
    std::size_t begin, content, end;
  };
  std::vector<section> sections;

  explicit layout(std::string const& file) {
    auto const number = [&](std::size_t at, unsigned bytes) {
      return static_cast<std::size_t>(detail::little(reinterpret_cast<unsigned char const*>(file.data()) + at, bytes));
    };
    for (std::size_t at = head; at + tail < file.size();) {
      std::size_t const content = at + 4 + number(at, 4) + 8;
      sections.push_back({file.substr(at + 4, number(at, 4)), at, content, content + number(content - 8, 8)});
      at = sections.back().end;
    }
  }
};

/// The content of each section.
inline std::map<std::string, std::string> sections_of(std::string const& file) {
  std::map<std::string, std::string> all;
  for (auto const& each : layout(file).sections) all[each.name] = file.substr(each.content, each.end - each.content);
  return all;
}

/// The same bytes with the checksum that fits them.
inline std::string sealed(std::string file) {
  checksum sum;
  sum.add(reinterpret_cast<unsigned char const*>(file.data()), file.size() - 8);
  for (unsigned b = 0; b < 8; ++b) file[file.size() - 8 + b] = static_cast<char>(sum.value() >> 8 * b);
  return file;
}

// The campaigns: each says what it did, and returns whether nothing went wrong.
bool kills(char const* program, int count, unsigned seed);
bool corruption(int count, unsigned seed);
bool poison(int count, unsigned seed);

/// The process that is killed: trains, saves, goes on from the file. Kills itself after `microbatches` of them: between
/// two calls, or in the middle of writing. Leaves the last state in a file with `.end` behind its name.
void run_to_the_end(std::string const& file, std::int64_t microbatches, bool while_writing);

}  // namespace faults

#endif
