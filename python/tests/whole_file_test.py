"""Files are there as a whole or not at all."""

import os
import resource
import signal
import stat
import tempfile
import unittest

from hippo_hpo._whole import whole_file


class WholeFile(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="hippo-python-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.path = os.path.join(self.folder, "file")

    def write(self, text):
        with whole_file(self.path) as part, open(part, "w") as file:
            file.write(text)

    def read(self):
        with open(self.path) as file:
            return file.read()

    def test_takes_the_place_of_what_was_there(self):
        self.write("one")
        os.chmod(self.path, 0o640)
        self.write("two")
        self.assertEqual("two", self.read())
        self.assertEqual(0o640, stat.S_IMODE(os.stat(self.path).st_mode))
        self.assertEqual(["file"], os.listdir(self.folder))

    def test_a_new_one_has_the_usual_mode(self):
        before = os.umask(0o027)
        self.addCleanup(os.umask, before)
        self.write("one")
        self.assertEqual(0o640, stat.S_IMODE(os.stat(self.path).st_mode))

    def test_leaves_what_was_there_where_it_fails(self):
        for there in (False, True):
            if there:
                self.write("one")
            with self.assertRaises(RuntimeError):
                with whole_file(self.path) as part:
                    with open(part, "w") as file:
                        file.write("half")
                    raise RuntimeError
            self.assertEqual(["file"] if there else [],
                             os.listdir(self.folder))
        self.assertEqual("one", self.read())

    def test_leaves_nothing_where_there_is_no_room(self):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
        try:
            with self.assertRaises(OSError):
                self.write("x" * 1000)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        self.assertEqual([], os.listdir(self.folder))

    def test_writes_through_links_and_into_what_is_no_file(self):
        self.write("one")
        link = os.path.join(self.folder, "link")
        os.symlink("file", link)
        with whole_file(link) as part, open(part, "w") as file:
            file.write("two")
        self.assertTrue(os.path.islink(link))
        self.assertEqual("two", self.read())
        with whole_file("/dev/null") as part:
            self.assertEqual("/dev/null", part)


if __name__ == "__main__":
    unittest.main()
