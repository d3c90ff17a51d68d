// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/scalar_id.hpp>
#include <accrue/core/strided.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/device_table.hpp>
#include <accrue/passes/launch.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cstdint>
#include <vector>

namespace {

using exec = Kokkos::DefaultExecutionSpace;

/// Counts how often each element was seen, and adds up the numbers under which it was.
struct note_visit {
  int* times;
  std::int64_t* numbers;
  void operator()(std::int64_t i, int const& place) const {
    ++times[place];
    numbers[place] += i;
  }
};

/// The same by lanes, which see eight elements at once.
struct note_by_lanes : note_visit {
  int* calls;
  note_by_lanes(note_visit note, int* count) : note_visit(note), calls(count) {}
  void by_lanes(std::int64_t i, int const* places) const {
    ++*calls;
    for (std::int64_t lane = 0; lane < accrue::lane_count; ++lane) (*this)(i + lane, places[lane]);
  }
};

/// x += i one by one or by packets, where x and y are aligned; and how often each was done.
struct add_by_packets {
  static constexpr int packet_size = 4;
  float const* y;
  int* alone;
  int* together;
  void operator()(std::int64_t i, float& x) const {
    ++*alone;
    x += static_cast<float>(i);
  }
  [[nodiscard]] bool packets_at(std::int64_t i, float const* x) const {
    return accrue::packets_begin_at<packet_size>(x, y + i);
  }
  void by_packet(std::int64_t i, float* x) const {
    CHECK(packets_at(i, x));
    ++*together;
    for (int k = 0; k < packet_size; ++k) x[k] += static_cast<float>(i + k);
  }
};

/// Carries the sum of what it saw.
struct add_up {
  static constexpr bool carries = true;
  std::int64_t sum = 0;
  void operator()(std::int64_t, int const& place) { sum += place; }
};

/// A member of a team of five.
struct fifth {
  int rank;
  [[nodiscard]] int team_rank() const { return rank; }
  [[nodiscard]] static int team_size() { return 5; }
};

/// What kernels see of a table.
template <class Table>
std::vector<std::int64_t> on_device(Table const& table) {
  Kokkos::View<std::int64_t const*, exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const there(
      table.data(), table.size());
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, there);
  return {host.data(), host.data() + host.extent(0)};
}

/// Writes numbers, and in the end how many there are.
struct write_chunk_number {
  std::int64_t* seen;
  std::int64_t chunks;
  std::int64_t* found;
  accrue::exit_gate gate;
  [[nodiscard]] KOKKOS_FUNCTION std::int64_t enter() const { return 1; }
  template <class Worker>
  KOKKOS_FUNCTION void operator()(std::int64_t one, std::int64_t c, Worker const& worker) const {
    if (worker.rank() == 0) seen[c] = c + one;
  }
  template <class Worker>
  KOKKOS_FUNCTION void leave(Worker const& worker) const {
    if (worker.rank() != 0) return;
    for (std::int64_t c = 0; c < chunks; ++c) *found += seen[c] == c + 1 ? 1 : 0;
  }
};

}  // namespace

template class accrue::device_table<std::int64_t, exec>;
template class accrue::device_table<std::int64_t, exec, false>;
template struct accrue::on_share<write_chunk_number>;
template struct accrue::in_team<write_chunk_number>;

namespace {

accrue::strided described(void* data, std::int64_t size, std::int64_t row, std::int64_t row_stride, std::int64_t stride,
                          std::int32_t scalar) {
  accrue::strided view;
  view.data = data;
  view.size = size;
  view.scalar = scalar;
  view.rank = row_stride == 0 ? 1 : 2;
  if (row_stride == 0) {
    view.axes[0] = {size, stride};
  } else {
    view.axes[0] = {size / row, row_stride};
    view.axes[1] = {row, stride};
  }
  return view;
}

/// Whether workers together visit each element of the chunk once, under its own number, and no other.
template <class Worker>
bool all_once(accrue::strided view, accrue::chunk part, std::vector<Worker> const& workers) {
  std::int64_t const places = view.size == 0 ? 1 : view.offset(view.size - 1) + 1;
  std::vector<int> place(static_cast<std::size_t>(places)), times(place.size());
  std::vector<std::int64_t> numbers(place.size());
  for (std::size_t i = 0; i < place.size(); ++i) place[i] = static_cast<int>(i);
  view.data = place.data();
  for (Worker const& worker : workers)
    accrue::walk<int const>(view, part, worker, note_visit{times.data(), numbers.data()});

  std::vector<int> expected_times(place.size());
  std::vector<std::int64_t> expected_numbers(place.size());
  for (std::int64_t i = part.begin; i < part.end; ++i) {
    expected_times[static_cast<std::size_t>(view.offset(i))] = 1;
    expected_numbers[static_cast<std::size_t>(view.offset(i))] = i;
  }
  return times == expected_times && numbers == expected_numbers;
}

bool all_once(accrue::strided const& view, accrue::chunk const& part) {
  std::vector<fifth> const members{{0}, {1}, {2}, {3}, {4}};
  std::vector<accrue::team_worker<fifth>> team;
  for (fifth const& member : members) team.push_back({member});
  return all_once(view, part, std::vector<accrue::lone_worker>(1)) && all_once(view, part, team);
}

}  // namespace

