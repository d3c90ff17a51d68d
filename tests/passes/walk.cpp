// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <accrue/core/strided.hpp>
#include <accrue/passes/chunk_table.hpp>
#include <accrue/passes/device_table.hpp>
#include <accrue/passes/launch.hpp>

#include <doctest/doctest.h>
#include <Kokkos_Core.hpp>
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

struct write_chunk_number {
  std::int64_t* seen;
  template <class Worker>
  KOKKOS_FUNCTION void operator()(std::int64_t c, Worker const& worker) const {
    if (worker.rank() == 0) seen[c] = c + 1;
  }
};

}  // namespace

template class accrue::device_table<std::int64_t, exec>;
template struct accrue::alone_on_chunk<write_chunk_number>;
template struct accrue::team_on_chunk<write_chunk_number>;

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
  std::vector<accrue::team_worker> team;
  for (int rank = 0; rank < 5; ++rank) team.push_back({rank, 5});
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

TEST_CASE("for_each_chunk: launches once for every chunk, and not at all for none") {
  exec const instance;
  Kokkos::View<std::int64_t*> const seen("seen", 1000);
  accrue::for_each_chunk("test", instance, 1000, write_chunk_number{seen.data()});
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, seen);
  int wrong = 0;
  for (std::int64_t c = 0; c < 1000; ++c) wrong += host(c) != c + 1;
  CHECK(wrong == 0);
  accrue::for_each_chunk("test", instance, 0, write_chunk_number{nullptr});
  instance.fence();
}

TEST_CASE("device_table: kernels see what was set before the upload") {
  exec const instance;
  accrue::device_table<std::int64_t, exec> table(instance, "table", {1, 2, 3});
  table.set(1, 20);
  table.set(2, 3);
  table.upload(instance);
  CHECK(table[1] == 20);
  CHECK(table.size() == 3);
  Kokkos::View<std::int64_t const*, exec::memory_space, Kokkos::MemoryTraits<Kokkos::Unmanaged>> const there(
      table.data(), 3);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, there);
  CHECK(host(0) == 1);
  CHECK(host(1) == 20);
  CHECK(host(2) == 3);
}
