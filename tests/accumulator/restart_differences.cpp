// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Differences between a saved accumulator and another that are easy to miss.
#include "support/host.hpp"

#include <accrue/accrue.hpp>
#include <accrue/restart.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <filesystem>
#include <fstream>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using accrue::mean_gradient;
using support::make_view;
using support::values;

namespace {

template <class From, class To>
std::string refusal(From&& saved, To&& other) {
  std::stringstream file;
  accrue::save(saved, file);
  try {
    accrue::load(other, file);
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "none";
}
bool says(std::string const& said, char const* what) { return said.find(what) != std::string::npos; }

template <class... Policies>
auto group_of(Policies... policies) {
  return accrue::accumulator(accrue::parameters(make_view<float>({0})), accrue::per_token{}, policies...,
                             accrue::sgd{});
}

struct first_term {};
struct second_term {};

}  // namespace

TEST_CASE("a boundary or a division in another unit is another policy, whatever its number") {
  CHECK(says(refusal(group_of(accrue::at_least{accrue::tokens{4096}}), group_of(accrue::at_least{accrue::samples{8}})),
             "the recipe in the file says at_least tokens"));
  CHECK(refusal(group_of(accrue::at_least{accrue::tokens{4096}}), group_of(accrue::at_least{accrue::tokens{8}})) ==
        "none");
  CHECK(refusal(group_of(accrue::early(accrue::weight{2048.0})), group_of(accrue::early(accrue::tokens{2048}))) !=
        "none");
}

TEST_CASE("parameters in other groups, or in another order, are refused") {
  auto const view = [](char const* label) { return Kokkos::View<float*>(label, 1); };
  auto const a = view("a"), b = view("b"), c = view("c");
  auto const rules = [] { return accrue::per_group{accrue::sgd{}, accrue::sgd{.learning_rate = 100.0}}; };
  accrue::accumulator one(accrue::parameter_groups(accrue::parameters(a), accrue::parameters(b, c)),
                          accrue::per_token{}, rules());
  accrue::accumulator two(accrue::parameter_groups(accrue::parameters(a, b), accrue::parameters(c)),
                          accrue::per_token{}, rules());
  CHECK(says(refusal(one, two), "in group"));

  accrue::accumulator weights_first(accrue::parameters(a, b), accrue::per_token{}, accrue::sgd{});
  accrue::accumulator bias_first(accrue::parameters(b, a), accrue::per_token{}, accrue::sgd{});
  CHECK(says(refusal(weights_first, bias_first), "is 'a' in the file"));
  accrue::accumulator renamed(accrue::parameters(a, view("d")), accrue::per_token{}, accrue::sgd{});
  CHECK(refusal(weights_first, renamed) == "none");
}

TEST_CASE("a comma for a point in the global locale makes no difference") {
  struct comma_for_a_point : std::numpunct<char> {
    [[nodiscard]] char do_decimal_point() const override { return ','; }
  };
  auto saved = group_of(accrue::clip_by_global_norm{.max_norm = 0.5});
  std::stringstream file;
  accrue::save(saved, file);
  auto const before = std::locale::global(std::locale(std::locale::classic(), new comma_for_a_point));
  auto other = group_of(accrue::clip_by_global_norm{.max_norm = 0.5});
  CHECK_NOTHROW(accrue::load(other, file));
  std::locale::global(before);
}

TEST_CASE("an update of named terms that a veto broke off is looked at, saved and finished as it was") {
  bool throws = true;
  auto const theta = make_view<double>({0});
  auto const make = [&](auto const& view) {
    return accrue::accumulator(accrue::parameters(view),
                               accrue::terms(accrue::term<first_term>(accrue::per_token{}),
                                             accrue::term<second_term>(accrue::per_microbatch{})),
                               accrue::veto_on_host([&throws](accrue::group_finding const&) {
                                 if (throws) throw std::runtime_error("not now");
                                 return false;
                               }),
                               accrue::sgd{.learning_rate = 1.0});
  };
  auto group = make(theta);
  for (int n = 0; n < 2; ++n)
    group.accumulate(accrue::of<first_term>(mean_gradient{make_view<double>({1})}),
                     accrue::of<second_term>(mean_gradient{make_view<double>({10})}), accrue::tokens{4});
  CHECK_THROWS_AS(group.update(), std::runtime_error);
  CHECK(group.measure().norm == 11.0);
  CHECK(values(group.template snapshot<0>()) == std::vector<double>{11});
  std::stringstream file;
  accrue::save(group, file);
  auto const other = make_view<double>({5});
  auto resumed = make(other);
  accrue::load(resumed, file);
  throws = false;
  CHECK(resumed.update() == accrue::outcome::applied);
  CHECK(values(other) == std::vector<double>{-11});
  CHECK(group.update() == accrue::outcome::applied);
  CHECK(values(theta) == std::vector<double>{-11});
}

TEST_CASE("a folder is no state, and a link stays one") {
  namespace fs = std::filesystem;
  fs::path const folder = fs::temp_directory_path() / "accrue-restart-differences";
  fs::remove_all(folder);
  fs::create_directories(folder);
  auto group = group_of(accrue::keep_last{});
  CHECK_THROWS_AS(accrue::load_file(group, folder.string()), accrue::error);
  std::ofstream(folder / "target") << "old";
  fs::create_symlink(folder / "target", folder / "link");
  accrue::save_file(group, (folder / "link").string());
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(fs::file_size(folder / "target") > 3);
  CHECK_NOTHROW(accrue::load_file(group, (folder / "link").string()));
  fs::remove_all(folder);
}
