// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_BENCHMARKS_GOALS_PROCESS_HPP
#define ACCRUE_BENCHMARKS_GOALS_PROCESS_HPP

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <string>
#include <system_error>
#include <vector>

namespace bench {

/// How a program ended, and what it wrote, if that was caught.
struct ended {
  bool well = false;
  std::string output;
};

enum class writes { to_terminal, to_us };

/// Runs a program and waits for it. It may be a path, or a name to find in PATH.
inline ended run(std::vector<std::string> arguments, writes where) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::system_error(errno, std::generic_category(), "pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (where == writes::to_us)
    for (int stream : {STDOUT_FILENO, STDERR_FILENO}) posix_spawn_file_actions_adddup2(&actions, ends[1], stream);
  for (int end : ends) posix_spawn_file_actions_addclose(&actions, end);

  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  pid_t child = 0;
  int const error = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);

  ended result;
  std::array<char, 4096> buffer{};
  for (ssize_t got; error == 0 && (got = read(ends[0], buffer.data(), buffer.size())) > 0;)
    result.output.append(buffer.data(), static_cast<std::size_t>(got));
  close(ends[0]);
  if (error != 0) {
    result.output = std::generic_category().message(error);
    return result;
  }
  int status = 0;
  result.well = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return result;
}

}  // namespace bench
#endif
