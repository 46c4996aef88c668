#include "hippo/net/wire/exceptions.hpp"

#include <gtest/gtest.h>

namespace hippo {

namespace {

std::string said(const char* description) {
  return sentence_of(kj::Exception(kj::Exception::Type::FAILED, "file", 1,
                                   kj::str(description)));
}

} // namespace

TEST(SentenceOf, SystemCallsSayWhatTheSystemSays) {
  EXPECT_EQ(said("::bind(sockfd, &addr.generic, addrlen): Address already in "
                 "use; toString() = 127.0.0.1:4849"),
            "Address already in use");
  EXPECT_EQ(said("connect(): Connection refused"), "Connection refused");
  EXPECT_EQ(said("DNS lookup failed.; params.host = nowhere; params.service = "
                 "; gai_strerror(status) = Name or service not known"),
            "Name or service not known");
}

TEST(SentenceOf, OwnSentencesStayAsTheyAre) {
  for (const auto* x : {"", "nobody answers in time", "a study (of two): no; x",
                        "trial 3 of study lr: it failed (why): no"})
    EXPECT_EQ(said(x), x);
  EXPECT_EQ(sentence_of(exception_saying("a: b(c): d")), "a: b(c): d");
}

TEST(WhyNotListening, APortThatIsTakenSaysWhatHelps) {
  const kj::Exception taken(kj::Exception::Type::FAILED, "file", 1,
                            kj::str("bind(): Address already in use"));
  EXPECT_EQ(why_not_listening("127.0.0.1:1", taken),
            "cannot listen on 127.0.0.1:1: Address already in use; is a "
            "service running there already? End it, or give another port");
}

} // namespace hippo
