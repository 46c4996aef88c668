#include "hippo/process/workload_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include "hippo/wire/codec.hpp"
#include "process.capnp.h"
#include "sequence.capnp.h"

namespace hippo {

namespace {

/// How long a process may take to end once it is told to.
constexpr std::chrono::milliseconds farewell_patience{2000};

/// How long what a process said last may take to become its end.
constexpr std::chrono::milliseconds last_breath{1000};

/// Of an answer, in bytes: metrics and tracebacks, nothing large.
constexpr std::uint64_t answer_words_max = (64ull << 20) / sizeof(capnp::word);

std::string last_error(const std::string& what) {
  return what + ": " + std::strerror(errno);
}

std::vector<char*> pointers(const std::vector<std::string>& xs) {
  std::vector<char*> result;
  for (const auto& x : xs)
    result.push_back(const_cast<char*>(x.c_str()));
  result.push_back(nullptr);
  return result;
}

/// The environment of this program and the number of the process's socket.
std::vector<std::string> environment(int socket, std::uint32_t threads) {
  const std::map<std::string, std::string> set{
    {"HIPPO_SOCKET", std::to_string(socket)},
    {"OMP_NUM_THREADS", std::to_string(threads)},
    {"PYTHONUNBUFFERED", "1"}};
  std::vector<std::string> result;
  for (char** x = environ; *x != nullptr; ++x) {
    const std::string entry{*x};
    if (!set.contains(entry.substr(0, entry.find('='))))
      result.push_back(entry);
  }
  for (const auto& [name, value] : set)
    result.push_back(name + '=' + value);
  return result;
}

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const auto number = WTERMSIG(status);
    auto result = "signal " + std::to_string(number) + " ("
                  + ::strsignal(number) + ")";
    if (number == SIGKILL)
      result += "; the system kills like this what takes too much memory";
    return result;
  }
  return "exit code " + std::to_string(WEXITSTATUS(status));
}

} // namespace

/// One request and the answer to it.
class workload_process::exchange {
public:
  explicit exchange(workload_process& owner) : owner_(owner) {
    request_.setNumber(++owner.number_);
  }

  schema::ProcessRequest::Builder request() { return request_; }

  /// Sends the request and waits for the answer.
  /// @param expected which one it must be
  schema::ProcessAnswer::Reader answer(schema::ProcessAnswer::Which expected) {
    if (!owner_.alive())
      throw std::runtime_error("the workload's process has ended");
    if (const auto sent = try_to([&] {
          capnp::writeMessageToFd(owner_.socket_, out_);
        });
        !sent)
      owner_.give_up("ended with " + owner_.end());
    for (;;) {
      owner_.await_answer();
      capnp::ReaderOptions limits;
      limits.traversalLimitInWords = answer_words_max;
      if (const auto came = try_to([&] {
            in_ = std::make_unique<capnp::StreamFdMessageReader>(
              owner_.socket_, limits);
          });
          !came)
        owner_.give_up("ended with " + owner_.end());
      const auto result = in_->getRoot<schema::ProcessAnswer>();
      if (result.getNumber() != owner_.number_)
        owner_.give_up("answered what it was not asked");
      if (result.isProgress())
        continue;
      if (result.isFailed())
        fail(result.getFailed());
      if (result.which() != expected)
        owner_.give_up("gave an answer of another kind than was asked for");
      return result;
    }
  }

private:
  static bool try_to(const std::function<void()>& f) {
    return kj::runCatchingExceptions([&] { f(); }) == nullptr;
  }

  [[noreturn]] static void fail(schema::Problem::Reader x) {
    std::string text = x.getMessage().cStr();
    if (x.getDetails().size() > 0)
      text += std::string{"\n"} + x.getDetails().cStr();
    throw std::runtime_error(text);
  }

  workload_process& owner_;
  capnp::MallocMessageBuilder out_;
  schema::ProcessRequest::Builder request_
    = out_.initRoot<schema::ProcessRequest>();
  std::unique_ptr<capnp::StreamFdMessageReader> in_;
};

workload_process::workload_process(process_options options)
  : options_(std::move(options)) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error(last_error("no socket for a workload's process"));
  socket_ = ends[0];
  // It must not be the number that it is copied to, or it stays closed.
  const int theirs = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 10);
  ::close(ends[1]);
  constexpr int theirs_as = 3;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
                                     O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(
    &files, STDOUT_FILENO,
    options_.log.empty() ? "/dev/null" : options_.log.c_str(),
    O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, theirs, theirs_as);
  if (!options_.folder.empty())
    ::posix_spawn_file_actions_addchdir_np(&files, options_.folder.c_str());
  // A group of its own: whatever it starts ends with it.
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  const auto words = environment(theirs_as, options_.threads);
  const auto arguments = pointers(options_.command);
  const auto variables = pointers(words);
  const auto code
    = ::posix_spawnp(&pid_, options_.command[0].c_str(), &files, &attributes,
                     arguments.data(), variables.data());
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  ::close(theirs);
  if (code == 0)
    return;
  pid_ = -1;
  ::close(socket_);
  throw std::runtime_error("cannot start " + options_.command[0] + ": "
                           + std::strerror(code));
}

