#pragma once

namespace hippo {

/// A position in a text, both from 1; 0: the text as a whole.
struct mark {
  int line = 0;
  int column = 0;
};

} // namespace hippo
