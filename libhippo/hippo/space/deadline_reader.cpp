#include "hippo/space/deadline_reader.hpp"

#include "hippo/base/span_text.hpp"
#include "hippo/space/value_reader.hpp"

namespace hippo {

std::optional<study_deadline> read_deadline(const document& deadline,
                                            diagnostics& notes) {
  const auto text = value_reader{notes}.word(deadline);
  if (!text)
    return std::nullopt;
  if (const auto span = span_from(*text))
    return study_deadline{*span, 0, *text};
  if (const auto time = time_from(*text))
    return study_deadline{std::nullopt, *time, *text};
  notes.error(deadline,
              "must be a span above 0 from the submission on, such as 6h or "
              "1h30m, or a time such as 2030-01-31T18:00Z, found "
                + deadline.found());
  return std::nullopt;
}

} // namespace hippo