TEST_CASE("cut_into_chunks: covers every element of every view once, in their order") {
  std::int64_t const full = accrue::chunk_elements;
  std::vector<std::int64_t> const sizes{0, 1, full, full + 1, 0, 3 * full - 1};
  auto const chunks = accrue::cut_into_chunks(sizes);
  CHECK(chunks.size() == 1 + 1 + 2 + 3);
  std::size_t c = 0;
  for (std::size_t v = 0; v < sizes.size(); ++v)
    for (std::int64_t begin = 0; begin < sizes[v]; begin = chunks[c++].end) {
      REQUIRE(c < chunks.size());
      CHECK(chunks[c].view == static_cast<std::int32_t>(v));
      CHECK(chunks[c].begin == begin);
      CHECK(chunks[c].end > begin);
      CHECK(chunks[c].end - begin <= full);
    }
  CHECK(c == chunks.size());
  CHECK(accrue::cut_into_chunks({}).empty());
}

namespace {
/// x += i, one by one or by lanes, and how often each was done.
struct add_index {
  int* alone;
  int* by_eight;
  void operator()(std::int64_t i, float& x) const {
    ++*alone;
    x += static_cast<float>(i);
  }
  void by_lanes(std::int64_t i, float* x) const {
    CHECK(i % accrue::lane_count == 0);  // where the buffer and its state are aligned
    ++*by_eight;
    for (std::int64_t lane = 0; lane < accrue::lane_count; ++lane) x[lane] += static_cast<float>(i + lane);
  }
};
}  // namespace

TEST_CASE("walk: elements that lie apart are visited by lanes, and put back where they were") {
  Kokkos::View<float****, Kokkos::LayoutRight, Kokkos::HostSpace> const all("all", 6, 10, 14, 2);
  auto const part = Kokkos::subview(all, Kokkos::pair(1, 5), Kokkos::ALL, Kokkos::pair(2, 9), 1);  // 4 x 10 x 7
  auto const shape = accrue::shape_of(part);
  auto const view = accrue::fold(shape, accrue::order_in_memory(shape), part.data(), accrue::scalar_id<float>());
  int alone = 0, by_eight = 0;
  for (accrue::chunk const& c : {accrue::chunk{0, 272, 0}, accrue::chunk{272, 280, 0}})
    accrue::walk<float>(view, c, accrue::lone_worker{}, add_index{&alone, &by_eight});
  float expected = 0.0f;
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 10; ++j)
      for (std::size_t k = 0; k < 7; ++k) CHECK(part(i, j, k) == expected++);
  double sum = 0.0;
  for (std::size_t i = 0; i < all.size(); ++i) sum += all.data()[i];
  CHECK(sum == 279.0 * 280.0 / 2.0);  // nothing beside the view was written
  CHECK(by_eight == 35);
  CHECK(alone == 0);

  accrue::walk<float>(view, accrue::chunk{0, 5, 0}, accrue::lone_worker{}, add_index{&alone, &by_eight});
  CHECK(alone == 5);
}

TEST_CASE("walk: a team takes packets wherever all arrays are aligned, and each element once") {
  alignas(16) float x[64], y[64];
  for (std::int64_t const begin : {0, 5})
    for (std::int64_t const size : {0, 1, 3, 4, 9, 38})
      for (int const of_x : {0, 1, 2, 3})
        for (int const of_y : {0, 1, 2, 3}) {
          std::fill(x, x + 64, 0.0f);
          int alone = 0, together = 0;
          for (int rank = 0; rank < 5; ++rank)
            accrue::walk<float>(described(x + of_x, 43, 1, 0, 1, 0), {begin, begin + size, 0},
                                accrue::team_worker<fifth>{{rank}}, add_by_packets{y + of_y, &alone, &together});
          auto const head = (4 - (of_x + begin) % 4) % 4;
          CHECK(together == (of_x == of_y && head < size ? (size - head) / 4 : 0));
          CHECK(alone == size - 4 * together);
          for (std::int64_t i = 0; i < 64; ++i) {
            std::int64_t const e = i - of_x;
            REQUIRE(x[i] == (e >= begin && e < begin + size ? static_cast<float>(e) : 0.0f));
          }
        }
}

