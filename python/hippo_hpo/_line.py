"""A line to a service: a thread of its own that holds the connection, makes it
again when it is lost, and gives what was called for as futures.

Everything of Cap'n Proto stays on that thread: its objects may be used, and
freed, only where their event loop runs. So only plain values and errors without
tracebacks leave it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import os
import platform
import socket
import ssl
import sys
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

import capnp

from . import _schema, _tls
from .errors import (Closed, Disconnected, Error, InvalidArgument, Timeout,
                     from_text)
from .records import ServiceInfo, service_info_of

T = TypeVar("T")

DEFAULT_ADDRESS = "127.0.0.1:4849"

# One attempt to connect, the greeting included.
CONNECT_SECONDS_MAX = 10.0

# Pauses between attempts double from the first to the last.
PAUSE_SECONDS_MIN = 0.05
PAUSE_SECONDS_MAX = 2.0

# Further ones wait until one of these has ended. A service takes 256 calls of a
# client at a time.
TRAINS_IN_FLIGHT_MAX = 200

# Studies of which a connection keeps what their calls go to.
STUDIES_HELD_MAX = 64

# The end of what a service of protocol 1 says to a newer client, and the side
# that is to be upgraded then.
OLDER_ADVICE = "use the same release of both"
NEWER_ADVICE = ("upgrade the service to the client's release (stop it, install "
                "that, and run hippo serve again)")

# For how long an event loop is given to end.
CLOSE_SECONDS_MAX = 5.0


# Before the path of a socket on this machine.
SOCKET_PREFIX = "unix:"


def socket_of(address: str) -> str | None:
    """The path of the socket that an address names, if it does."""
    return (address[len(SOCKET_PREFIX):] if address.startswith(SOCKET_PREFIX)
            else None)


def split_address(address: str) -> tuple[str, int]:
    """Splits ``HOST:PORT``; an IPv6 address stands in brackets."""
    host, colon, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not (host and colon and port.isascii() and port.isdigit()
            and 0 < int(port) < 65536):
        raise InvalidArgument(
            f"{address!r} is no address of a service: HOST:PORT is asked for, "
            f"such as {DEFAULT_ADDRESS}")
    return host, int(port)


class Session:
    """One connection, for as long as it lasts."""

    def __init__(self, stream: Any, rpc: Any, entrance: Any) -> None:
        self.stream = stream
        self.rpc = rpc
        self.entrance = entrance
        self.service: Any = None
        self.info: ServiceInfo | None = None
        self.calls = 0
        self.checked = 0.0
        self._studies: dict[int, Any] = {}

    async def greet(self) -> None:
        who = (f"hippo for Python {platform.python_version()}, "
               f"{os.path.basename(sys.argv[0] or 'python')} "
               f"(process {os.getpid()} on {socket.gethostname()})")
        answer = await self.entrance.greet(
            protocol=_schema.service.serviceProtocolVersion,
            client=who.encode(errors="replace")[:1024].decode(
                errors="ignore"))
        self.service = answer.service
        self.info = service_info_of(answer.info)

    async def study(self, number: int) -> Any:
        """Returns the capability of a study."""
        # The service keeps something for each that is held. The one that was
        # used least lately can be asked for again.
        held = self._studies.pop(number, None)
        if held is None:
            held = (await self.service.study(idOrName=str(number))).study
            while len(self._studies) >= STUDIES_HELD_MAX:
                del self._studies[next(iter(self._studies))]
        self._studies[number] = held
        return held


# Makes a call and a plain value of its answer.
Op = Callable[[Session], Coroutine[Any, Any, T]]


class _Unwelcome(OSError):
    """Somebody is there, but does not greet as a service does."""


class _Search:
    """How long one call goes on looking for a service that is away."""

    def __init__(self, address: str, seconds: float) -> None:
        self._address = address
        self._seconds = seconds
        self.begin()

    def begin(self) -> None:
        """Starts anew, after the service was there for a while."""
        self._end: float | None = None
        self._pause = PAUSE_SECONDS_MIN

    async def pause(self, why: str) -> None:
        """Waits before the next attempt; fails if there is to be none."""
        now = asyncio.get_running_loop().time()
        if self._end is None:
            self._end = now + self._seconds
        if now >= self._end:
            raise Disconnected(f"cannot reach the service at {self._address}: "
                               + why)
        await asyncio.sleep(min(self._pause, self._end - now))
        self._pause = min(2 * self._pause, PAUSE_SECONDS_MAX)


class Line:
    """See above.

    Args:
        address: ``HOST:PORT``, or ``unix:PATH`` of a socket, which only those
            can reach who may see it.
        credentials: path of a PEM file for TLS; None: none.
        timeout: seconds that a service may be away, or leave unanswered what
            needs no training, before that is an error.
    """

    def __init__(self, address: str, credentials: str | None,
                 timeout: float) -> None:
        if not timeout > 0:
            raise InvalidArgument(
                f"a timeout of {timeout} s: more than 0 is asked for")
        self.address = address
        self.timeout = timeout
        self._socket = socket_of(address)
        self._host, self._port = (split_address(address)
                                  if self._socket is None else ("", 0))
        if self._socket is not None and credentials:
            raise InvalidArgument(f"{address} takes no credentials: it is a "
                                  "socket of this machine")
        self._credentials = credentials
        self._tls = _tls.context_of(credentials) if credentials else None
        self._process = os.getpid()
        self._mutex = threading.RLock()  # finalizers come at any point
        self._closed = False
        self._futures: set[concurrent.futures.Future[Any]] = set()
        # Of the thread alone:
        self._session: Session | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        ready: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._thread = threading.Thread(
            target=self._run, args=(ready,), name="hippo", daemon=True)
        self._thread.start()
        ready.result()

    # -- for any thread

    def connect(self) -> ServiceInfo:
        """Connects, or fails at once.

        Raises:
            Disconnected: nobody is there, or lets us in.
            Error: what the service said.
        """
        async def first() -> ServiceInfo:
            session = await self._reach(_Search(self.address, 0))
            assert session.info is not None
            return session.info
        return self._result(self._start(first))

    def call(self, what: str, op: Op[T], *, repeatable: bool = True,
             patient: bool = False) -> T:
        """Calls the service and waits for its answer.

        Args:
            what: is called for, as in "cannot WHAT".
            op: makes the call, on the line's thread, and a plain value of the
                answer. It may run again with another session.
            repeatable: whether it may, after the first was cut off.
            patient: whether it may take any time, for as long as the service
                answers otherwise.

        Raises:
            Error: what the service said.
            Disconnected: it was away for `timeout` seconds, or the connection
                was lost and `op` is not repeatable.
            Timeout: there was no answer for `timeout` seconds.
        """
        return self._result(self._start(
            lambda: self._answer(what, op, repeatable, patient)))

    def train(self, what: str, op: Op[T]) -> concurrent.futures.Future[T]:
        """Calls for training, which is repeatable and patient, as of `call`.
        Cancelling the future gives up waiting.
        """
        return self._start(lambda: self._train(what, op))

    def close(self) -> None:
        """Ends the connection and the thread. What is pending fails."""
        with self._mutex:
            if self._closed or self._process != os.getpid():
                return
            self._closed = True
            self._loop.call_soon_threadsafe(self._ended.set)
        # The thread itself may be the last that refers to a client.
        if threading.current_thread() is not self._thread:
            self._thread.join(CLOSE_SECONDS_MAX)

    def _start(self, make: Callable[[], Awaitable[T]]
               ) -> concurrent.futures.Future[T]:
        if self._process != os.getpid():
            raise Closed("this client was made in another process: connect "
                         "again in this one")
        future: concurrent.futures.Future[T] = concurrent.futures.Future()

        def begin() -> None:
            task = self._spawn(self._carry_out(make, future))

            def end(future: concurrent.futures.Future[T]) -> None:
                with self._mutex:
                    self._futures.discard(future)
                    if future.cancelled() and not self._closed:
                        self._loop.call_soon_threadsafe(task.cancel)
            future.add_done_callback(end)

        with self._mutex:
            if self._closed:
                raise Closed("the client was closed")
            self._futures.add(future)
            self._loop.call_soon_threadsafe(begin)
        return future

    def _result(self, future: concurrent.futures.Future[T]) -> T:
        if threading.current_thread() is self._thread:
            future.cancel()
            raise Error("a callback of a future cannot wait for the service: "
                        "it is on the thread that would bring the answer")
        try:
            return future.result()
        finally:
            future.cancel()  # of interest if we were interrupted

    # -- on the thread

    def _run(self, ready: concurrent.futures.Future[None]) -> None:
        try:
            asyncio.run(self._main(ready))
        except Exception as e:
            if ready.done():
                raise
            ready.set_exception(e.with_traceback(None))
        finally:
            with self._mutex:
                self._closed = True
                left = list(self._futures)
            for future in left:
                _settle(future, error=Closed("the client was closed"))
            # What is left of Cap'n Proto in cycles, if anything, has to go on
            # this thread.
            gc.collect()

    async def _main(self, ready: concurrent.futures.Future[None]) -> None:
        async with capnp.kj_loop():
            self._loop = asyncio.get_running_loop()
            self._ended = asyncio.Event()
            self._connecting = asyncio.Lock()
            self._trains = asyncio.Semaphore(TRAINS_IN_FLIGHT_MAX)
            ready.set_result(None)
            await self._ended.wait()
            # All must have ended before their event loop does.
            while self._tasks:
                tasks = list(self._tasks)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            self._session = None

    def _spawn(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        task = self._loop.create_task(work)
        self._tasks.add(task)

        def ended(task: asyncio.Task[T]) -> None:
            self._tasks.discard(task)
            if not task.cancelled():
                task.exception()  # has been looked at
        task.add_done_callback(ended)
        return task

    async def _within(self, seconds: float, work: Coroutine[Any, Any, T]) -> T:
        """Waits for something, or fails with `asyncio.TimeoutError`."""
        task = self._spawn(work)
        try:
            await asyncio.wait({task}, timeout=seconds)
            if not task.done():
                raise asyncio.TimeoutError
            return task.result()
        finally:
            task.cancel()
            # Else an exception would hold this frame, and this frame the
            # exception, until any thread's garbage collector comes by. That
            # is also why this is not asyncio's.
            del task

    async def _carry_out(self, make: Callable[[], Awaitable[T]],
                         future: concurrent.futures.Future[T]) -> None:
        try:
            result = await make()
        except asyncio.CancelledError:
            _settle(future, error=Closed("the client was closed"))
            return
        except Exception as e:
            error = e
        else:
            _settle(future, result)
            return
        # Tracebacks would take frames, and what is in them, to other threads.
        error.__context__ = error.__cause__ = None
        _settle(future, error=error.with_traceback(None))

    async def _train(self, what: str, op: Op[T]) -> T:
        async with self._trains:
            return await self._answer(what, op, repeatable=True, patient=True)

    async def _answer(self, what: str, op: Op[T], repeatable: bool,
                      patient: bool) -> T:
        search = _Search(self.address, self.timeout)
        while True:
            session = await self._reach(search)
            sent = self._loop.time()
            try:
                return await self._patiently(session, what, op, repeatable,
                                             patient)
            except capnp.KjException as e:
                text, lost = e.description, e.type == "DISCONNECTED"
            if not lost:
                raise from_text(text)
            self._leave(session)
            if not repeatable:
                raise Disconnected(f"cannot {what}: the connection to "
                                   f"{self.address} was lost; it may or may "
                                   "not have been carried out")
            if self._loop.time() - sent > self.timeout:
                search.begin()
            await search.pause("the connection was lost")

    async def _patiently(self, session: Session, what: str, op: Op[T],
                         repeatable: bool, patient: bool) -> T:
        task = self._spawn(op(session))
        session.calls += 1
        try:
            while True:
                await asyncio.wait({task}, timeout=self.timeout)
                if task.done():
                    return task.result()
                if not patient:
                    self._leave(session)
                    doubt = "" if repeatable else \
                        "; it may or may not have been carried out"
                    raise Timeout(f"cannot {what}: no answer from "
                                  f"{self.address} for {self.timeout:g} s"
                                  + doubt)
                await self._check(session)
        finally:
            task.cancel()
            del task  # as above
            session.calls -= 1
            if session is not self._session and session.calls == 0:
                session.stream.close()

    async def _check(self, session: Session) -> None:
        """Ends a connection on which nothing is answered any more."""
        now = self._loop.time()
        if now - session.checked < self.timeout:
            return  # for another call
        session.checked = now
        try:
            await self._within(self.timeout, session.greet())
        except asyncio.TimeoutError:
            session.stream.close()
        except capnp.KjException:
            pass  # an answer as well, or else the call sees the same

    async def _reach(self, search: _Search) -> Session:
        """Returns a session, a new one if need be."""
        while True:
            async with self._connecting:
                if self._session is not None:
                    return self._session
                try:
                    self._session = await self._connect()
                    return self._session
                except ssl.SSLError as e:
                    why = _tls.explain(e, self._credentials)
                except _Unwelcome as e:
                    why = str(e)
                except OSError as e:
                    why = (f"{e.strerror or e}. Start one with `hippo serve`, "
                           "or say where it is: hippo.connect(\"HOST:PORT\") "
                           "or HIPPO_SERVER")
            await search.pause(why)

    async def _connect(self) -> Session:
        """Connects once.

        Raises:
            OSError: nobody is there, or somebody else.
            Error: the service refuses.
        """
        seconds = min(CONNECT_SECONDS_MAX, self.timeout)
        options: dict[str, Any] = {}
        if self._tls is not None:
            options = {"ssl": self._tls,
                       "server_hostname": _tls.SERVICE_HOST}
        try:
            stream = await self._within(
                seconds, capnp.AsyncIoStream.create_connection(
                    self._host, self._port, **options)
                if self._socket is None
                else capnp.AsyncIoStream.create_unix_connection(self._socket))
        except asyncio.TimeoutError:
            raise _Unwelcome(f"no connection for {seconds:g} s") from None
        rpc = capnp.TwoPartyClient(stream)
        session = Session(
            stream, rpc, rpc.bootstrap().cast_as(_schema.service.Entrance))
        try:
            await self._within(seconds, session.greet())
        except asyncio.TimeoutError:
            stream.close()
            raise _Unwelcome(f"no greeting for {seconds:g} s") from None
        except capnp.KjException as e:
            text, gone = e.description, e.type == "DISCONNECTED"
        else:
            self._spawn(self._watch(session))
            return session
        stream.close()
        if not gone:
            if text.endswith(OLDER_ADVICE):
                text = text.removesuffix(OLDER_ADVICE) + NEWER_ADVICE
            raise from_text(text)
        if self._credentials is None:
            raise _Unwelcome(
                "it ends the connection; it may ask for credentials: "
                "hippo.connect(credentials=\"FILE.pem\")")
        raise _Unwelcome(
            await _tls.why_refused(self._host, self._port, self._credentials,
                                   seconds)
            or f"it ends the connection, given {self._credentials}")

    async def _watch(self, session: Session) -> None:
        """Notes the end of a connection on which nothing may be pending."""
        try:
            await session.rpc.on_disconnect()
        finally:
            self._leave(session)
            session.stream.close()

    def _leave(self, session: Session) -> None:
        """Makes the next call connect anew; what is pending may still end."""
        if self._session is session:
            self._session = None


def _settle(future: concurrent.futures.Future[T], result: T | None = None,
            error: Exception | None = None) -> None:
    """Ends a future, unless it was cancelled meanwhile."""
    try:
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]
    except concurrent.futures.InvalidStateError:
        pass
