// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The file format of MNIST and its relatives: a big-endian header, then bytes.
#ifndef ACCRUE_EXAMPLES_IMAGES_IDX_FILE_HPP
#define ACCRUE_EXAMPLES_IMAGES_IDX_FILE_HPP

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace examples {

struct idx_file {
  std::vector<int> extents;
  std::vector<std::uint8_t> values;
};

/// Failure: a missing, cut off or foreign file is an error that names the file and says what was expected.
inline idx_file read_idx(std::filesystem::path const& path, int rank) {
  auto const fail = [&](std::string const& what) { throw std::runtime_error(path.string() + ": " + what); };

  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot be opened; an uncompressed IDX file is expected here");
  auto const big_endian = [&] {
    unsigned char bytes[4] = {};
    in.read(reinterpret_cast<char*>(bytes), 4);
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
  };

  auto const magic = big_endian();
  if (magic >> 16 == 0x1f8b) fail("is compressed; unpack it with gzip -d first");
  if (magic != (0x0800u | static_cast<unsigned>(rank)))
    fail("does not begin as an IDX file of bytes with " + std::to_string(rank) + " dimensions does");

  idx_file file;
  std::uint64_t size = 1;
  for (int dimension = 0; dimension < rank; ++dimension) {
    auto const extent = big_endian();
    if (extent == 0 || extent > 0x7fffffff || size * extent > 0x7fffffff) fail("has a header with impossible extents");
    size *= extent;
    file.extents.push_back(static_cast<int>(extent));
  }
  auto const expected = 4 + 4 * static_cast<std::uint64_t>(rank) + size;
  auto const found = static_cast<std::uint64_t>(std::filesystem::file_size(path));
  if (!in || found != expected)
    fail("has " + std::to_string(found) + " bytes where its header announces " + std::to_string(expected));

  file.values.resize(static_cast<std::size_t>(size));
  in.read(reinterpret_cast<char*>(file.values.data()), static_cast<std::streamsize>(size));
  if (!in) fail("could not be read to its end");
  return file;
}

}  // namespace examples
#endif
