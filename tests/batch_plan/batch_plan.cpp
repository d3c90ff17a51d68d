// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "batch_plan/run.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

TEST_CASE("batch_plan: a world that replicas do not fill has neighbours, as far as numbers go") {
  auto const says = [](std::string const& options) {
    answer const got = run("--micro 8 --json " + options);
    CHECK(got.exit_code == 1);
    return got.read()["errors"][0]["message"].get<std::string>();
  };
  auto const ends = [](std::string const& text, std::string const& end) {
    return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
  };
  CHECK(ends(says("--world 100 --tensor 8"), "context; 96 ranks would fill it; 104 ranks would fill it"));
  CHECK(ends(says("--world 4 --tensor 8"), "context; 8 ranks would fill it"));
  CHECK(ends(says("--world 9223372036854775807 --tensor 8"), "context; 9223372036854775800 ranks would fill it"));
  CHECK(says("--world 9 --tensor 9223372036854775807 --pipeline 8").find("exceeds 63 bits") != std::string::npos);
}

TEST_CASE("batch_plan: the worked examples") {
  json const large = read("--micro 8 --replicas 64 --accumulate 4 --length 4096");
  CHECK(large["batch"]["samples_per_update"] == 2048);
  CHECK(large["batch"]["positions_per_update"] == 8'388'608);
  CHECK(read("--micro 2 --replicas 2 --accumulate 8")["batch"]["samples_per_update"] == 32);

  json const split = read("--world 8 --tensor 2 --pipeline 2 --micro 2 --accumulate 4 --length 8");  // P-056
  CHECK(split["batch"]["replicas"] == 2);
  CHECK(split["batch"]["samples_per_update"] == 16);
  CHECK(split["batch"]["positions_per_update"] == 128);
  CHECK(read("--world 16 --target 128 --micro 4")["batch"]["group"] == 2);
  CHECK(read("--world 64 --tensor 2 --pipeline 2 --expert 4 --micro 1")["ranks"]["ranks_of_an_expert"] == 4);
}

TEST_CASE("batch_plan: whichever of m, A and D is missing is found again") {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> any(1, 300);
  for (int round = 0; round < 40; ++round) {
    std::int64_t const m = any(random), a = any(random), d = any(random), length = any(random);
    std::string const micro = option("micro", m), group = option("accumulate", a), across = option("replicas", d),
                      target = option("target", m * a * d) + option("length", length);
    for (auto const& given : {micro + group, micro + across, group + across, micro + group + across}) {
      json const batch = read(given + target)["batch"];
      CHECK(batch["microbatch"] == m);
      CHECK(batch["group"] == a);
      CHECK(batch["replicas"] == d);
      CHECK(batch["samples_per_update"] == m * a * d);
      CHECK(batch["positions_per_update"] == m * a * d * length);
    }
  }
}

TEST_CASE("batch_plan: a target that is missed has both neighbours, and exit code 1") {
  answer const missed = run("--target 128 --micro 4 --replicas 3 --json");  // P-062
  CHECK(missed.exit_code == 1);
  CHECK(missed.read()["neighbours"] == json::parse(R"([{"microbatches": 10, "samples_per_update": 120},
                                                       {"microbatches": 11, "samples_per_update": 132}])"));
  CHECK(missed.read()["errors"][0]["option"] == "--target");
  CHECK(!missed.read().contains("batch"));

  answer const uneven = run("--target 32 --micro 12 --json");  // P-064: 12 + 12 + 8
  CHECK(uneven.read()["uneven_group"]["microbatches"] == 3);
  CHECK(uneven.read()["uneven_group"]["last_microbatch"] == 8);

  answer const small = run("--target 4 --micro 8 --json");  // P-063: never 0
  CHECK(small.read()["neighbours"] == json::parse(R"([{"microbatches": 1, "samples_per_update": 8}])"));
}

