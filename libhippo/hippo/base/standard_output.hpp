#pragma once

#include <memory>
#include <string>

namespace hippo {

/// The output of a program, for as long as this lives: all of `std::cout`. It
/// gets where it goes, or the program ends with a code that says that it did
/// not, whatever printed it. One at a time, made before anything is opened.
///
/// Descriptors 0 to 2 that are closed are taken, so that no other file gets
/// their numbers and what is printed; what is printed to a closed one fails. A
/// limit on the size of files (`ulimit -f`) makes writing fail from then on, as
/// a full disk does, and does not end the process.
class standard_output {
public:
  /// @param program for what is said of a failure
  explicit standard_output(std::string program);
  ~standard_output();
  standard_output(const standard_output&) = delete;
  standard_output& operator=(const standard_output&) = delete;

  /// Writes what is left. If something could not be written since its reader
  /// has gone, the process ends as others do then, by SIGPIPE; of any other
  /// failure the reason is told on stderr. Nothing is printed after this.
  /// @returns `code`, or 1 in place of 0 if not everything was written
  int finish(int code);

private:
  class buffer;

  std::string program_;
  std::unique_ptr<buffer> buffer_;
};

} // namespace hippo
