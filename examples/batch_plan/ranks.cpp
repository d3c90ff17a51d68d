// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "topics.hpp"

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
    out.complain(found.reason() == plan::refusal::experts_left_over ? in::expert : in::world, text_of(*found.reason()));
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
