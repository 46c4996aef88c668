#include "hippo/service/merge/kept_plan.hpp"

#include <cassert>
#include <utility>

#include "hippo/service/merge/retention.hpp"

namespace hippo {

kept_plan::kept_plan(waiting_limits waits, bool is_any_device,
                     std::shared_ptr<file_memory> file)
  : cold(std::move(file)),
    plan(waits, resource()),
    kinds(plan, is_any_device, resource()),
    any_device(is_any_device) {}

void kept_plan::restore(stored_plan part) {
  auto result = part.results.begin();
  auto file = part.checkpoints.begin();
  auto delivered = part.delivered.begin();
  // Node by node, so that each is packed once, with all that it has.
  const auto restore_kept = [&](node_id id) {
    for (; result != part.results.end() && result->node == id; ++result) {
      plan.restore_result(id, result->step, result->values);
      kinds.restore(id, result->device);
    }
    for (; file != part.checkpoints.end() && file->node == id; ++file) {
      checkpoint_bytes += file->file.bytes;
      if (base.file.empty() && is_base(file->file))
        base = file->file;
      if (any_device)
        file->file.device = file->device;
      plan.restore_checkpoint(id, file->step, std::move(file->file));
      kinds.restore(id, file->device);
    }
    for (; delivered != part.delivered.end() && delivered->first == id;
         ++delivered)
      plan.restore_delivered(id, delivered->second);
    plan.pack_idle();
  };
  restore_kept(root_node);
  for (const auto& x : part.nodes) {
    if (x.is_lost)
      plan.restore_lost(x.id);
    else
      plan.restore_node(x.id, x.parent, x.begin, x.config, x.strand);
    restore_kept(x.id);
  }
  assert(result == part.results.end() && file == part.checkpoints.end()
         && delivered == part.delivered.end());
}

std::uint64_t kept_plan::memory_bytes() const {
  return plan.memory_bytes()
         + (cold ? cold->memory_bytes()
                 : plan.cold_bytes() + kinds.cold_bytes());
}

} // namespace hippo
