#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace hippo::test {

/// Names that something in between may take for something else: quotes,
/// separators, escapes, markup, addresses, what YAML or JSON reads as a number
/// or a truth value, texts that look alike, directions, names of JavaScript.
inline const std::vector<std::string> odd_names{
  "train loss", "metrics/mAP_0.5", "val/acc", "a,b", "a;b=c", "a\"b", "'a'",
  "a'b", "\\", "\\n", "%", "%20", "%2F", "%zz", "a%", "a+b", "+", "a&b=c", "#",
  "a#b", "?", "a?b", "/", "//", "..", ".", "a/../b", "a.b.c", "a[0]", "[]",
  "{}", "{a: 1}", "null", "~", "true", "yes", "No", "on", "0", "01", "1e5",
  "1_000", "0x1F", ".inf", "-.inf", ".nan", "NaN", "nan", "1:30", "2024-01-31",
  "-", "--flag", "- a", "? a", ": a", "a: b", "a:", "&a", "*a", "!a", "!!str",
  "|", ">", "@a", "`a`", "<<", "=", "<script>alert(1)</script>", "&amp;", "]]>",
  "<!--", "a<=b", "a>=b <= 5", "__proto__", "constructor", "toString",
  "hasOwnProperty", "trial", "state", "steps", "params_lr", "best_value",
  "study", "SELECT 1; --", "a|b", "a  b", "$HOME", "$(id)", "{0}", "%s", "%n",
  "\u00e9", "e\u0301", "\u0130", "\u0131", "\u00df", "\u4f60\u597d",
  "\u0645\u0631\u062d\u0628\u0627", "\u200fa\u200f", "a\u202eb", "\u05d0b",
  "\U0001f600", "\U0001f468\u200d\U0001f469", "a\u00adb", "a\u200bb",
  "\u0430", "a", "A", "a\u2044b", "\uff0f", "\ufb01", "a\u00a0b",
  "\ud7ff", "\ue000", "\U0010ffff", "lr.cosine.horizon", "lr.length"};

/// Texts that are no names, or only just.
inline const std::vector<std::string> no_names{
  "", " ", " a", "a ", "\t", "a\tb", "a\nb", "a\r", "\x01", "\x7f", "a\u0085b",
  "\u009f", "\u2028", "a\u2029b", "\u00a0a", "a\u3000", "\ufeffa", "a\ufeff",
  "\uffff", "a\ufffe", std::string{"a\0b", 3}, "\xff", "\xc3", "\xed\xa0\x80",
  "\xc0\x80", "\xf5\x80\x80\x80", std::string(1025, 'a')};

/// Puts a text together of parts of names, of what is none, and of code points.
inline std::string made_name(std::mt19937_64& rng) {
  const auto code_point = [&]() -> std::string {
    // Plane by plane, or most would be far from anybody's letters.
    const std::uint32_t ends[]{0x80, 0x300, 0x3000, 0xd800, 0x110000};
    auto x = static_cast<std::uint32_t>(rng() % ends[rng() % 5]);
    if (x >= 0xd800 && x < 0xe000)
      x = 'x';
    std::string result;
    const auto add = [&](std::uint32_t byte) {
      result += static_cast<char>(byte);
    };
    const auto more = [&](int shift) { add(0x80 | ((x >> shift) & 0x3f)); };
    if (x < 0x80) {
      add(x);
    } else if (x < 0x800) {
      add(0xc0 | (x >> 6));
      more(0);
    } else if (x < 0x10000) {
      add(0xe0 | (x >> 12));
      more(6);
      more(0);
    } else {
      add(0xf0 | (x >> 18));
      more(12);
      more(6);
      more(0);
    }
    return result;
  };
  std::string result;
  for (auto parts = 1 + rng() % 6; parts > 0; --parts)
    switch (rng() % 8) {
      case 0:
        result += no_names[rng() % no_names.size()];
        break;
      case 1:
      case 2:
        result += odd_names[rng() % odd_names.size()];
        break;
      case 3:
        result += static_cast<char>(' ' + rng() % 95);
        break;
      default:
        result += code_point();
    }
  return result;
}

} // namespace hippo::test
