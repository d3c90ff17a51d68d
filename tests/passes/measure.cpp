// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/accumulate/weigh.hpp>
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/add.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/device_table.hpp>
#include <accrue/passes/measure.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

template struct accrue::measure_chunk<float>;
template struct accrue::on_share<accrue::measure_chunk<Kokkos::complex<double>>>;
template struct accrue::in_team<accrue::measure_chunk<double>>;

namespace {

using exec = Kokkos::DefaultExecutionSpace;
using complex = Kokkos::complex<double>;

/// What a pass leaves: a part for each chunk, and their total.
struct measurement {
  std::vector<accrue::norm_partial> partials;
  accrue::norm_partial total;
};

/// Launches the pass, with `threads` shares of the chunks.
template <class T>
measurement measured(exec const& instance, accrue::device_table<accrue::chunk, exec> const& chunks,
                     accrue::device_table<accrue::strided, exec> const& views, std::uint8_t const* touched,
                     accrue::measuring wanted, bool takes_absent = false, double left_over = 0.0,
                     std::int64_t threads = 3) {
  std::vector<accrue::chunk> list;
  for (std::size_t c = 0; c < chunks.size(); ++c) list.push_back(chunks[c]);
  accrue::device_table<accrue::share, exec> const shares(instance, "shares", accrue::cut_into_shares(list, threads));
  auto const count = static_cast<std::int64_t>(chunks.size());
  Kokkos::View<accrue::norm_partial*> const partials("partials", chunks.size() + 1);
  Kokkos::View<std::int64_t> const gone("gone");
  auto const host = Kokkos::create_mirror_view(partials);
  for (std::size_t c = 0; c < chunks.size(); ++c) host(c).sum = left_over;
  Kokkos::deep_copy(partials, host);
  wanted.partials = partials.data();
  wanted.all = partials.data();
  wanted.chunks = count;
  wanted.total = partials.data() + count;
  accrue::chunk_list const all{chunks.data(), shares.data(), count, threads};
  accrue::for_each_chunk("measure", instance, all,
                         accrue::measure_chunk<T>{chunks.data(),
                                                  views.data(),
                                                  touched,
                                                  nullptr,
                                                  accrue::scalar_id<T>(),
                                                  takes_absent,
                                                  wanted,
                                                  {gone.data(), all.workers<exec>()}});
  Kokkos::deep_copy(host, partials);
  return {{host.data(), host.data() + count}, host(chunks.size())};
}

/// Views of random numbers in one piece of memory, and what a plain loop finds of each.
template <class T>
struct measured_views {
  Kokkos::View<T*> memory;
  accrue::device_table<accrue::strided, exec> views;
  accrue::device_table<accrue::chunk, exec> chunks;

  measured_views(std::vector<std::int64_t> const& sizes, std::int64_t stride, double scale, exec const& instance) {
    std::vector<accrue::strided> list;
    std::int64_t total = 0;
    for (std::int64_t size : sizes) total += size * stride;
    memory = Kokkos::View<T*>("memory", static_cast<std::size_t>(total));
    auto const host = Kokkos::create_mirror_view(memory);
    std::mt19937 engine{7};
    auto const number = [&] { return (static_cast<double>(engine() % 2048) - 1023.5) / 1024.0; };
    for (std::size_t i = 0; i < host.extent(0); ++i) {
      if constexpr (accrue::is_complex_v<T>)
        host(i) = T(static_cast<typename T::value_type>(number() * scale),
                    static_cast<typename T::value_type>(number() * scale));
      else
        host(i) = accrue::narrow<T>(number() * scale);
    }
    Kokkos::deep_copy(memory, host);
    total = 0;
    for (std::int64_t size : sizes) {
      accrue::strided view = accrue::run_of(memory.data() + total, size, accrue::scalar_id<T>());
      view.axes[0].stride = stride;
      list.push_back(view);
      total += size * stride;
    }
    views = {instance, "views", list};
    chunks = {instance, "chunks", accrue::cut_into_chunks(sizes)};
  }

  measurement measure(exec const& instance, double p, std::vector<std::uint8_t> const& touched = {},
                      bool thoroughly = false, std::int64_t threads = 3) const {
    accrue::device_table<std::uint8_t, exec> const flags(instance, "touched", touched);
    return measured<T>(instance, chunks, views, touched.empty() ? nullptr : flags.data(),
                       {.order = {p}, .thoroughly = thoroughly}, false, 0.0, threads);
  }

