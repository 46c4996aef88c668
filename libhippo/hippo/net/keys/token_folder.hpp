#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hippo/base/error.hpp"

namespace hippo {

/// The permissions of a person who looks at a service's page.
enum class page_role : std::uint8_t {
  viewer,   ///< look
  operator_ ///< and change and submit studies
};
const char* to_string(page_role role) noexcept; ///< `"viewer"` or `"operator"`

/// @returns `errc::invalid_argument` if there is no such role
expected<page_role> parse_page_role(const std::string& text);

/// A token, as it is known here: not what it takes to come in.
struct token_entry {
  std::string id; ///< names it, and is the beginning of it
  std::string name;
  page_role role = page_role::viewer;
  std::int64_t created = 0; ///< seconds since 1970
  std::int64_t expires = 0;
};

/// The tokens with which people and scripts come in at a service's page: a
/// folder with a folder for each, in which only hashes (SHA-256) of what was
/// given out are. Whoever reads it cannot come in.
///
/// Of a token there are three kinds of secrets: the token itself, for scripts;
/// one link, which is good once; and sessions, of browsers that have used the
/// link. Processes may use one folder at a time: each change is that of one
/// file.
class token_folder {
public:
  /// @param path need not be there: then there are no tokens
  explicit token_folder(std::string path) : path_(std::move(path)) {}

  /// Where the tokens of a state folder are.
  static std::string path_in(const std::string& state) {
    return state + "/tokens";
  }

  /// A new token in full, which is given out only once.
  struct secrets {
    token_entry entry;
    std::string token; ///< for `Authorization: Bearer`
    std::string link;  ///< for `?token=`
  };
  expected<secrets> add(const std::string& name, page_role role,
                        std::int64_t now, std::int64_t expires);

  /// Returns the tokens, the oldest first; those that have expired too.
  [[nodiscard]] std::vector<token_entry> list() const;

  /// @returns `errc::invalid_argument` if there is no such token
  std::optional<error> remove(const std::string& id_or_name);

  /// Returns whose a token or a session is; nothing: nobody's, any more.
  [[nodiscard]] std::optional<token_entry> find(const std::string& secret,
                                                std::int64_t now) const;

  /// A session of a browser.
  struct session {
    token_entry entry;
    std::string secret; ///< for its cookie
  };
  /// Takes a link, which is no good from then on.
  /// @returns `errc::not_allowed` if it is none, or was used before
  expected<session> take(const std::string& link, std::int64_t now);

private:
  [[nodiscard]] std::optional<token_entry> read(const std::string& id) const;
  [[nodiscard]] std::string folder_of(const std::string& id) const {
    return path_ + '/' + id;
  }

  std::string path_;
};

} // namespace hippo