TEST_CASE("cut_into_chunks: views that lie between each other take turns, and every element is covered once") {
  constexpr std::int64_t chunk = accrue::chunk_elements;
  Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> const matrix("matrix", 20, 2 * chunk + 5);
  auto const row = [&](int r) {
    auto const view = Kokkos::subview(matrix, r, Kokkos::ALL);
    auto const shape = accrue::shape_of(view);
    return accrue::fold(shape, accrue::order_in_memory(shape), view.data(), accrue::scalar_id<float>());
  };
  auto const plain = accrue::run_of(matrix.data(), 2 * chunk + 5, accrue::scalar_id<float>());
  std::vector<accrue::strided> views{plain, plain};
  for (int r = 0; r < 20; ++r) views.push_back(row(r));
  auto const runs = accrue::interleaved_runs(views);
  CHECK(runs[0] == 1);
  CHECK(runs[2] == 16);  // floats in 64 bytes
  CHECK(runs[18] == 4);

  std::vector<std::int64_t> const sizes(views.size(), 2 * chunk + 5);
  auto const chunks = accrue::cut_into_chunks(sizes, runs);
  REQUIRE(chunks.size() == 22 * 3);
  CHECK(chunks[3] == accrue::chunk{0, chunk, 1});
  CHECK(chunks[6] == accrue::chunk{0, chunk, 2});
  CHECK(chunks[7] == accrue::chunk{0, chunk, 3});
  CHECK(chunks[6 + 16] == accrue::chunk{chunk, 2 * chunk, 2});
  CHECK(chunks[6 + 32] == accrue::chunk{2 * chunk, 2 * chunk + 5, 2});
  std::vector<std::int64_t> covered(views.size(), 0);
  for (accrue::chunk const& c : chunks) covered[static_cast<std::size_t>(c.view)] += c.end - c.begin;
  CHECK(covered == sizes);
}

TEST_CASE("walk: visits each element of a chunk once, under its number, alone or in a team") {
  for (std::int64_t begin : {0, 1, 5, 12})
    for (std::int64_t end : {12, 13, 59, 60}) {
      accrue::chunk const part{begin, end, 0};
      CHECK(all_once(described(nullptr, 60, 1, 0, 1, 0), part));    // one run
      CHECK(all_once(described(nullptr, 60, 1, 0, 3, 0), part));    // every third
      CHECK(all_once(described(nullptr, 60, 12, 15, 1, 0), part));  // rows with gaps
      CHECK(all_once(described(nullptr, 60, 5, 1, 12, 0), part));   // columns of rows
      CHECK(all_once(described(nullptr, 60, 4, 13, 3, 0), part));   // both
    }
  accrue::strided one;
  one.size = 1;
  CHECK(all_once(one, {0, 1, 0}));
  CHECK(all_once(one, {0, 0, 0}));
}

TEST_CASE("walk: goes by lanes over whole eights of a run, and one by one over the rest") {
  for (std::int64_t begin : {0, 3})
    for (std::int64_t end : {3, 7, 8, 11, 16, 59, 60}) {
      if (end < begin) continue;
      std::vector<int> place(60), times(60);
      std::vector<std::int64_t> numbers(60);
      for (std::size_t i = 0; i < 60; ++i) place[i] = static_cast<int>(i);
      int calls = 0;
      accrue::walk<int const>(described(place.data(), 60, 1, 0, 1, 0), {begin, end, 0}, accrue::lone_worker{},
                              note_by_lanes({times.data(), numbers.data()}, &calls));
      CHECK(calls == (end - begin) / 8);
      int wrong = 0;
      for (std::int64_t i = 0; i < 60; ++i) {
        bool const inside = i >= begin && i < end;
        wrong += times[std::size_t(i)] != (inside ? 1 : 0) || numbers[std::size_t(i)] != (inside ? i : 0);
      }
      CHECK(wrong == 0);
    }
}

TEST_CASE("walk: returns what the visit carries") {
  std::vector<int> place{1, 20, 300, 4000};
  for (std::int64_t stride : {1, 2}) {
    auto const seen = accrue::walk<int const>(described(place.data(), 4 / stride, 1, 0, stride, 0), {0, 4 / stride, 0},
                                              accrue::lone_worker{}, add_up{});
    CHECK(seen.sum == (stride == 1 ? 4321 : 301));
  }
}

