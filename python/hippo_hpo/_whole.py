"""Files that are there as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[str]:
    """Gives the path of a new file, which takes the place of `path` at the end.

    It is in the same folder. After an exception it is gone, and `path` is as it
    was. What is no file, such as ``/dev/stdout``, is given itself.

    Raises:
        OSError: the file cannot be made, or not take the place.
    """
    there = os.path.realpath(path)
    mode = os.stat(there).st_mode if os.path.exists(there) else None
    if mode is not None and not stat.S_ISREG(mode):
        yield there
        return
    part = os.path.join(os.path.dirname(there),
                        f".hippo-{secrets.token_hex(8)}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield part
        with open(part, "rb+") as written:
            os.fsync(written.fileno())
        if mode is not None:
            os.chmod(part, stat.S_IMODE(mode))
        os.replace(part, there)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise
