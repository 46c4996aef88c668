#pragma once

#include <kj/exception.h>
#include <kj/string.h>

#include <string>

namespace hippo {

/// Returns an exception of kj's that says a sentence as it is. `KJ_EXCEPTION`
/// would say the expression that the sentence comes from as well.
inline kj::Exception exception_saying(const std::string& sentence) {
  return kj::Exception(kj::Exception::Type::FAILED, __FILE__, __LINE__,
                       kj::str(sentence.c_str()));
}

/// Returns what an exception of kj's says, for people: of a system call that
/// failed, `Address already in use` without the call and its arguments.
inline std::string sentence_of(const kj::Exception& failure) {
  std::string text = failure.getDescription().cStr();
  constexpr const char* of_names = "gai_strerror(status) = ";
  if (const auto i = text.find(of_names); i != text.npos) {
    text.erase(0, i + std::string{of_names}.size());
    return text.substr(0, text.find("; "));
  }
  const auto call = text.find_first_not_of(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:>-.");
  if (call == text.npos || call == 0 || text[call] != '(')
    return text;
  const auto end = text.find("): ", call);
  if (end == text.npos)
    return text;
  text.erase(0, end + 3);
  return text.substr(0, text.find("; "));
}

/// Returns why nobody can listen at an address, and what helps.
inline std::string why_not_listening(const std::string& where,
                                     const kj::Exception& failure) {
  auto result = "cannot listen on " + where + ": " + sentence_of(failure);
  if (result.ends_with("in use"))
    result += "; is a service running there already? End it, or give another "
              "port";
  return result;
}

} // namespace hippo
