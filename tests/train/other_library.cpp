// A shared library that has nothing to do with Hippo.
extern "C" int answer() {
  return 42;
}
