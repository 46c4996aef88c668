#!/usr/bin/env python3
"""A database of which a part is damaged: what it belongs to fails, and the
service says how it does."""

import json
import os
import sqlite3
import time
import unittest

from rude import RudeCase, victim


class Health(RudeCase):
    def pages(self, table):
        """The size of pages, and those in which a table's rows lie."""
        database = sqlite3.connect(self.path("state/hippo.db"))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = database.execute("PRAGMA page_size").fetchone()[0]
        found = [x[0] for x in database.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'"
            " ORDER BY pageno", (table,))]
        database.close()
        return size, found

    def damage(self, size, page):
        with open(self.path("state/hippo.db"), "r+b") as database:
            database.seek((page - 1) * size)
            database.write(b"\xa5" * size)

    def submit_some(self):
        """Studies whose rows fill several pages: the text of each does one."""
        for i in range(12):
            text = victim(f"one-{i}", steps=1, algorithm="client")
            text["space"] = {"lr": {"uniform": [0.01, 0.1]}}
            file = self.write(f"text-{i}.yaml", text)
            with open(file, "a") as more:
                more.write("# " + "x" * 700 + "\n")
            self.ask("submit", file)

    def listed(self):
        return {x["name"]: (x["state"], x["reason"])
                for x in json.loads(self.get("/api/studies")[1])}

    def test_a_damaged_page_of_studies_hides_no_others(self):
        self.submit_some()
        self.end_service(self.service)
        size, pages = self.pages("studies")
        self.assertGreater(len(pages), 2)
        self.damage(size, pages[0])
        self.serve()
        listed = self.listed()
        lost = [x for x, (state, _) in listed.items() if state == "FAILED"]
        self.assertEqual(len(listed), 12, listed)
        self.assertTrue(0 < len(lost) < 12, listed)
        for x in lost:
            self.assertIn("damaged", listed[x][1])
        self.assertEqual(self.get("/healthz")[0], 200)
        study = victim("later")
        self.submit(study)
        self.assert_unharmed(study)

    def test_what_cannot_be_read_is_said(self):
        self.submit_some()
        # Nothing is in anybody's cache of what is damaged from here on.
        self.end_service(self.service)
        self.serve()
        self.assertEqual(self.get("/healthz")[0], 200)
        database = sqlite3.connect(self.path("state/hippo.db"))
        database.execute("ALTER TABLE studies RENAME TO elsewhere")
        database.commit()
        database.close()
        end = time.monotonic() + 20
        while (said := self.get("/healthz"))[0] == 200:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertEqual(said[0], 503)
        self.assertIn("reads of what is stored", said[1])

    def test_a_folder_that_cannot_be_written_is_said(self):
        if os.geteuid() == 0:
            # A user who may do all is stopped by no mode: a file is in the way.
            os.mkdir(self.path("state/.writable"))
        else:
            os.chmod(self.path("state"), 0o500)
            self.addCleanup(os.chmod, self.path("state"), 0o700)
        end = time.monotonic() + 20
        while (said := self.get("/healthz"))[0] == 200:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        self.assertIn("cannot write", said[1])


if __name__ == "__main__":
    unittest.main()
