// The service's news, as server-sent events.

/** Calls `tell` with {state, news} whenever the connection comes ("live") or
 * goes ("lost"), and whenever something was stored: `news` names what. */
export function listen(tell) {
  let news = null, pause = 500; // milliseconds until a refusal is tried again
  function open() {
    const source = new EventSource("api/stream");
    source.onopen = () => {
      pause = 500;
      tell({state: "live", news});
    };
    source.addEventListener("news", event => {
      news = event.lastEventId;
      tell({state: "live", news});
    });
    source.onerror = () => {
      tell({state: "lost", news: null});
      // What breaks the browser opens again by itself, from the last id that it
      // has heard; what is refused it does not.
      if (source.readyState !== EventSource.CLOSED) return;
      setTimeout(open, pause);
      pause = Math.min(pause * 2, 8000);
    };
  }
  open();
}