  /// The norm over all views, in long double, and the largest modulus.
  std::pair<double, double> plain(double p, std::int64_t stride, std::int64_t from, std::int64_t until) const {
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, memory);
    long double sum = 0.0L;
    double largest = 0.0;
    for (std::int64_t i = from * stride; i < until * stride; i += stride) {
      double modulus = 0.0;
      if constexpr (accrue::is_complex_v<T>)
        modulus = std::hypot(static_cast<double>(host(i).real()), static_cast<double>(host(i).imag()));
      else
        modulus = std::abs(static_cast<double>(accrue::widen(host(i))));
      sum += std::pow(static_cast<long double>(modulus), static_cast<long double>(p));
      largest = std::max(largest, modulus);
    }
    return {static_cast<double>(std::pow(sum, 1.0L / static_cast<long double>(p))), largest};
  }
};

template <class T>
void check_measure(double scale, double tolerance) {
  exec const instance;
  std::vector<std::int64_t> const sizes{1, 7, 0, 9, 16 * 1024, 2 * 16 * 1024 + 5, 31};
  std::int64_t total = 0;
  for (std::int64_t size : sizes) total += size;
  for (std::int64_t stride : {1, 3}) {
    measured_views<T> const all(sizes, stride, scale, instance);
    for (double p : {1.0, 2.0, 3.0})
      for (bool thoroughly : {false, true}) {
        auto const found = all.measure(instance, p, {}, thoroughly).total;
        auto const [norm, largest] = all.plain(p, stride, 0, total);
        CHECK(accrue::norm_of(accrue::norm_order{p}, found, 1.0) / norm == doctest::Approx(1.0).epsilon(tolerance));
        if (thoroughly || p != 2.0) CHECK(found.largest / largest == doctest::Approx(1.0).epsilon(tolerance));
        CHECK(found.non_finite == 0);
      }
  }
}

}  // namespace

TEST_CASE("measure: finds norm and largest modulus of views of every scalar, in runs and with strides") {
  // Sums of n = 49,000 positive terms in 8 lanes are off by n / 8 roundings at most, and by far fewer in fact.
  double const tolerance = 49000.0 / 8.0 * std::numeric_limits<double>::epsilon();
  check_measure<float>(1.0, tolerance);
  check_measure<double>(1.0, tolerance);
  check_measure<accrue::float16>(1.0, tolerance);
  check_measure<accrue::bfloat16>(1.0, tolerance);
  check_measure<complex>(1.0, tolerance);
  check_measure<Kokkos::complex<float>>(1.0, std::numeric_limits<float>::epsilon());  // of its modulus, a float
}

TEST_CASE("measure: values whose powers leave the range of double are rescaled") {
  double const tolerance = 49000.0 * std::numeric_limits<double>::epsilon();
  check_measure<double>(1e-200, tolerance);
  check_measure<double>(1e200, tolerance);
  check_measure<complex>(1e-250, tolerance);
}

TEST_CASE("measure: a complex number of floats whose modulus is no float is finite all the same") {
  exec const instance;
  measured_views<Kokkos::complex<float>> const one({1}, 1, 1.0, instance);
  Kokkos::deep_copy(one.memory, Kokkos::complex<float>(3e38f, 2e38f));
  auto const partials = one.measure(instance, 2.0).partials;
  CHECK(partials[0].non_finite == 0);
  CHECK(partials[0].largest == doctest::Approx(std::hypot(3e38, 2e38)).epsilon(1e-6));
}

TEST_CASE_TEMPLATE("measure: one NaN or infinity is found in every place", T, float, double, accrue::bfloat16) {
  exec const instance;
  using wide = accrue::accumulation_scalar_t<T>;
  std::int64_t const n = accrue::chunk_elements + 20;
  measured_views<T> const all({n}, 1, 1.0, instance);
  for (wide bad : {std::numeric_limits<wide>::quiet_NaN(), std::numeric_limits<wide>::infinity()})
    for (std::int64_t place :
         {std::int64_t(0), std::int64_t(1), std::int64_t(1000), std::int64_t(1023), n - 21, n - 20, n - 1}) {
      auto const element = Kokkos::subview(all.memory, place);
      T kept{};
      Kokkos::deep_copy(kept, element);
      Kokkos::deep_copy(element, T(bad));
      auto const partials = all.measure(instance, 2.0).partials;
      std::size_t const hit = place < accrue::chunk_elements ? 0 : 1;
      CHECK(partials[hit].non_finite != 0);
      CHECK(partials[1 - hit].non_finite == 0);
      Kokkos::deep_copy(element, kept);
    }
}

TEST_CASE("measure: views that no microbatch touched, or of another scalar, are zero or left out") {
  exec const instance;
  measured_views<double> all({3, 5}, 1, 1.0, instance);
  auto const both = all.measure(instance, 1.0, {1, 1}).partials, second = all.measure(instance, 1.0, {0, 1}).partials;
  CHECK(both[0].sum > 0.0);
  CHECK(second[0].sum == 0.0);
  CHECK(second[0].largest == 0.0);
  CHECK(second[1].sum == both[1].sum);

  // A view of another scalar is measured by another launch; one without data is cleared by the launch that is asked.
  std::vector<accrue::strided> views{all.views[0], all.views[1], accrue::strided{}};
  views[1].scalar = accrue::scalar_id<float>();
  all.views = {instance, "views", views};
  all.chunks = {instance, "chunks", accrue::cut_into_chunks({3, 5, 2})};
  for (bool clears : {false, true}) {
    auto const found = measured<double>(instance, all.chunks, all.views, nullptr, {.order = {1.0}}, clears, 77.0);
    CHECK(found.partials[0].sum == both[0].sum);
    CHECK(found.partials[1].sum == 77.0);
    CHECK(found.partials[2].sum == (clears ? 0.0 : 77.0));
  }
}

