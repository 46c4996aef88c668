#include "hippo/train/process/workload_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include "hippo/base/name.hpp"
#include "hippo/base/number.hpp"
#include "hippo/base/utf8.hpp"
#include "hippo/net/wire/codec.hpp"
#include "hippo/net/wire/workload_size.hpp"
#include "hippo/train/process/code_values.hpp"
#include "hippo/train/process/descriptor.hpp"
#include "process.capnp.h"
#include "sequence.capnp.h"

namespace hippo {

namespace {

/// How long a process may take to end once it is told to.
constexpr std::chrono::milliseconds farewell_patience{2000};

/// How long it may take to renew itself: the processes that it ends have that
/// patience.
constexpr std::chrono::milliseconds renewal_patience{5000};

/// Says in which steps a call was, as code counts them.
std::string steps_text(step_t from, step_t to) {
  return to == from + 1 ? "in step " + std::to_string(from) + ": "
                        : "in steps " + std::to_string(from) + " to "
                            + std::to_string(to - 1) + ": ";
}

/// Of an answer, in bytes: metrics and tracebacks, nothing large.
constexpr std::uint64_t answer_words_max = (64ull << 20) / sizeof(capnp::word);

} // namespace

void check_metrics(const metrics& numbers) {
  if (numbers.empty())
    throw std::runtime_error("the workload has measured nothing");
  if (const auto why = refused_metrics(numbers))
    throw std::runtime_error("the workload has measured " + *why);
}

/// One request and the answer to it.
class workload_process::exchange {
public:
  explicit exchange(workload_process& owner)
    : exchange(owner, owner.options_.silence_max) {}

  /// @param silence_max how long the process may show no sign of life
  exchange(workload_process& owner, std::chrono::milliseconds silence_max)
    : owner_(owner), silence_max_(silence_max) {
    request_.setNumber(++owner.number_);
  }

  schema::ProcessRequest::Builder request() { return request_; }

  /// Sends the request and waits for the answer.
  /// @param expected which one it must be
  schema::ProcessAnswer::Reader answer(schema::ProcessAnswer::Which expected) {
    if (!owner_.alive())
      throw std::runtime_error("the workload's process has ended");
    send();
    for (;;) {
      receive();
      std::optional<schema::ProcessAnswer::Reader> result;
      if (const auto why = kj::runCatchingExceptions(
            [&] { result = in_->getRoot<schema::ProcessAnswer>(); });
          why != nullptr)
        owner_.give_up("sent an answer that is damaged");
      if (result->getNumber() != owner_.number_)
        owner_.give_up("answered what it was not asked");
      if (result->isProgress())
        continue;
      if (result->isFailed())
        fail(result->getFailed());
      if (result->which() != expected)
        owner_.give_up("gave an answer of another kind than was asked for");
      if (result->hasSize())
        owner_.size_ = size_in(result->getSize());
      return *result;
    }
  }

private:
  using clock = std::chrono::steady_clock;

  /// Sends the request, all of it in `silence_max`. A process that has ended
  /// must not end this one too: hence no SIGPIPE.
  void send() {
    const auto words = capnp::messageToFlatArray(out_);
    auto left = words.asChars();
    const auto deadline = clock::now() + silence_max_;
    while (left.size() > 0) {
      const auto n
        = ::send(owner_.socket_, left.begin(), left.size(), MSG_NOSIGNAL);
      if (n > 0)
        left = left.slice(static_cast<std::size_t>(n), left.size());
      else if (errno == EAGAIN)
        await(POLLOUT, deadline, "did not read a request for ");
      else if (errno != EINTR)
        owner_.mourn();
    }
  }

  /// Receives the next message into `in_`. What has begun must come in
  /// `silence_max`, whatever is printed meanwhile.
  void receive() {
    auto& buffer = owner_.answers_;
    std::optional<clock::time_point> deadline;
    for (;;) {
      if (auto words = take(buffer)) {
        words_ = kj::mv(*words);
        capnp::ReaderOptions limits;
        limits.traversalLimitInWords = answer_words_max;
        if (const auto why = kj::runCatchingExceptions([&] {
              in_ = std::make_unique<capnp::FlatArrayMessageReader>(words_,
                                                                    limits);
            });
            why != nullptr)
          owner_.give_up("sent an answer that is damaged");
        return;
      }
      if (buffer.has_begun() && !deadline)
        deadline = clock::now() + silence_max_;
      await(POLLIN, deadline,
            deadline ? "did not end an answer for " : "said nothing for ");
      const auto room = buffer.room();
      const auto n = ::recv(owner_.socket_, room.data(), room.size(), 0);
      if (n > 0)
        buffer.add(static_cast<std::size_t>(n));
      else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        owner_.mourn();
    }
  }

  std::optional<kj::Array<capnp::word>> take(answer_buffer& buffer) {
    try {
      return buffer.take();
    } catch (const std::runtime_error& why) {
      owner_.give_up(why.what());
    }
  }

  /// Waits until the socket can be used.
  /// @param deadline nothing: as long as the process shows signs of life
  /// @param why ended what it did not do
  void await(short use, const std::optional<clock::time_point>& deadline,
             const std::string& why_ended) {
    const auto most = silence_max_;
    const auto left = deadline
                        ? std::chrono::duration_cast<std::chrono::milliseconds>(
                            *deadline - clock::now())
                        : most;
    const auto heard = owner_.child_->wait(
      owner_.socket_, use, left,
      deadline ? printing::does_not_count : printing::counts);
    if (heard == child::event::ended)
      owner_.mourn();
    if (heard == child::event::silence)
      owner_.give_up(why_ended
                     + to_text(static_cast<double>(most.count()) / 1000)
                     + " s and was killed");
  }

