// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ACCRUE_BENCHMARKS_GOALS_GOALS_HPP
#define ACCRUE_BENCHMARKS_GOALS_GOALS_HPP

#include <string>
#include <vector>

namespace bench {

/// What a figure of a case is held against.
enum class peer {
  none,      // it is a counter of the case
  torch,     // passes of PyTorch over passes of the case
  portable,  // passes of the case at -O2 over those at -O3 -march=native
};

/// What a case must reach. Goals of one sitting are measured in neighbouring processes.
struct goal {
  std::string sitting;
  std::string name;
  std::string figure;
  bool at_most;
  double required;
  peer against = peer::none;
  std::vector<std::string> torch = {};  // arguments of peers/pytorch.py
};

/// Everything that issue and documentation promise, in the order in which it is measured.
inline std::vector<goal> goals() {
  std::vector<goal> all;
  auto const times_torch = [&](std::string const& sitting, std::string const& name, double required,
                               std::vector<std::string> const& arguments) {
    all.push_back({sitting, name, "times_torch", false, required, peer::torch, arguments});
  };
  auto const portable = [&](std::string const& sitting, std::string const& name, double required) {
    all.push_back({sitting, name, "portable_to_native", true, required, peer::portable});
  };
  auto const torch_of = [](std::string const& shape, std::string const& a, std::string const& scalar,
                           std::string const& zero, std::string const& rounds) {
    return std::vector<std::string>{"--shape", shape, "--microbatches", a,     "--scalar", scalar,
                                    "--zero",  zero,  "--rounds",       rounds};
  };

  struct at {
    std::string microbatches;
    double torch;
    double hand;  // not required if 0
  };
  std::vector<at> const groups{{"1", 1.6, 1.5}, {"4", 1.35, 0}, {"8", 1.15, 1.15}, {"16", 1.08, 0}};
  for (std::string const& shape : {std::string("one"), std::string("gpt2")}) {
    for (at const& a : groups) {
      std::string const sitting = shape + "/A" + a.microbatches, name = "group/float/" + sitting;
      auto const arguments = torch_of(shape, a.microbatches, "float", "none", "11");
      all.push_back({sitting, name + "/lent", "to_floor", true, 1.05});
      all.push_back({sitting, name + "/copy", "to_floor", true, 1.10});
      times_torch(sitting, name + "/lent", a.torch, arguments);
      std::vector<std::string> ways{"copy", "lent"};
      if (a.microbatches == "8") {
        times_torch(sitting, name + "/gather2", 1.45, arguments);
        times_torch(sitting, name + "/gather4", 1.55, arguments);
        ways.insert(ways.end(), {"gather2", "gather4"});
        portable(sitting, name + "/copy", 1.2);
        portable(sitting, name + "/lent", 1.2);
      }
      if (a.hand > 0)
        for (std::string const& way : ways) all.push_back({sitting, name + "/" + way, "times_hand", false, a.hand});
    }
    std::string const sitting = shape + "/bfloat16", name = "group/bfloat16/" + shape + "/A8";
    all.push_back({sitting, name + "/copy", "to_floor", true, 1.12});
    portable(sitting, name + "/copy", 1.35);
    if (shape == "one") {
      auto const arguments = torch_of(shape, "8", "bfloat16", "zero", "11");
      times_torch(sitting, name + "/copy", 2.1, arguments);
      times_torch(sitting, name + "/gather4", 3.5, arguments);
    }
    all.push_back({shape, "update_pass/" + shape, "to_seven_streams", true, 1.05});
    all.push_back({shape, "measured_addition/" + shape, "to_plain", true, 1.06});
  }

  struct small {
    std::string shape;
    double torch;
    std::string rounds;
  };
  for (small const& s : std::vector<small>{{"2000x4096", 3.5, "31"}, {"2000x256", 30.0, "51"}}) {
    std::string const name = "group/float/" + s.shape;
    all.push_back({s.shape, name + "/A8/copy", "to_floor", true, 1.10});
    times_torch(s.shape, name + "/A8/copy", s.torch, torch_of(s.shape, "8", "float", "none", s.rounds));
    for (char const* way : {"copy", "lent", "gather2", "gather4"})
      all.push_back({s.shape, name + "/A8/" + way, "times_hand", false, 1.15});
    for (char const* way : {"copy", "lent"}) all.push_back({s.shape, name + "/A1/" + way, "times_hand", false, 1.5});
  }
  all.push_back({"2000x256", "measured_addition/2000x256", "ns_per_view", true, 25.0});
  all.push_back({"summation", "summation", "compensated", true, 2.2});
  all.push_back({"summation", "summation", "order_independent", true, 4.0});
  all.push_back({"summation", "summation", "reject_microbatch_reads", true, 1.25});  // what it takes more, in reads
  all.push_back({"strided", "strided_addition", "to_hand", true, 1.5});
  all.push_back({"strided", "group/float/strided/A1/copy", "times_hand", false, 1.5});
  all.push_back({"strided", "group/float/strided/A8/copy", "times_hand", false, 1.15});
  return all;
}

}  // namespace bench
#endif
