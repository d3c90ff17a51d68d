// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A run that is killed at random moments, and started again until it ends, ends as one that was never killed.
#include "faults/training.hpp"

#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>

namespace faults {

namespace {

constexpr std::int64_t run_length = 300;  // microbatches
constexpr std::int64_t no_kill = run_length + 1;

std::string content(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

[[noreturn]] void die() {
  std::raise(SIGKILL);
  throw std::runtime_error("survived SIGKILL");
}

/// Starts the program as a process that trains. Kills it after so many microseconds, unless that is 0.
/// Returns whether it was killed, by us or by itself.
bool killed(char const* program, std::string const& file, std::int64_t microbatches, bool while_writing,
            unsigned microseconds) {
  std::string const count = std::to_string(microbatches);
  pid_t const child = ::fork();
  if (child == 0) {
    ::execl(program, program, "run", file.c_str(), count.c_str(), while_writing ? "1" : "0", nullptr);
    ::_exit(127);
  }
  if (child < 0) throw std::runtime_error("no process could be started");
  if (microseconds > 0) {
    ::usleep(microseconds);
    ::kill(child, SIGKILL);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child) throw std::runtime_error("the process was lost");
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) return true;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error("a process that was started again failed");
  return false;
}

}  // namespace

void run_to_the_end(std::string const& file, std::int64_t microbatches, bool while_writing) {
  tensors const theta;
  theta.fill(0);
  feeder const feed;
  auto group = accumulator_of(theta);
  if (std::filesystem::exists(file)) load_file(group, file);
  for (std::int64_t m = group.ledger().microbatches().value(); m < run_length; ++m) {
    feed(group, m);
    bool const last = --microbatches <= 0;
    if (last && !while_writing) die();
    if (last)
      replace_file(file, [&](std::ostream& out) {
        std::string const whole = bytes_of(group);
        out.write(whole.data(), static_cast<std::streamsize>(whole.size() * static_cast<std::size_t>(m) / run_length));
        out.flush();
        die();
      });
    if (m % 5 == 0 || m % 7 == 2) save_file(group, file);
  }
  group.end_of_data();
  save_file(group, file + ".end");
}

bool kills(char const* program, int count, unsigned seed) {
  std::filesystem::path const folder =
      std::filesystem::temp_directory_path() / ("accrue_faults_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  std::string const file = folder / "run.state", end = file + ".end";
  std::mt19937 random(seed);
  auto const below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };

  killed(program, file, no_kill, false, 0);
  std::string const expected = content(end);
  int done = 0, runs = 0, different = 0;
  while (done < count) {
    std::filesystem::remove(file);
    std::filesystem::remove(end);
    for (bool ended = false; !ended;) {
      bool was_killed = false;
      if (done >= count)
        killed(program, file, no_kill, false, 0);
      else if (below(2) == 0)
        was_killed = killed(program, file, no_kill, false, 1 + below(250'000));
      else
        was_killed = killed(program, file, 1 + below(80), below(2) == 0, 0);
      done += was_killed ? 1 : 0;
      ended = !was_killed;
    }
    ++runs;
    different += content(end) == expected ? 0 : 1;
  }
  std::filesystem::remove_all(folder);
  std::cout << "kills: " << done << " in " << runs << " runs of " << run_length << " microbatches, " << different
            << " runs ended otherwise than one that was never killed\n";
  return different == 0 && !expected.empty();
}

}  // namespace faults