TEST_CASE("batch_plan: memory and what fits") {
  json const all = read("--target 720 --replicas 2 --peaks 4:1400,8:1800 --memory 5000B");
  std::vector<std::int64_t> expected;
  for (std::int64_t m = 360; m > 0; --m)
    if (360 % m == 0 && 1000 + 100 * m <= 5000) expected.push_back(m);
  REQUIRE(all["plans"].size() == expected.size());
  CHECK(all["batch"]["plans_that_fit"] == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(all["plans"][i]["microbatch"] == expected[i]);
    CHECK(all["plans"][i]["group"] == 360 / expected[i]);
    CHECK(all["plans"][i]["memory"] == 1000 + 100 * expected[i]);
  }
  CHECK(all["memory"] == json::parse(R"({"fixed": 1000, "per_sample": 100, "of_its_samples": 4000,
                                         "of_the_microbatch": 5000, "budget": 5000, "fits": "yes", "left": 0, "largest_microbatch": 40})"));
  CHECK(all["batch"]["microbatch"] == 40);  // the largest that fits
  CHECK(all["batch"]["smaller_microbatch"] == 36);
  CHECK(all["batch"]["its_group"] == 10);

  json const model = read(
      "--micro 3 --world 8 --parameters 1.3B --copy-bytes 2 --activation 1.5GB --checkpoint 4 --shard gradients "
      "--summation compensated --other 1MiB");
  CHECK(model["model"]["parameters"] == 1'300'000'000LL * 6);
  CHECK(model["model"]["gradients"] == 162'500'000 * 4);
  CHECK(model["model"]["buffer"] == 162'500'000 * 8);
  CHECK(model["model"]["optimizer_state"] == 162'500'000LL * 8);
  CHECK(model["memory"]["of_the_microbatch"] == 1'300'000'000LL * 6 + 162'500'000LL * 20 + 1'048'576 + 3 * 375'000'000);
  CHECK(read("--micro 8 --peaks 4:1400,8:1800 --memory 1799B")["memory"]["fits"] == "no");
}

TEST_CASE("batch_plan: time, and replicas that sum in a ring") {
  json const all = read(
      "--micro 6 --accumulate 8 --replicas 4 --timings 4:3s,8:5s --overhead 25 --bandwidth 1kB "
      "--buffer 400 --latency 1ms");
  CHECK(all["time"]["group"].get<double>() == doctest::Approx(32.0));
  CHECK(all["time"]["samples_per_second"].get<double>() == doctest::Approx(4 * 48 / 32.0));
  CHECK(all["time"]["smallest_that_pays"] == 6);
  for (json const& row : all["scaling"]) {
    double const d = row["replicas"];
    double const sending = 2 * (d - 1) * (400 / d / 1000 + 0.001);
    CHECK(row["communication"].get<double>() == doctest::Approx(sending));
    CHECK(row["efficiency"].get<double>() == doctest::Approx(100 * 32 / (32 + sending)));
    CHECK(row["samples_per_second"].get<double>() == doctest::Approx(d * 48 / (32 + sending)));
  }
  CHECK(all["scaling"].size() == 3);
}

TEST_CASE("batch_plan: updates of a run and where it goes on") {
  json const all = read("--micro 8 --accumulate 2 --replicas 2 --length 10 --in-pass 7 --passes 24 --done 5");
  auto const row = [&](std::string const& policy) {
    for (json const& each : all["run"])
      if (each["last_group"] == policy) return each;
    return json();
  };
  CHECK(row("keep")["updates"] == 96);
  CHECK(row("drop")["updates"] == 72);
  CHECK(row("carry")["updates"] == 84);
  CHECK(row("refuse").is_null());
  CHECK(row("keep")["samples"] == 24 * 7 * 8 * 2);
  CHECK(row("drop")["samples"] == 24 * 6 * 8 * 2);
  CHECK(row("drop")["positions"] == 24 * 6 * 8 * 2 * 10);
  CHECK(row("drop")["resume_pass"] == 1);
  CHECK(row("drop")["resume_after"] == 4);
  CHECK(row("carry")["resume_after"] == 3);
}

TEST_CASE("batch_plan: unequal lengths, padded and packed") {
  json const lengths = read("--micro 4 --accumulate 3 --lengths 6:2,3:4 --length 10")["lengths"];
  CHECK(lengths[0]["tokens_per_update"] == 48.0);  // 12 samples of 4 tokens
  CHECK(lengths[0]["standard_deviation"].get<double>() == doctest::Approx(std::sqrt(12 * 2.0)));
  CHECK(lengths[0]["filled"] == 40.0);
  CHECK(lengths[1]["rows"] == 3);                  // 6+3, 6+3, 3+3
  CHECK(lengths[1]["tokens_per_update"] == 96.0);  // 12 rows of 8
  CHECK(lengths[1]["filled"] == 80.0);
}

TEST_CASE("batch_plan: advice") {
  json const all = read(
      "--micro 8 --accumulate 32 --replicas 4 --base-batch 256 --nominal 100 --new-replicas 3 "
      "--band 1 --ramp 62");
  CHECK(all["learning_rate"]["linear"] == 4.0);
  CHECK(all["learning_rate"]["square_root"] == 2.0);
  CHECK(all["nominal_batch"]["group"] == 3);
  CHECK(all["nominal_batch"]["weight_decay_factor"] == 0.96);
  CHECK(all["elastic"]["group"] == 43);
  CHECK(all["elastic"]["samples_per_update"] == 1032);
  CHECK(all["ramp"][2] ==
        json::parse(R"({"updates": 31, "group": 16, "samples_per_update": 512})"));  // 1 + 15.5, half to even
}

TEST_CASE("batch_plan: what cannot be read is named, with exit code 2") {
  struct wrong {
    char const* options;
    char const* says;
  };
  for (auto const& each : {
           wrong{"--micro x", "--micro: 'x' is no number"},
           wrong{"--micro -8", "--micro"},
           wrong{"--micro 0", "--micro: '0' is nothing"},
           wrong{"--micro 1.5", "--micro: '1.5' does not come to a whole number"},
           wrong{"--micro 8Q", "--micro: '8Q' is of an unknown unit"},
           wrong{"--micro 9223372036854775808", "--micro: '9223372036854775808' exceeds 63 bits"},
           wrong{"--micro 9223372036854775.8081k", "--micro"},
           wrong{"--micro 8 --memory 80XB", "--memory: '80XB' is of an unknown unit"},
           wrong{"--micro 8 --latency 5", "--latency: '5' is without a unit"},
           wrong{"--micro 8 --shard everything", "--shard: 'everything' is none of: nothing optimizer_state"},
           wrong{"--micro 8 --peaks 4:1GB", "--peaks: give two of them"},
           wrong{"--micro 8 --peaks 4,8", "--peaks: '4' is no pair"},
           wrong{"--micro 8 --timings 4:1s,8:x", "--timings: 'x' is no number"},
           wrong{"--micro", "--micro"},
           wrong{"--mikro 8", "--mikro"},
           wrong{"--micro 8 9", "9"},
       }) {
    answer const got = run(each.options, "2>&1 >/dev/null");
    CAPTURE(each.options);
    CAPTURE(got.text);
    CHECK(got.exit_code == 2);
    CHECK(got.text.find(each.says) != std::string::npos);
  }
}

TEST_CASE("batch_plan: what gives no plan names the option, with exit code 1") {
  struct wrong {
    char const* options;
    char const* option;
  };
  for (auto const& each : {
           wrong{"", "--micro"},
           wrong{"--target 64", "--micro"},
           wrong{"--target 64 --micro 2 --accumulate 2 --replicas 2", "--target"},
           wrong{"--micro 9223372036854775807 --accumulate 2", "--micro"},
           wrong{"--micro 9223372036854775807 --length 2", "--length"},
           wrong{"--micro 2 --tensor 2", "--world"},
           wrong{"--micro 2 --world 8 --tensor 3", "--world"},
           wrong{"--micro 2 --world 8 --expert 3", "--expert"},
           wrong{"--micro 2 --world 8 --replicas 4", "--replicas"},
           wrong{"--micro 2 --memory 1GB", "--memory"},
           wrong{"--target 64 --memory 1GB --parameters 1B", "--memory"},
           wrong{"--target 63 --replicas 2 --memory 100GB --parameters 1B", "--target"},
           wrong{"--micro 2 --parameters 9223372036854775807", "--parameters"},
           wrong{"--micro 2 --parameters 7 --terms 2 --division running", "--terms"},
           wrong{"--micro 2 --peaks 4:2GB,8:1GB", "--peaks"},
           wrong{"--micro 2 --timings 4:2s,8:1s", "--timings"},
           wrong{"--micro 2 --timings 4:2s,8:3s --overhead 100", "--overhead"},
           wrong{"--micro 2 --bandwidth 1GB", "--compute"},
           wrong{"--micro 2 --bandwidth 1GB --compute 1s", "--buffer"},
           wrong{"--micro 2 --in-pass 0 --done 1", "--done"},
           wrong{"--micro 2 --in-pass 100 --accumulate 8 --done 14", "--done"},  // it ends after 13 updates
           wrong{"--micro 2 --done 1", "--done"},
           wrong{"--micro 2 --passes 2", "--passes"},
           wrong{"--micro 2 --band 5", "--band"},
           wrong{"--micro 8 --replicas 4 --ramp 1000", "--accumulate"},
           wrong{"--micro 2 --ramp-of batch", "--ramp-of"},
           wrong{"--micro 2 --ramp-by tokens", "--ramp-by"},
           wrong{"--micro 2 --accumulate 8 --ramp 100 --in-pass 100", "--ramp"},
           wrong{"--micro 2 --accumulate 8 --ramp-stages 0:1,9:8 --in-pass 100", "--ramp-stages"},
           wrong{"--micro 2 --lengths 8:0", "--lengths"},
           wrong{"--micro 2 --lengths 8:1 --length 7", "--length"},
           wrong{"--micro 8 --accumulate 32 --new-replicas 3", "--new-replicas"},
       })
    check_refused(each.options, each.option);
}

TEST_CASE("batch_plan: tables for people, and help") {
  answer const tables = run("--micro 8 --replicas 64 --accumulate 4 --length 4096");
  CHECK(tables.exit_code == 0);
  CHECK(tables.text.find("positions per update               8 388 608") != std::string::npos);
  answer const help = run("--help");
  CHECK(help.exit_code == 0);
  CHECK(help.text.find("--target") != std::string::npos);
}
