"""Connecting to a service."""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
import weakref
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from ._initial import initial_in, send_initial
from ._line import DEFAULT_ADDRESS, Line, Session
from ._states import write_state
from .records import (Demand, ServiceInfo, StudyInfo, TrainerInfo, demand_of,
                      plain, preview_of, study_info_of, timeline_of,
                      trainer_info_of)
from .study import Study
from .study_text import StudySource, text_of

_log = logging.getLogger(__name__)


class Client:
    """A connection to a service. `connect` creates it.

    Several threads may use it at once. A lost connection is made again: calls
    that read, wait or train are repeated for up to `timeout` seconds. `submit`,
    `ask` and `tell` are not repeated and fail with `Disconnected`, since they
    may have been carried out.

    Attributes:
        address: ``HOST:PORT`` of the service.
        service: version and state folder of the service.
    """

    def __init__(self, address: str, credentials: str | None,
                 timeout: float) -> None:
        self.address = address
        self._line = Line(address, credentials, timeout)
        # Also when the interpreter ends.
        self._end = weakref.finalize(self, self._line.close)
        try:
            self.service: ServiceInfo = self._line.connect()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        return f"<hippo.Client of {self.address}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection. Studies continue; calls that wait for an
        answer fail with `Closed`."""
        self._end()

    def submit(self, study: StudySource, name: str | None = None) -> Study:
        """Submits a study. Returns as soon as the service has stored it.

        Warnings of the service are raised as `UserWarning`. Its decisions for
        the study, such as the algorithm, are logged (as information, by the
        logger `hippo_hpo.client`).

        Args:
            study: the path of a study file; or its text, which has several
                lines; or its content as a map.
            name: the file's name in messages; None: its path.

        Raises:
            InvalidStudy: it cannot be run; the text has all errors.
            Disconnected: the connection was lost; it may have been submitted.
            OSError: the file cannot be read.
        """
        done, said, notes = self._submit(study, name)
        for x in said:
            warnings.warn(x, stacklevel=2)
        for x in notes:
            _log.info("%s", x)
        return done

    def _submit(self, study: StudySource, name: str | None
                ) -> tuple[Study, list[str], list[str]]:
        """The study, what the service warns of, and what it decided."""
        with tempfile.TemporaryDirectory(prefix="hippo-from-") as folder:
            text, name = text_of(study, name,
                                 lambda x: self._fetch_state(x, folder))
            if (state := initial_in(text)) is not None:
                self._send_initial(name, state)

        async def submit(session: Session) -> tuple[int, list[str], list[str]]:
            answer = await session.service.submit(text, name)
            return (int(answer.id), [str(x) for x in answer.warnings],
                    [str(x) for x in answer.notes])
        number, said, notes = self._line.call(
            f"submit {name}", submit, repeatable=False, patient=True)
        return Study(self, number), said, notes

    def _fetch_state(self, source: Mapping[str, Any], folder: str) -> str:
        """Writes the state that a `from` names into a folder. @returns its
        path"""
        path = os.path.join(folder, "trained.pt")
        write_state(self, str(source["study"]), source["trial"],
                    source["step"], path)
        return path

    def _send_initial(self, name: str, state: dict[str, Any]) -> None:
        async def send(session: Session) -> None:
            await send_initial(session, state)
        self._line.call(f"send the initial state of {name}", send,
                        patient=True)

    def study(self, id_or_name: int | str) -> Study:
        """Returns a study by number or name; of several with one name, the
        last.

        Raises:
            UnknownStudy: there is no such study.
        """
        async def find(session: Session) -> int:
            answer = await session.service.study(idOrName=str(id_or_name))
            return int(answer.id)
        return Study(self, self._line.call(f"find study {id_or_name}", find))

    def studies(self, *, removed: bool = False) -> list[StudyInfo]:
        """Returns all studies in the order of submission, including those that
        have ended. `study(info.id)` returns the study itself.

        Args:
            removed: whether hidden studies are wanted as well.
        """
        async def list_all(session: Session) -> list[StudyInfo]:
            answer = await session.service.list(removed)
            return [study_info_of(x) for x in answer.studies]
        return self._line.call("list studies", list_all)

    def trainers(self) -> list[TrainerInfo]:
        """Returns all trainers by number, including those that have left."""
        async def list_all(session: Session) -> list[TrainerInfo]:
            answer = await session.service.trainers()
            return [trainer_info_of(x) for x in answer.trainers]
        return self._line.call("list trainers", list_all)

    def demand(self) -> Demand:
        """Returns how many trainers could be used now, and the connected
        trainers with their idle times: what `hippo scale` follows."""
        async def ask(session: Session) -> Demand:
            answer = await session.service.demand()
            return demand_of(answer.demand)
        return self._line.call("demand", ask)

    def _timeline(self) -> dict[str, Any]:
        """What trainers did in the last hour: docs/http.md#columns."""
        async def ask(session: Session) -> dict[str, Any]:
            answer = await session.service.timeline()
            result: dict[str, Any] = plain(timeline_of(answer.timeline))
            return result
        return self._line.call("timeline", ask)

    def preview(self, study: StudySource, name: str | None = None
                ) -> dict[str, Any]:
        """Computes the steps that a study would train, without running it.

        Args:
            study: as for `submit`.
            name: as for `submit`.

        Returns:
            The output of `hippo preview -f json`; `known_steps` are already
            trained, `new_steps` are not.

        Raises:
            InvalidStudy: it cannot be run; the text has all errors.
        """
        text, name = text_of(study, name)

        async def preview(session: Session) -> dict[str, Any]:
            answer = await session.service.preview(text, name)
            result: dict[str, Any] = plain(preview_of(answer.preview))
            return result
        return self._line.call(f"preview {name}", preview, patient=True)


def connect(address: str | None = None, *,
            credentials: str | os.PathLike[str] | None = None,
            timeout: float = 60.0) -> Client:
    """Connects to a service.

    Args:
        address: ``HOST:PORT``, or ``unix:PATH`` of a socket; None: the
            environment's HIPPO_SERVER, or else 127.0.0.1:4849.
        credentials: the file that ``hippo keys add NAME --role client`` wrote,
            for a service with certificates; None: plain TCP.
        timeout: seconds for which a lost service is searched for, and after
            which a service without an answer is given up. Training and other
            work may take any time.

    Returns:
        A client, to be closed or used in a ``with`` statement.

    Raises:
        Disconnected: there is no service, or it refuses the connection.
        IncompatibleVersion: the service has another version of the protocol.
    """
    if address is None:
        address = os.environ.get("HIPPO_SERVER") or DEFAULT_ADDRESS
    return Client(address,
                  None if credentials is None else os.fspath(credentials),
                  timeout)