TEST_CASE("cut_into_shares: every chunk once, in order, and no share with much more than its part") {
  std::int64_t const full = accrue::chunk_elements;
  for (auto const& sizes : {std::vector<std::int64_t>{},
                            {0},
                            {5},
                            {full * 40},
                            {1, full * 9, 3, full * 2 + 7, 1, 1},
                            std::vector<std::int64_t>(2000, 256)}) {
    auto const chunks = accrue::cut_into_chunks(sizes);
    std::int64_t total = 0;
    for (accrue::chunk const& c : chunks) total += c.end - c.begin + 64;
    for (std::int64_t count : {0, 1, 2, 3, 7, 64}) {
      auto const shares = accrue::cut_into_shares(chunks, count);
      std::int64_t const expected = count == 0 ? 1 : count;
      REQUIRE(shares.size() == static_cast<std::size_t>(expected));
      std::int64_t at = 0;
      for (accrue::share const& s : shares) {
        CHECK(s.begin == at);
        CHECK(s.end >= s.begin);
        std::int64_t work = 0;
        for (; at < s.end; ++at) work += chunks[std::size_t(at)].end - chunks[std::size_t(at)].begin + 64;
        CHECK(work <= total / expected + full + 64);
      }
      CHECK(at == static_cast<std::int64_t>(chunks.size()));
    }
  }
}

TEST_CASE("for_each_chunk: every chunk once, and the last worker of all launches finds everybody's work") {
  exec const instance;
  Kokkos::View<std::int64_t*> const seen("seen", 1000);
  Kokkos::View<std::int64_t> const gone("gone"), found("found");
  auto const chunks = accrue::cut_into_chunks(std::vector<std::int64_t>(1000, 3));
  auto const shares = accrue::cut_into_shares(chunks, 4);
  accrue::device_table<accrue::chunk, exec> const on_device(instance, "chunks", chunks);
  accrue::device_table<accrue::share, exec> const cut(instance, "shares", shares);
  accrue::chunk_list const list{on_device.data(), cut.data(), 1000, 4}, none{on_device.data(), cut.data(), 0, 1};
  auto const number = [&] { return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, found)(); };

  write_chunk_number body{seen.data(), 1000, found.data(), {}};
  accrue::for_each_chunk("test", instance, list, body);
  CHECK(number() == 0);  // nobody is waited for
  for (int pass = 1; pass <= 2; ++pass) {
    body.gate = {gone.data(), list.workers<exec>() + none.workers<exec>()};
    accrue::for_each_chunk("test", instance, list, body);
    CHECK(number() == (pass - 1) * 1000);
    accrue::for_each_chunk("test", instance, none, body);
    CHECK(number() == pass * 1000);
  }
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, seen);
  int wrong = 0;
  for (std::int64_t c = 0; c < 1000; ++c) wrong += host(c) != c + 1;
  CHECK(wrong == 0);
}

TEST_CASE_TEMPLATE("device_table: kernels see what was set before the upload", Table,
                   accrue::device_table<std::int64_t, exec>, accrue::device_table<std::int64_t, exec, false>) {
  exec const instance;
  Table table(instance, "table", {1, 2, 3}, 2);
  table.set(1, 20);
  table.set(2, 3);
  table.upload(instance);
  CHECK(table[1] == 20);
  CHECK(table.size() == 3);
  CHECK(on_device(table) == std::vector<std::int64_t>{1, 20, 3});
}

TEST_CASE("device_table: contents of every size and pattern arrive") {
  exec const instance;
  for (std::size_t size : {0u, 1u, 31u, 32u, 33u, 100u, 512u, 513u, 2000u}) {
    accrue::device_table<std::int64_t, exec, false> table(instance, "table", std::vector<std::int64_t>(size, 7), 2);
    CHECK(on_device(table) == std::vector<std::int64_t>(size, 7));
    for (std::int64_t round = 1; round < 8; ++round) {
      std::vector<std::int64_t> contents(size, round);
      if (round % 2 == 0)
        for (std::size_t i = 0; i < size; ++i) contents[i] = static_cast<std::int64_t>(i) * round;
      for (std::size_t i = 0; i < size; ++i) table.set(i, contents[i]);
      table.upload(instance);
      CHECK(on_device(table) == contents);
    }
  }
}

TEST_CASE("device_table: contents that come again are found where they were sent") {
  exec const instance;
  accrue::device_table<std::int64_t, exec, false> table(instance, "table", {1, 2, 3}, 3);
  auto const put = [&](std::int64_t first) {
    table.set(0, first);
    table.upload(instance);
    CHECK(on_device(table) == std::vector<std::int64_t>{first, 2, 3});
    return table.data();
  };
  auto const one = put(1), two = put(10), three = put(100);
  CHECK(one != two);
  CHECK(two != three);
  CHECK(put(1) == one);
  CHECK(put(10) == two);
  CHECK(put(1000) == three);  // the one that was not used for longest
  CHECK(put(1) == one);
  CHECK(put(100) == two);
  table.set(0, 5);
  CHECK(table.data() == two);  // until the upload
  CHECK(table[0] == 5);
}
