// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/half.hpp>
#include <accrue/interop/eigen.hpp>

#include <doctest/doctest.h>
#include <Eigen/Core>
#include <Kokkos_Core.hpp>
#include <array>
#include <complex>
#include <cstddef>
#include <string>
#include <type_traits>
#include <vector>

namespace {

using any_stride = Eigen::Stride<Eigen::Dynamic, Eigen::Dynamic>;
using row_major = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

template <class View>
constexpr std::size_t rank_of = View::rank();
template <class View>
constexpr bool of_constants = std::is_const_v<typename View::value_type>;

// M(i, j) = i + 10 j
template <class Matrix = Eigen::MatrixXd>
Matrix four_by_four() {
  Matrix m(4, 4);
  for (int i = 0; i != 4; ++i)
    for (int j = 0; j != 4; ++j) m(i, j) = static_cast<typename Matrix::Scalar>(i + 10 * j);
  return m;
}

// Whether a view has the shape of an Eigen object, and is at the same addresses.
template <class Object>
bool same_elements(Object&& x) {
  auto const view = accrue::from_eigen(x);
  using view_type = std::remove_const_t<decltype(view)>;
  if constexpr (rank_of<view_type> == 1) {
    if (view.extent(0) != static_cast<std::size_t>(x.size())) return false;
    for (Eigen::Index i = 0; i != x.size(); ++i)
      if (static_cast<void const*>(&view(i)) != static_cast<void const*>(&x.coeffRef(i))) return false;
  } else {
    if (view.extent(0) != static_cast<std::size_t>(x.rows())) return false;
    if (view.extent(1) != static_cast<std::size_t>(x.cols())) return false;
    for (Eigen::Index i = 0; i != x.rows(); ++i)
      for (Eigen::Index j = 0; j != x.cols(); ++j)
        if (static_cast<void const*>(&view(i, j)) != static_cast<void const*>(&x.coeffRef(i, j))) return false;
  }
  return true;
}

template <class View>
std::vector<double> values(View const& view) {
  std::vector<double> all;
  for (std::size_t i = 0; i != view.extent(0); ++i)
    if constexpr (rank_of<View> == 1) {
      all.push_back(view(i));
    } else {
      for (std::size_t j = 0; j != view.extent(1); ++j) all.push_back(view(i, j));
    }
  return all;
}

template <class View>
struct double_every_element {
  View view;

