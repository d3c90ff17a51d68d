// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/half.hpp>
#include <accrue/interop/pointer.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

namespace {

// Adds every element of a view to another one, twice, as accumulation of two equal microbatches does.
template <class From, class To>
struct add_twice {
  From from;
  To to;

  KOKKOS_FUNCTION void operator()(int i) const { to(i) += from(i) + from(i); }
};

template <class Call>
std::string what(Call call) {
  try {
    call();
  } catch (accrue::error const& e) {
    return e.what();
  }
  return "nothing thrown";
}

}  // namespace

TEST_CASE("a pointer with extents is read row by row") {
  // [pointer]
  std::vector<float> const gradient{1, 2, 3, 4, 5, 6};  // memory that is there already
  auto const view = accrue::from_pointer(gradient.data(), 2, 3);
  // [/pointer]
  static_assert(std::is_same_v<decltype(view)::value_type, float const>);
  static_assert(std::is_same_v<decltype(view)::memory_space, Kokkos::HostSpace>);
  static_assert(decltype(view)::rank() == 2);
  CHECK(view.use_count() == 0);  // it owns nothing
  CHECK(view.data() == gradient.data());
  CHECK(view(0, 2) == 3.0f);
  CHECK(view(1, 0) == 4.0f);
}

TEST_CASE_TEMPLATE("P-075: memory aligned for its elements only is read and written rightly", T, float, double) {
  alignas(64) std::array<T, 9> memory{};
  for (std::size_t i = 1; i != 9; ++i) memory[i] = static_cast<T>(i);
  alignas(64) std::array<T, 10> sums{};

  auto const from = accrue::from_pointer(memory.data() + 1, 8);
  auto const to = accrue::from_pointer(sums.data() + 1, 8);
  Kokkos::parallel_for("add_twice", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, 8),
                       add_twice<decltype(from), decltype(to)>{from, to});
  Kokkos::fence();
  CHECK(sums == std::array<T, 10>{0, 2, 4, 6, 8, 10, 12, 14, 16, 0});
}

TEST_CASE("P-075: so is a sub-range of a view") {
  Kokkos::View<float*, Kokkos::HostSpace> const whole("whole", 9);
  for (int i = 0; i != 9; ++i) whole(i) = static_cast<float>(i);
  auto const part = Kokkos::subview(whole, Kokkos::make_pair(1, 9));
  auto const view = accrue::from_pointer(part.data(), part.extent(0));
  CHECK(view(0) == 1.0f);
  CHECK(view(7) == 8.0f);
}

TEST_CASE("a pointer without extents is one number, and eight extents are the most") {
  double x = 2.0;
  auto const scalar = accrue::from_pointer(&x);
  static_assert(decltype(scalar)::rank() == 0);
  scalar() += 1.0;
  CHECK(x == 3.0);

  auto const eight = accrue::from_pointer(&x, 1, 1, 1, 1, 1, 1, 1, 1);
  static_assert(decltype(eight)::rank() == 8);
  CHECK(eight(0, 0, 0, 0, 0, 0, 0, 0) == 3.0);
}

TEST_CASE("no memory is needed where nothing is there") {
  float* const none = nullptr;
  CHECK(accrue::from_pointer(none, 0).extent(0) == 0);
  CHECK(accrue::from_pointer(none, 3, 0).extent(0) == 3);
}

TEST_CASE("what cannot be a view says so") {
  std::array<double, 4> memory{};
  double* const none = nullptr;
  CHECK(what([&] { (void)accrue::from_pointer(none, 4); }).find("accrue::from_pointer: the pointer is null; ") == 0);
  CHECK(what([&] { (void)accrue::from_pointer(none); }).find("accrue::from_pointer: the pointer is null; ") == 0);
  CHECK(what([&] {
          (void)accrue::from_pointer(memory.data(), 2, -2);
        }).find("accrue::from_pointer: an extent is negative; ") == 0);
  CHECK(what([&] {
          (void)accrue::from_pointer(memory.data(), -1, 0);
        }).find("accrue::from_pointer: an extent is negative; ") == 0);
  std::int64_t const many = std::int64_t(1) << 31;
  CHECK(what([&] {
          (void)accrue::from_pointer(memory.data(), many, many);
        }).find("accrue::from_pointer: the extents exceed the address space; ") == 0);

  auto const between = reinterpret_cast<double*>(reinterpret_cast<std::uintptr_t>(memory.data()) + 4);
  CHECK(what([&] {
          (void)accrue::from_pointer(between, 2);
        }).find("accrue::from_pointer: the pointer is not a multiple of 8 bytes; ") == 0);
}

TEST_CASE("the standard's complex numbers are seen as those of Kokkos") {
  alignas(16) std::array<std::complex<float>, 2> memory{{{1, 2}, {3, 4}}};
  auto const view = accrue::from_pointer(memory.data(), 2);
  static_assert(std::is_same_v<decltype(view)::value_type, Kokkos::complex<float>>);
  CHECK(view(1).real() == 3.0f);
  CHECK(view(1).imag() == 4.0f);
  static_assert(
      std::is_same_v<decltype(accrue::from_pointer(static_cast<std::complex<double> const*>(nullptr), 0))::value_type,
                     Kokkos::complex<double> const>);
}

TEST_CASE("a complex number off the alignment that Kokkos gives it is refused") {
  if constexpr (alignof(Kokkos::complex<double>) > alignof(std::complex<double>)) {
    alignas(16) std::array<double, 5> memory{};
    auto const between = reinterpret_cast<std::complex<double>*>(memory.data() + 1);
    CHECK(what([&] {
            (void)accrue::from_pointer(between, 2);
          }).find("accrue::from_pointer: the pointer is not a multiple of 16 bytes; ") == 0);
  }
}

TEST_CASE("16-bit numbers of another library are seen by their bits") {
  std::array<std::uint16_t, 2> const memory{0x3c00, 0xc000};
  std::array<accrue::float16, 2> numbers;
  std::memcpy(static_cast<void*>(numbers.data()), memory.data(), sizeof numbers);
  auto const view = accrue::from_pointer(numbers.data(), 2);
  CHECK(view(0) == 1.0f);
  CHECK(view(1) == -2.0f);
}

TEST_CASE("the memory space can be named") {
  using space = Kokkos::DefaultExecutionSpace::memory_space;
  Kokkos::View<float*, space> const device("device", 3);
  Kokkos::deep_copy(device, 7.0f);
  auto const view = accrue::from_pointer<space>(device.data(), 3);
  static_assert(std::is_same_v<decltype(view)::memory_space, space>);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, view);
  CHECK(host(2) == 7.0f);
}
