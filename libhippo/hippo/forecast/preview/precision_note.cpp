#include "hippo/forecast/preview/precision_note.hpp"

namespace hippo {

std::optional<diagnostic> precision_note(const study_spec& spec) {
  if (!spec.workload.options.contains("precision")
      || spec.marks.contains("workload.precision"))
    return std::nullopt;
  return locate(spec, "workload.precision",
                "float32, since the study does not say which; on a GPU tf32, "
                "as PyTorch has it for convolutions, takes about half the time "
                "for residual networks: write one of them, see "
                "docs/workloads.md#options-of-images");
}

} // namespace hippo
