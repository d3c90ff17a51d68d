// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Stands for libFuzzer where the compiler has none: driver SECONDS [FOLDER...] runs every file of the folders, then
// mutations of them for so long. A finding ends the process, with its input in ./finding.
#include "fuzz/target.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace {

using bytes = std::vector<std::uint8_t>;

bytes running;  // the input at hand

void keep_input(int) {
  std::ofstream("finding", std::ios::binary).write(reinterpret_cast<char const*>(running.data()), std::ssize(running));
  std::_Exit(1);
}
void run(bytes input) {
  running = std::move(input);
  LLVMFuzzerTestOneInput(running.data(), running.size());
}

bytes mutated(std::vector<bytes> const& corpus, std::mt19937& random) {
  auto const below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  bytes input = corpus[below(corpus.size())];
  for (std::size_t n = 1 + below(6); n > 0; --n) {
    std::size_t const at = below(input.size() + 1);
    auto const here = input.begin() + static_cast<std::ptrdiff_t>(at);
    bytes const& other = corpus[below(corpus.size())];
    if (std::size_t const kind = below(4); kind == 0 || at == input.size())
      input.insert(here, static_cast<std::uint8_t>(below(256)));
    else if (kind == 1)
      *here = static_cast<std::uint8_t>(below(256));
    else if (kind == 2)
      input.erase(here, here + static_cast<std::ptrdiff_t>(1 + below(std::min<std::size_t>(input.size() - at, 8))));
    else if (input.size() < 500)
      input.insert(here, other.begin(), other.begin() + static_cast<std::ptrdiff_t>(below(other.size() + 1)));
  }
  return input;
}

}  // namespace

int main(int argc, char* argv[]) {
  LLVMFuzzerInitialize(&argc, &argv);
  std::signal(SIGABRT, keep_input);
  std::vector<bytes> corpus{bytes{}};
  for (int folder = 2; folder < argc; ++folder)
    for (auto const& file : std::filesystem::directory_iterator(argv[folder])) {
      std::ifstream in(file.path(), std::ios::binary);
      corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  for (bytes const& each : corpus) run(each);

  using clock = std::chrono::steady_clock;
  auto const end = clock::now() + std::chrono::seconds(argc > 1 ? std::stoi(argv[1]) : 1);
  auto const seed = static_cast<std::mt19937::result_type>(std::random_device{}());
  std::mt19937 random(seed);
  std::size_t runs = 0;
  for (; clock::now() < end; ++runs) run(mutated(corpus, random));
  std::cout << corpus.size() << " inputs of the corpus, " << runs << " mutations with seed " << seed
            << ": no finding\n";
}
