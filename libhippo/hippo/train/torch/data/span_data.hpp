#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hippo/train/torch/data/word_piece.hpp"

namespace hippo {

/// A text in which answers are looked for.
struct passage {
  std::string text;
  std::vector<word_part> parts; ///< its tokens
};

/// A question about a passage, and every answer that counts as right.
struct span_question {
  std::shared_ptr<const passage> where;
  std::vector<std::string> answers;
};

/// A network's input for a question and its passage: a window of the passage.
struct span_window {
  /// `[CLS]` question `[SEP]` window `[SEP]`.
  std::vector<std::int32_t> tokens;
  std::size_t first = 0;  ///< where the window begins in `tokens`
  std::size_t offset = 0; ///< and in the passage's tokens
  /// First and last token of the answer in `tokens`; 0: it is not, or not
  /// wholly, in this window.
  std::size_t start = 0;
  std::size_t end = 0;
  std::size_t question = 0; ///< index in `span_set::questions`

  /// Where the window ends in `tokens`.
  [[nodiscard]] std::size_t last() const { return tokens.size() - 1; }
};

struct span_set {
  std::vector<span_question> questions;
  std::vector<span_window> windows; ///< in the order of the questions
};

/// The windows to train on, and the questions to measure on with all theirs.
struct span_data {
  span_set training;
  span_set validation;
};

/// How much data there is, and how it is cut.
struct span_limits {
  std::size_t training = 0;   ///< windows
  std::size_t validation = 0; ///< questions
  std::size_t length = 0;     ///< most tokens of a window, all included
  std::size_t stride = 0;     ///< from one window of a passage to the next
  std::size_t vocabulary = 0; ///< most tokens that there may be
};

/// Cuts a passage for a question (Devlin et al., 2019): windows that overlap,
/// so that together they hold everything. The question is cut to 64 tokens, or
/// to half of what a window holds.
/// @param start,end first and last token of the answer in the passage
/// REQUIRES: `length` >= 16, `stride` > 0
std::vector<span_window>
cut_into_windows(const word_piece& words,
                 const std::vector<word_part>& question, const passage& where,
                 std::size_t start, std::size_t end, std::size_t length,
                 std::size_t stride);

/// Reads `train-v1.1.json`, `dev-v1.1.json` (SQuAD 1.1; Rajpurkar et al., 2016)
/// and `vocab.txt` from `folder`: the first windows and questions of the files.
/// Throws `missing_data_error` if a file is not there, `std::runtime_error`,
/// which names file and place, if one is damaged, or `std::invalid_argument` if
/// they hold less than `limits` asks for.
span_data read_squad(const std::string& folder, const span_limits& limits);

/// Makes data that look alike, always the same, out of numbers instead of
/// words: each question names a kind, and the answer lies between the two
/// tokens that mark this kind in the passage, which also holds an answer of
/// another kind.
/// REQUIRES: `vocabulary` >= 32, `length` >= 16
span_data make_spans(const span_limits& limits);

/// How good a predicted answer is.
struct span_score {
  double exact = 0; ///< 1: the words of one of the right answers
  double f1 = 0;    ///< of words, the best over the right answers
};

/// Returns the score of an answer as SQuAD 1.1's evaluation does.
/// @param start,end first and last token of it in `window.tokens`, within the
/// window
span_score score_of(const span_set& set, const span_window& window,
                    std::size_t start, std::size_t end);

} // namespace hippo
