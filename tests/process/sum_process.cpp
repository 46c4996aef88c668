// A workload process in C++: its state is the sum of its learning rates. The
// word in args.trouble says what goes wrong once a rate is negative.

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/exception.h>

#include "process.capnp.h"

namespace {

using namespace hippo::schema;

int to_trainer = -1; ///< the socket
double total = 0;
std::string trouble;
double scale = 1;
unsigned pause_ms = 0; ///< of each step
bool is_large = false; ///< whether states have 16 MiB

[[noreturn]] void stay() {
  for (;;)
    ::pause();
}

/// Does not do anything else, but prints.
[[noreturn]] void chat() {
  for (;;) {
    std::cout << "still here" << std::endl;
    ::usleep(20'000);
  }
}

void send(const void* bytes, std::size_t size) {
  if (::write(to_trainer, bytes, size) < 0)
    std::_Exit(8);
}

/// Leaves a child that is in no way related to this process any more.
void leave_daemon() {
  int told[2];
  if (::pipe(told) != 0)
    return;
  pid_t daemon = ::fork();
  if (daemon == 0) {
    ::setsid();
    daemon = ::fork();
    if (daemon == 0) {
      ::setpgid(0, 0);
      for (int fd = 0; fd < 64; ++fd)
        ::close(fd);
      stay();
    }
    if (::write(told[1], &daemon, sizeof daemon) < 0)
      std::_Exit(8);
    std::_Exit(0);
  }
  ::waitpid(daemon, nullptr, 0);
  if (::read(told[0], &daemon, sizeof daemon) > 0)
    std::cout << "daemon " << daemon << std::endl;
}

void be_in_trouble(ProcessAnswer::Builder answer) {
  if (trouble == "crash")
    ::raise(SIGABRT); // which no sanitizer takes over
  if (trouble == "exit")
    std::_Exit(7);
  if (trouble == "hang")
    stay();
  if (trouble == "heir") {
    const auto child = ::fork();
    if (child == 0)
      stay();
    std::cout << "child " << child << std::endl;
    std::_Exit(9);
  }
  if (trouble == "half") { // a segment table, and nothing of what it says
    const std::uint32_t table[2] = {0, 1000};
    send(table, sizeof table);
    chat();
  }
  if (trouble == "byte") {
    send("", 1);
    chat();
  }
  if (trouble == "huge") {
    const std::uint32_t table[2] = {0, 0xffffffff};
    send(table, sizeof table);
    stay();
  }
  if (trouble == "segments") {
    const std::uint32_t table[2] = {0xfffffffe, 1};
    send(table, sizeof table);
    stay();
  }
  if (trouble == "garbage") {
    std::uint64_t words[9];
    std::memset(words, 0xee, sizeof words);
    const std::uint32_t table[2] = {0, 8};
    std::memcpy(words, table, sizeof table);
    send(words, sizeof words);
    stay();
  }
  if (trouble == "chatter")
    for (int i = 0; i < 100'000; ++i)
      std::cout << "line " << i << '\n' << std::flush;
  if (trouble == "number")
    answer.setNumber(answer.getNumber() + 1);
  auto failed = answer.initFailed();
  failed.setMessage("a negative rate");
  failed.setDetails("in the third line");
}

void train(Train::Reader x, ProcessAnswer::Builder answer) {
  for (auto values : x.getValues()) {
    if (values.getName() != "lr")
      continue;
    const auto numbers = values.getNumbers();
    for (auto step = x.getFrom(); step < x.getTo(); ++step) {
      const auto lr = numbers[std::min<unsigned>(
        static_cast<unsigned>(step - x.getFrom()), numbers.size() - 1)];
      if (lr < 0) {
        be_in_trouble(answer);
        return;
      }
      total += lr * scale;
      ::usleep(1000 * pause_ms);
    }
  }
  answer.setDone();
}

void save(const std::string& path) {
  std::ofstream{path} << std::hexfloat << total << '\n'
                      << std::string(is_large ? 16 << 20 : 0, 'x');
}

/// Writes the present state while it goes on, a large one after a while.
void capture(const std::string& path) {
  const int lock = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (lock < 0 || ::flock(lock, LOCK_EX) != 0)
    std::_Exit(8);
  if (::fork() == 0) {
    ::usleep(is_large ? 100'000 : 0);
    if (trouble == "dies aside")
      ::raise(SIGKILL);
    if (trouble == "full") {
      std::ofstream{path + ".failed"} << "no space is left";
    } else {
      save(path);
      ::rename(path.c_str(), (path + ".whole").c_str());
    }
    std::_Exit(0);
  }
  ::close(lock);
}

/// Tells the number of this process, and leaves a file.
void introduce() {
  std::cout << "process " << ::getpid() << " in "
            << std::filesystem::current_path().string()
            << (std::filesystem::exists("left") ? ", not alone" : "")
            << std::endl;
  std::ofstream{"left"} << "by " << ::getpid();
}

/// Forgets its workload.
void renew() {
  if (trouble == "leaves")
    std::_Exit(0);
  std::cout << "good-bye" << std::endl;
  total = 0;
  scale = 1;
  pause_ms = 0;
  trouble.clear();
  is_large = false;
}

void set_up(Setup::Reader x) {
  for (auto arg : x.getArgs()) {
    if (arg.getName() == "large")
      is_large = true;
    if (arg.getName() == "scale")
      scale = arg.getValue().getNumber();
    if (arg.getName() == "pause_ms")
      pause_ms = static_cast<unsigned>(arg.getValue().getNumber());
    if (arg.getName() == "trouble")
      trouble = arg.getValue().getWord().cStr();
  }
  std::cout << "seed " << x.getSeed() << " on " << x.getDevice().cStr()
            << std::endl;
  if (trouble == "who" || trouble == "leaves")
    introduce();
  if (trouble == "daemon")
    leave_daemon();
  if (trouble == "child") {
    const auto child = ::fork();
    if (child == 0)
      stay();
    std::cout << "child " << child << std::endl;
  }
}

} // namespace

int main(int argc, char** argv) {
  const int socket = std::atoi(std::getenv("HIPPO_SOCKET"));
  to_trainer = socket;
  const std::string option = argc > 1 ? argv[1] : "";
  if (option == "--silent")
    return 3;
  for (;;) {
    kj::Own<capnp::StreamFdMessageReader> in;
    if (kj::runCatchingExceptions(
          [&] { in = kj::heap<capnp::StreamFdMessageReader>(socket); })
        != nullptr)
      return 0;
    const auto request = in->getRoot<ProcessRequest>();
    capnp::MallocMessageBuilder out;
    auto answer = out.initRoot<ProcessAnswer>();
    answer.setNumber(request.getNumber());
    switch (request.which()) {
      case ProcessRequest::DESCRIBE: {
        auto x = answer.initDescription();
        x.setProtocol(request.getDescribe());
        x.setName("sum");
        x.initMetrics(1).set(0, "total");
        x.setCaptures(true);
        x.setRenews(option != "--once");
        auto version = x.initVersions(1)[0];
        version.setName("summing");
        version.setVersion("1.0");
        break;
      }
      case ProcessRequest::SETUP:
        set_up(request.getSetup());
        answer.setDone();
        break;
      case ProcessRequest::INIT:
        if (trouble == "deaf") {
          answer.setDone();
          capnp::writeMessageToFd(socket, out);
          chat();
        }
        total = 0;
        answer.setDone();
        break;
      case ProcessRequest::TRAIN:
        train(request.getTrain(), answer);
        break;
      case ProcessRequest::EVALUATE: {
        auto x = answer.initMetrics(1);
        x[0].setName("total");
        x[0].setValue(total);
        break;
      }
      case ProcessRequest::SAVE:
        save(request.getSave().cStr());
        answer.setDone();
        break;
      case ProcessRequest::CAPTURE:
        capture(request.getCapture().cStr());
        answer.setDone();
        break;
      case ProcessRequest::LOAD: {
        std::string text;
        std::ifstream{request.getLoad().cStr()} >> text;
        total = std::strtod(text.c_str(), nullptr);
        answer.setDone();
        break;
      }
      case ProcessRequest::RENEW:
        renew();
        answer.setDone();
        break;
      case ProcessRequest::COMPARE:
        answer.initDifferences().setUnknown();
        break;
    }
    capnp::writeMessageToFd(socket, out);
  }
}