workload_process::~workload_process() {
  ::close(socket_); // tells it to end
  const auto deadline = std::chrono::steady_clock::now() + farewell_patience;
  while (pid_ > 0 && std::chrono::steady_clock::now() < deadline) {
    if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
      ::kill(-pid_, SIGKILL); // what it has left
      pid_ = -1;
      return;
    }
    ::usleep(1000);
  }
  kill_all();
}

void workload_process::kill_all() noexcept {
  if (pid_ <= 0)
    return;
  ::kill(-pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void workload_process::give_up(const std::string& why) {
  kill_all();
  throw std::runtime_error("the workload's process " + why);
}

std::string workload_process::end() {
  const auto deadline = std::chrono::steady_clock::now() + last_breath;
  int status = 0;
  while (std::chrono::steady_clock::now() < deadline) {
    if (::waitpid(pid_, &status, WNOHANG) == pid_) {
      ::kill(-pid_, SIGKILL);
      pid_ = -1;
      return describe_end(status);
    }
    ::usleep(1000);
  }
  return "its connection closed";
}

void workload_process::await_answer() {
  pollfd x{socket_, POLLIN, 0};
  const auto patience
    = std::chrono::duration_cast<std::chrono::milliseconds>(
      options_.silence_max);
  int ready = 0;
  do
    ready = ::poll(&x, 1, static_cast<int>(patience.count()));
  while (ready < 0 && errno == EINTR);
  if (ready == 0)
    give_up("said nothing for "
            + std::to_string(options_.silence_max.count())
            + " s and was killed");
}

workload_process::description workload_process::describe() {
  exchange x{*this};
  x.request().setDescribe(schema::PROCESS_PROTOCOL_VERSION);
  const auto said = x.answer(schema::ProcessAnswer::DESCRIPTION).getDescription();
  if (said.getProtocol() != schema::PROCESS_PROTOCOL_VERSION)
    give_up("speaks version " + std::to_string(said.getProtocol())
            + " of the interface, this trainer "
            + std::to_string(schema::PROCESS_PROTOCOL_VERSION));
  description result;
  result.name = said.getName().cStr();
  for (auto name : said.getMetrics())
    result.metrics.emplace_back(name.cStr());
  for (auto y : said.getVersions())
    result.versions.emplace(y.getName().cStr(), y.getVersion().cStr());
  return result;
}

void workload_process::setup(std::uint64_t seed,
                             const std::map<std::string, scalar>& args) {
  exchange x{*this};
  auto to = x.request().initSetup();
  to.setSeed(seed);
  to.setDevice(options_.device);
  to.setThreads(options_.threads);
  auto list = to.initArgs(static_cast<unsigned>(args.size()));
  unsigned i = 0;
  for (const auto& [name, value] : args) {
    auto option = list[i++];
    option.setName(name);
    if (const auto* number = std::get_if<double>(&value))
      option.initValue().setNumber(*number);
    else
      option.initValue().setWord(std::get<std::string>(value));
  }
  x.answer(schema::ProcessAnswer::DONE);
}

void workload_process::init() {
  exchange x{*this};
  x.request().setInit();
  x.answer(schema::ProcessAnswer::DONE);
}

void workload_process::train(const configuration& config, step_t from,
                             step_t to) {
  exchange x{*this};
  auto request = x.request().initTrain();
  request.setFrom(from);
  request.setTo(to);
  auto values = request.initValues(static_cast<unsigned>(config.size()));
  unsigned i = 0;
  for (const auto& [name, f] : config) {
    auto entry = values[i++];
    entry.setName(name);
    if (f.kind == form_kind::text) {
      entry.setWord(f.word);
      continue;
    }
    const auto steps = f.is_plateau() ? 1u : static_cast<unsigned>(to - from);
    auto numbers = entry.initNumbers(steps);
    for (unsigned k = 0; k < steps; ++k)
      numbers.set(k, std::get<double>(f.at(from + k)));
  }
  const auto pieces = encode_configuration(config);
  auto words = kj::heapArray<capnp::word>(pieces.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), pieces.data(), words.asBytes().size());
  capnp::FlatArrayMessageReader read{words};
  request.setPieces(read.getRoot<schema::Configuration>());
  x.answer(schema::ProcessAnswer::DONE);
}

metrics workload_process::evaluate() {
  exchange x{*this};
  x.request().setEvaluate();
  metrics result;
  for (auto y : x.answer(schema::ProcessAnswer::METRICS).getMetrics())
    result[y.getName().cStr()] = y.getValue();
  if (result.empty())
    throw std::runtime_error("the workload has measured nothing");
  return result;
}

void workload_process::save(const std::string& path) {
  exchange x{*this};
  x.request().setSave(path);
  x.answer(schema::ProcessAnswer::DONE);
}

void workload_process::load(const std::string& path) {
  exchange x{*this};
  x.request().setLoad(path);
  x.answer(schema::ProcessAnswer::DONE);
}

} // namespace hippo
