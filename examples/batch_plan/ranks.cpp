// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

#include <limits>
#include <optional>
#include <string>

namespace batch_plan {

std::optional<replicas> replicas_of_the_run(report_writer& out) {
  bool const split = out.has(in::tensor) || out.has(in::pipeline) || out.has(in::context) || out.has(in::expert);
  if (!out.has(in::world)) {
    if (split) out.complain(in::world, "missing; without it nobody knows what is split");
    if (out.has(in::replicas)) return replicas{out.number(in::replicas)};
    return std::nullopt;
  }
  plan::mesh const mesh{plan::ranks{out.number(in::world)}, plan::ranks{out.number(in::tensor, 1)},
                        plan::ranks{out.number(in::pipeline, 1)}, plan::ranks{out.number(in::context, 1)},
                        plan::ranks{out.number(in::expert, 1)}};
  auto const found = plan::replicas_of(mesh);
  if (!found) {
    std::string text = text_of(*found.reason());
    if (found.reason() == plan::refusal::ranks_left_over) {  // the ranks of a replica fit into 63 bits then
      std::int64_t const one = mesh.tensor.value() * mesh.pipeline.value() * mesh.context.value();
      std::int64_t const below = mesh.world.value() / one * one;
      if (below > 0) text += accrue::joined({"; ", std::to_string(below), " ranks would fill it"});
      if (below <= std::numeric_limits<std::int64_t>::max() - one)
        text += accrue::joined({"; ", std::to_string(below + one), " ranks would fill it"});
    }
    out.complain(found.reason() == plan::refusal::experts_left_over ? in::expert : in::world, std::move(text));
    return std::nullopt;
  }
  if (out.has(in::replicas) && out.number(in::replicas) != found.value().value())
    out.complain(in::replicas,
                 accrue::joined({std::to_string(out.number(in::replicas)), " replicas, but the world has ",
                                 std::to_string(found.value().value()), "; give one of the two"}));
  auto& to = out.only("ranks");
  say(to, "replicas", found.value().value());
  say(to, "ranks_of_a_replica", mesh.world.value() / found.value().value());
  say(to, "ranks_of_an_expert", plan::ranks_of_an_expert(mesh).value().value());
  return found.value();
}

}  // namespace batch_plan