  KOKKOS_FUNCTION void operator()(int i) const { view(i) *= 2.0; }
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

TEST_CASE("P-074: block, row and diagonal of a column-major matrix are seen with their strides") {
  // [eigen]
  Eigen::MatrixXd m = four_by_four();  // m(i, j) = i + 10 j
  auto const block = accrue::from_eigen(m.block(1, 1, 2, 2));
  auto const row = accrue::from_eigen(m.row(2));
  auto const diagonal = accrue::from_eigen(m.diagonal());
  // [/eigen]
  static_assert(rank_of<decltype(block)> == 2 && rank_of<decltype(row)> == 1 && rank_of<decltype(diagonal)> == 1);
  CHECK(values(block) == std::vector<double>{11, 21, 12, 22});
  CHECK(values(row) == std::vector<double>{2, 12, 22, 32});
  CHECK(values(diagonal) == std::vector<double>{0, 11, 22, 33});
}

TEST_CASE_TEMPLATE("the view is at Eigen's own addresses, whatever the storage order", Matrix, Eigen::MatrixXd,
                   row_major, Eigen::Matrix4d, Eigen::ArrayXXd, Eigen::ArrayXXf) {
  Matrix m = four_by_four<Matrix>();
  CHECK(same_elements(m));
  CHECK(same_elements(m.block(1, 0, 2, 3)));
  CHECK(same_elements(m.template block<2, 3>(1, 0)));
  CHECK(same_elements(m.row(2)));
  CHECK(same_elements(m.col(2)));
  CHECK(same_elements(m.col(2).segment(1, 2)));
  CHECK(same_elements(m.row(1).tail(2)));
  CHECK(same_elements(m.topRows(2)));
  CHECK(same_elements(m.rightCols(3).bottomRows(1)));
  CHECK(same_elements(m.transpose()));
  CHECK(same_elements(m.block(1, 0, 2, 3).transpose()));
  CHECK(same_elements(m.template reshaped<Eigen::AutoOrder>(2, 8)));
  CHECK(same_elements(m.matrix().diagonal()));
  CHECK(same_elements(m.matrix().diagonal(1)));
  CHECK(same_elements(m.matrix().template diagonal<-2>()));
  CHECK(same_elements(m.matrix().transpose().diagonal(1)));
  CHECK(same_elements(m.matrix().array()));
  CHECK(same_elements(m.array().matrix()));
}

TEST_CASE("vectors have rank 1, matrices rank 2, also where they are small") {
  Eigen::VectorXd column(3);
  Eigen::RowVector3f row;
  Eigen::Matrix<double, 1, 1> one;
  Eigen::MatrixXd single(3, 1);
  CHECK(same_elements(column));
  CHECK(same_elements(row));
  CHECK(same_elements(one));
  CHECK(same_elements(single));
  static_assert(rank_of<decltype(accrue::from_eigen(column))> == 1);
  static_assert(rank_of<decltype(accrue::from_eigen(row))> == 1);
  static_assert(rank_of<decltype(accrue::from_eigen(one))> == 1);
  static_assert(rank_of<decltype(accrue::from_eigen(single))> == 2);
}

TEST_CASE("maps and references keep their strides") {
  std::array<double, 24> memory{};
  Eigen::Map<Eigen::MatrixXd> const dense(memory.data(), 4, 6);
  Eigen::Map<Eigen::MatrixXd, 0, any_stride> strided(memory.data() + 1, 2, 3, any_stride(8, 3));
  Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>> every_third(memory.data() + 2, 7, Eigen::InnerStride<>(3));
  CHECK(same_elements(dense));
  CHECK(same_elements(strided));
  CHECK(same_elements(strided.row(1)));
  CHECK(same_elements(strided.transpose()));
  CHECK(same_elements(strided.diagonal()));  // innerStride() of Eigen 3.4 is wrong here
  CHECK(same_elements(every_third));
  CHECK(same_elements(Eigen::Map<row_major>(memory.data(), 4, 6)));

  Eigen::Ref<Eigen::MatrixXd, 0, any_stride> reference(strided);
  Eigen::Ref<Eigen::MatrixXd const> const to_const(dense);
  CHECK(same_elements(reference));
  CHECK(same_elements(to_const));
}

TEST_CASE("what is const in Eigen gives a view of constants") {
  Eigen::MatrixXd m = four_by_four();
  Eigen::MatrixXd const& constant = m;
  Eigen::Map<Eigen::VectorXd const> map(m.data(), 4);
  Eigen::Ref<Eigen::MatrixXd const> reference(m);
  static_assert(!of_constants<decltype(accrue::from_eigen(m))>);
  static_assert(!of_constants<decltype(accrue::from_eigen(m.row(1)))>);
  static_assert(of_constants<decltype(accrue::from_eigen(constant))>);
  static_assert(of_constants<decltype(accrue::from_eigen(constant.row(1)))>);
  static_assert(of_constants<decltype(accrue::from_eigen(constant.diagonal()))>);
  static_assert(of_constants<decltype(accrue::from_eigen(constant.transpose()))>);
  static_assert(of_constants<decltype(accrue::from_eigen(map))>);
  static_assert(of_constants<decltype(accrue::from_eigen(reference))>);
  CHECK(same_elements(constant.transpose()));
  CHECK(same_elements(map));
}

TEST_CASE("P-072: a kernel changes the row, and nothing beside it") {
  Eigen::MatrixXd a(3, 4);
  for (int i = 0; i != 3; ++i)
    for (int j = 0; j != 4; ++j) a(i, j) = 10 * i + j;
  Eigen::MatrixXd expected = a;
  expected.row(1) *= 2.0;

  auto const row = accrue::from_eigen(a.row(1));
  Kokkos::parallel_for("double_every_element", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, 4),
                       double_every_element<std::remove_const_t<decltype(row)>>{row});
  Kokkos::fence();
  CHECK(a == expected);
}

TEST_CASE("P-075: a map off the alignment of a vector register is fine") {
  alignas(64) std::array<float, 9> memory{0, 1, 2, 3, 4, 5, 6, 7, 8};
  Eigen::Map<Eigen::VectorXf> const map(memory.data() + 1, 8);
  CHECK(values(accrue::from_eigen(map)) == std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE_TEMPLATE("complex numbers of the standard are seen as those of Kokkos", Real, float, double) {
  Eigen::Matrix<std::complex<Real>, 2, 2> z;
  z << std::complex<Real>(1, 2), Real(3), Real(4), std::complex<Real>(5, 6);
  auto const view = accrue::from_eigen(z);
  static_assert(std::is_same_v<typename decltype(view)::value_type, Kokkos::complex<Real>>);
  CHECK(view(0, 0) == Kokkos::complex<Real>(1, 2));
  CHECK(view(0, 1) == Kokkos::complex<Real>(3, 0));
  CHECK(view(1, 1).imag() == Real(6));

  auto const real = accrue::from_eigen(z.real());
  static_assert(std::is_same_v<typename decltype(real)::value_type, Real>);
  CHECK(values(real) == std::vector<double>{1, 3, 4, 5});
}

TEST_CASE("16-bit numbers of Eigen are seen as those of accrue") {
  Eigen::Matrix<Eigen::half, Eigen::Dynamic, 1> half(3);
  half << Eigen::half(1.0f), Eigen::half(-0.01f), Eigen::half(65504.0f);
  Eigen::Matrix<Eigen::bfloat16, Eigen::Dynamic, 1> const brain =
      Eigen::Matrix<Eigen::bfloat16, Eigen::Dynamic, 1>::Constant(2, Eigen::bfloat16(3.140625f));

  auto const half_view = accrue::from_eigen(half);
  auto const brain_view = accrue::from_eigen(brain);
  static_assert(std::is_same_v<decltype(half_view)::value_type, accrue::float16>);
  static_assert(std::is_same_v<decltype(brain_view)::value_type, accrue::bfloat16 const>);
  CHECK(half_view(1).bits() == accrue::float16(-0.01f).bits());
  CHECK(half_view(2) == 65504.0f);
  CHECK(brain_view(1) == 3.140625f);
}

TEST_CASE("objects without elements have views without elements") {
  Eigen::MatrixXd none(0, 3);
  Eigen::VectorXd nothing;
  Eigen::Map<Eigen::VectorXd> const null(nullptr, 0);
  CHECK(same_elements(none));
  CHECK(same_elements(nothing));
  CHECK(same_elements(null));
  CHECK(accrue::from_eigen(none).extent(1) == 3);
}

TEST_CASE("a map that cannot be a view says so") {
  std::array<double, 8> memory{};
  Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>> const one_for_all(memory.data(), 4, Eigen::InnerStride<>(0));
  CHECK(what([&] {
          (void)accrue::from_eigen(Eigen::Map<Eigen::VectorXd>(nullptr, 4));
        }).find("accrue::from_eigen: the pointer is null; ") == 0);
  Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<>> writable(memory.data(), 4, Eigen::InnerStride<>(0));
  CHECK(what([&] { (void)accrue::from_eigen(writable); }).find("accrue::from_eigen: a stride is 0; ") == 0);
  CHECK(accrue::from_eigen(one_for_all).stride(0) == 0);  // constants may coincide
  if constexpr (alignof(Kokkos::complex<double>) > alignof(std::complex<double>)) {
    alignas(16) std::array<double, 5> parts{};
    Eigen::Map<Eigen::VectorXcd> between(reinterpret_cast<std::complex<double>*>(parts.data() + 1), 2);
    CHECK(what([&] {
            (void)accrue::from_eigen(between);
          }).find("accrue::from_eigen: the pointer is not a multiple of 16 bytes; ") == 0);
  }
}
