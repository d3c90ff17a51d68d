// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A text file as numbers: one line is one sequence of words.
#ifndef ACCRUE_EXAMPLES_VERSES_CORPUS_HPP
#define ACCRUE_EXAMPLES_VERSES_CORPUS_HPP

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../support/random.hpp"

namespace examples {

using text = std::vector<std::vector<std::string>>;  // lines of words
using line = std::vector<int>;                       // the numbers of its words

inline constexpr int no_word = 0;       // what stands before the first word of a line, and after the last
inline constexpr int unknown_word = 1;  // too rare for the vocabulary
inline constexpr int first_word = 2;

struct corpus {
  std::vector<line> lines;
  int vocabulary = 0;
  std::string description;
};

/// Lower-case words of letters and apostrophes. A reference in front, as in `Gen1:1 In the beginning`, is left out.
inline std::vector<std::string> split_words(std::string const& sentence) {
  std::size_t start = 0;
  auto const first_space = std::min(sentence.find(' '), sentence.size());
  auto const is_digit = [](unsigned char letter) { return std::isdigit(letter) != 0; };
  if (std::any_of(sentence.begin(), sentence.begin() + static_cast<std::ptrdiff_t>(first_space), is_digit) &&
      sentence.find(':') < first_space)
    start = first_space;

  std::vector<std::string> words;
  bool inside = false;
  for (std::size_t i = start; i < sentence.size(); ++i) {
    auto const letter = static_cast<unsigned char>(sentence[i]);
    bool const belongs = std::isalpha(letter) != 0 || letter == '\'' || letter >= 0x80;  // UTF-8 stays whole
    if (belongs && !inside) words.emplace_back();
    if (belongs) words.back().push_back(static_cast<char>(std::tolower(letter)));
    inside = belongs;
  }
  return words;
}

/// Lines of two words or more; a line of more than `longest` goes on as a sequence of its own.
///
/// Failure: a missing file, or one with too few lines, is an error that names it.
inline text read_text(std::string const& path, std::size_t longest = 128) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error(path + ": cannot be opened; a text file with one sequence a line is expected");
  text lines;
  for (std::string sentence; std::getline(in, sentence);) {
    auto const words = split_words(sentence);
    for (auto from = words.begin(); words.end() - from > 1;) {
      auto const to = from + std::min<std::ptrdiff_t>(words.end() - from, static_cast<std::ptrdiff_t>(longest));
      lines.emplace_back(from, to);
      from = to;
    }
  }
  if (!in.eof()) throw std::runtime_error(path + ": could not be read to its end");
  if (lines.size() < 500)
    throw std::runtime_error(path + ": has " + std::to_string(lines.size()) +
                             " lines of two words or more; at least 500 are needed");
  return lines;
}

/// Stands in for a text: lines of 2 to 60 made-up words, each of which makes eight others likely.
inline text synthetic_text() {
  constexpr unsigned words = 300;
  generator random(1);
  auto const below = [&](unsigned bound) { return static_cast<unsigned>(random()) % bound; };
  text lines(1000);
  for (auto& sentence : lines) {
    unsigned word = below(words);
    for (unsigned left = 2 + below(59); left > 0; --left) {
      sentence.push_back("word" + std::to_string(word));
      word = (7 * word + below(8)) % words;
    }
  }
  return lines;
}

/// Numbers the words; the most frequent ones get numbers of their own, up to `vocabulary` in all.
inline corpus number_words(text const& lines, int vocabulary, std::string description) {
  std::unordered_map<std::string, int> occurrences;
  for (auto const& sentence : lines)
    for (auto const& word : sentence) ++occurrences[word];
  std::vector<std::pair<std::string, int>> frequent(occurrences.begin(), occurrences.end());
  std::sort(frequent.begin(), frequent.end(), [](auto const& a, auto const& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  frequent.resize(std::min(frequent.size(), static_cast<std::size_t>(vocabulary - first_word)));

  std::unordered_map<std::string, int> numbers;
  for (auto const& [word, count] : frequent) numbers.emplace(word, first_word + static_cast<int>(numbers.size()));
  corpus result{{}, first_word + static_cast<int>(numbers.size()), std::move(description)};
  for (auto const& sentence : lines) {
    line coded;
    for (auto const& word : sentence) {
      auto const found = numbers.find(word);
      coded.push_back(found == numbers.end() ? unknown_word : found->second);
    }
    result.lines.push_back(std::move(coded));
  }
  return result;
}

}  // namespace examples
#endif
