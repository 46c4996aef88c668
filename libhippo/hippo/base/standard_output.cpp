#include "hippo/base/standard_output.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <streambuf>
#include <string_view>
#include <utility>

#include "hippo/base/whole_file.hpp"

namespace hippo {

namespace {

/// So much is written at a time.
constexpr std::size_t buffer_bytes = 1 << 16;

/// Takes the numbers of those standard descriptors that are closed. What is
/// written to stdout fails then as it would have; nobody misses stderr.
void take_closed_descriptors() {
  constexpr std::array flags{O_WRONLY, O_RDONLY, O_RDWR};
  for (int i = 0; i <= STDERR_FILENO; ++i)
    if (::fcntl(i, F_GETFD) < 0 && errno == EBADF) {
      const int got
        = ::open("/dev/null", flags.at(static_cast<std::size_t>(i)));
      if (got >= 0 && got != i) { // a lower one was free, and is taken now
        ::dup2(got, i);
        ::close(got);
      }
    }
}

} // namespace

/// Writes to stdout, until that fails.
class standard_output::buffer final : public std::streambuf {
public:
  explicit buffer(std::streambuf* before) : before_(before) { reset(); }

  [[nodiscard]] std::streambuf* before() const { return before_; }

  /// Why something could not be written, of `errno`; 0: all was.
  [[nodiscard]] int failure() const { return failure_; }

  /// What was not written is forgotten. @returns `failure()`
  int flush() {
    const std::string_view bytes{pbase(),
                                 static_cast<std::size_t>(pptr() - pbase())};
    if (failure_ == 0)
      failure_ = write_all(STDOUT_FILENO, bytes);
    reset();
    return failure_;
  }

  /// Some file systems say only at the end that there is no room.
  int close() {
    if (flush() == 0 && ::close(STDOUT_FILENO) != 0 && errno != EBADF)
      failure_ = errno;
    return failure_;
  }

protected:
  int_type overflow(int_type c) override {
    if (flush() != 0)
      return traits_type::eof();
    if (traits_type::eq_int_type(c, traits_type::eof()))
      return traits_type::not_eof(c);
    return sputc(traits_type::to_char_type(c));
  }

  int sync() override { return flush() == 0 ? 0 : -1; }

private:
  void reset() { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

  std::streambuf* before_;
  int failure_ = 0;
  std::array<char, buffer_bytes> bytes_{};
};

standard_output::standard_output(std::string program)
  : program_(std::move(program)) {
  take_closed_descriptors();
  std::signal(SIGXFSZ, SIG_IGN);
  buffer_ = std::make_unique<buffer>(std::cout.rdbuf());
  std::cout.rdbuf(buffer_.get());
}

standard_output::~standard_output() { std::cout.rdbuf(buffer_->before()); }

int standard_output::finish(int code) {
  const auto why = buffer_->close();
  if (why == EPIPE) {
    std::signal(SIGPIPE, SIG_DFL);
    sigset_t pipes;
    ::sigemptyset(&pipes);
    ::sigaddset(&pipes, SIGPIPE);
    ::pthread_sigmask(SIG_UNBLOCK, &pipes, nullptr);
    std::raise(SIGPIPE);
  }
  if (why == 0)
    return code;
  std::cerr << program_ << ": cannot write to stdout: " << std::strerror(why)
            << "; not all of the output is there\n";
  return code == 0 ? 1 : code;
}

} // namespace hippo