  [[noreturn]] static void fail(schema::Problem::Reader x) {
    std::string text = x.getMessage().cStr();
    if (x.getDetails().size() > 0)
      text += std::string{"\n"} + x.getDetails().cStr();
    throw std::runtime_error(to_utf8(text));
  }

  workload_process& owner_;
  const std::chrono::milliseconds silence_max_;
  capnp::MallocMessageBuilder out_;
  schema::ProcessRequest::Builder request_
    = out_.initRoot<schema::ProcessRequest>();
  kj::Array<capnp::word> words_;
  std::unique_ptr<capnp::FlatArrayMessageReader> in_; ///< of `words_`
};

workload_process::workload_process(process_options options)
  : options_(std::move(options)), answers_(answer_words_max) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::runtime_error(std::string{"no socket for a workload's process: "}
                             + std::strerror(errno));
  constexpr int theirs_as = 3;
  const int theirs = above_standard(ends[1]);
  socket_ = above_standard(ends[0]);
  // Theirs goes on to wait where it likes to.
  ::fcntl(socket_, F_SETFL, O_NONBLOCK);
  spawn_plan plan;
  plan.copy(theirs, theirs_as);
  plan.set("HIPPO_SOCKET", std::to_string(theirs_as));
  try {
    child_.emplace(plan, options_);
  } catch (...) {
    ::close(theirs);
    ::close(socket_);
    throw;
  }
  ::close(theirs);
}

workload_process::~workload_process() {
  ::close(socket_); // tells it to end
  child_->end(farewell_patience);
}

void workload_process::give_up(const std::string& why) {
  child_->kill();
  throw std::runtime_error("the workload's process " + why);
}

void workload_process::mourn() {
  give_up("ended with " + child_->end(last_breath));
}

workload_process::description workload_process::describe() {
  exchange x{*this};
  x.request().setDescribe(schema::PROCESS_PROTOCOL_VERSION);
  const auto said
    = x.answer(schema::ProcessAnswer::DESCRIPTION).getDescription();
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
  captures_ = said.getCaptures();
  renews_ = said.getRenews();
  result.averages = said.getAverages();
  return result;
}

void workload_process::setup(const process_setup& setup) {
  exchange x{*this};
  auto to = x.request().initSetup();
  to.setSeed(setup.seed);
  to.setDevice(options_.device);
  to.setThreads(options_.threads);
  to.setInitial(options_.initial);
  put_arguments(setup, to);
  if (setup.average.of > 0) {
    auto average = to.initAverage();
    average.setOf(static_cast<std::uint32_t>(setup.average.of));
    average.setEvery(setup.average.every);
  }
  x.answer(schema::ProcessAnswer::DONE);
}

bool workload_process::renew() {
  if (!alive() || !renews_)
    return false;
  try {
    exchange x{*this, renewal_patience};
    x.request().setRenew();
    x.answer(schema::ProcessAnswer::DONE);
  } catch (const std::exception&) {
    return false;
  }
  size_ = {};
  setup_ns_ = 0;
  take_output();
  return true;
}

bool workload_process::waits() const noexcept {
  // Nothing comes of a process unasked but its end.
  pollfd ready{socket_, POLLIN, 0};
  return alive() && ::poll(&ready, 1, 0) == 0;
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
  put_values(config, from, to, request);
  const auto pieces = encode_configuration(config);
  auto words = kj::heapArray<capnp::word>(pieces.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), pieces.data(), words.asBytes().size());
  capnp::FlatArrayMessageReader read{words};
  request.setPieces(read.getRoot<schema::Configuration>());
  setup_ns_ = 0;
  try {
    const auto said = x.answer(schema::ProcessAnswer::DONE);
    setup_ns_ = said.getSetupNanos();
    ranks_apart_ = said.getRanksApart();
  } catch (const std::runtime_error& why) {
    const std::string_view said{why.what()};
    if (said.starts_with("in step") || said.starts_with("before step "))
      throw; // the code has said where it was
    throw std::runtime_error(steps_text(from, to) + why.what());
  }
}

metrics workload_process::evaluate() {
  exchange x{*this};
  x.request().setEvaluate();
  metrics result;
  for (auto y : x.answer(schema::ProcessAnswer::METRICS).getMetrics())
    result[y.getName().cStr()] = y.getValue();
  check_metrics(result);
  return result;
}

void workload_process::save(const std::string& path) {
  exchange x{*this};
  x.request().setSave(path);
  x.answer(schema::ProcessAnswer::DONE);
}

void workload_process::capture(const std::string& path) {
  exchange x{*this};
  x.request().setCapture(path);
  x.answer(schema::ProcessAnswer::DONE);
}

void workload_process::load(const std::string& path) {
  exchange x{*this};
  x.request().setLoad(path);
  x.answer(schema::ProcessAnswer::DONE);
}

std::optional<std::vector<std::string>>
workload_process::compare(const std::string& path, const std::string& other) {
  exchange x{*this};
  auto request = x.request().initCompare();
  request.setPath(path);
  request.setOther(other);
  const auto said = x.answer(schema::ProcessAnswer::DIFFERENCES);
  if (said.getDifferences().isUnknown())
    return std::nullopt;
  std::vector<std::string> result;
  for (auto line : said.getDifferences().getFound())
    result.emplace_back(line.cStr());
  return result;
}

} // namespace hippo
