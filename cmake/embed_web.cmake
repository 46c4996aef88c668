# Writes a C++ file with the files of web/, for the gateway to serve.
#   cmake -DOUT=FILE -DFOLDER=web "-DFILES=a.html;b.js" -P embed_web.cmake
set(arrays "")
set(table "")
set(number 0)
foreach(file IN LISTS FILES)
  file(READ "${FOLDER}/${file}" bytes HEX)
  string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
  string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..)," "\\1,\n"
    bytes "${bytes}")
  string(APPEND arrays
    "constexpr unsigned char file_${number}[] = {\n${bytes}};\n")
  string(APPEND table "    {\"${file}\",\n"
    "     {reinterpret_cast<const char*>(file_${number}),\n"
    "      sizeof(file_${number})}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE "${OUT}" "// Made of web/ by cmake/embed_web.cmake.
#include \"gateway/web_files.hpp\"

namespace hippo {

namespace {

${arrays}
} // namespace

const std::vector<web_file>& web_files() {
  static const std::vector<web_file> all{
${table}  };
  return all;
}

} // namespace hippo
")