TEST_CASE_TEMPLATE("measure: the norm has the same bits for any number of threads", T, float, double, complex) {
  exec const instance;
  measured_views<T> const all({7, 3 * accrue::chunk_elements + 11, 0, 100, accrue::chunk_elements}, 1, 1.0, instance);
  for (double p : {1.0, 2.0, 3.0}) {
    double const one = all.measure(instance, p, {}, false, 1).total.sum;
    for (std::int64_t threads : {2, 3, 5, 64}) CHECK(all.measure(instance, p, {}, false, threads).total.sum == one);
  }
}

TEST_CASE("merge_partials: joins as merged does, from nothing") {
  accrue::norm_partial total{};
  accrue::merge_partials const merge{&total, accrue::norm_order{2.0}};
  accrue::norm_partial a{};
  merge.init(a);
  merge.join(a, {.sum = 9.0, .largest = 3.0});
  merge.join(a, {.sum = 16.0, .largest = 4.0});
  CHECK(a.sum == 25.0);
  CHECK(a.largest == 4.0);
  CHECK(&merge.reference() == &total);
}

TEST_CASE("measure: a finite complex<float> whose modulus exceeds float keeps its norm") {
  using scalar = Kokkos::complex<float>;
  scalar element(3e38f, 3e38f);  // a modulus formed in float is Inf, and the group would be skipped
  accrue::norm_order const order{2.0};
  accrue::strided const view = accrue::run_of(&element, 1, accrue::scalar_id<scalar>());
  auto const part = accrue::measuring{.order = order}.share<scalar>(view, {0, 1, 0}, accrue::lone_worker{});
  CHECK(part.non_finite == 0);
  CHECK(accrue::norm_of(order, part, 1.0) == doctest::Approx(std::sqrt(2.0) * double(3e38f)).epsilon(1e-15));
}

namespace {

/// The first of a team of three, whose share of a norm is not merged with the others'.
struct first_of_three {
  [[nodiscard]] static int team_rank() { return 0; }
  [[nodiscard]] static int team_size() { return 3; }
  static void team_reduce(accrue::merge_partials const&) {}
};

/// The squares of a device thread while gradients are added that begin so many elements into their memory, and in a
/// pass over the sums alone.
template <class G>
std::pair<double, double> squares_of_thread(std::size_t lead) {
  constexpr std::int64_t size = 67;
  std::vector<G> gradients(lead + size);
  for (std::size_t i = 0; i < gradients.size(); ++i) gradients[i] = G(0.37f * static_cast<float>(i % 11));
  alignas(64) float sums[size];
  accrue::chunk const part{0, size, 0};
  accrue::strided const from = accrue::run_of(gradients.data() + lead, size, accrue::scalar_id<G>());
  accrue::strided const to = accrue::run_of(sums, size, accrue::scalar_id<float>());
  std::uint8_t const touched = 1;
  double const keep = 1.0;
  accrue::norm_partial fused, alone;
  accrue::measuring wanted{.order = {2.0}, .partials = &fused};
  using add = accrue::add_chunk<G, float, accrue::weigh_plainly<float>, 1>;
  add const pass{&part,       {&from}, {{0.5f}}, 1,      &to, &touched, &keep, accrue::first_touch::all,
                 from.scalar, false,   false,    wanted, {}};
  first_of_three const member;
  accrue::team_worker<first_of_three> const worker{member};
  pass(pass.enter(), 0, worker);
  wanted.partials = &alone;
  accrue::measure_chunk<float>{&part, &to, nullptr, nullptr, to.scalar, false, wanted, {}}({}, 0, worker);
  return {fused.sum, alone.sum};
}

}  // namespace

TEST_CASE("measure: on a device too a norm measured on the way has the bits of a pass of its own") {
  for (std::size_t const lead : {0, 1, 2, 3, 4, 8}) {
    auto const [fused, alone] = squares_of_thread<float>(lead);
    CHECK(fused == alone);
    auto const [fused_narrow, alone_narrow] = squares_of_thread<accrue::bfloat16>(lead);
    CHECK(fused_narrow == alone_narrow);
    auto const [fused_wide, alone_wide] = squares_of_thread<double>(lead);
    CHECK(fused_wide == alone_wide);
    CHECK(fused_wide > 0.0);
  }
}
