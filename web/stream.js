// One stream of news for all tabs of a browser, which gives a host six
// connections.
const ports = new Set();
let source = null;
let pause = 500;   // milliseconds until it is tried again
let last = null;   // what a tab that comes later is told

function tell(what) {
  last = what;
  for (const port of ports) port.postMessage(what);
}

function open() {
  // The browser's own attempts have no limit and no pause.
  source = new EventSource("api/stream");
  source.onopen = () => {
    pause = 500;
    tell({state: "live", news: last?.news ?? null});
  };
  source.addEventListener("news", event => {
    tell({state: "live", news: event.lastEventId});
  });
  source.onerror = () => {
    source.close();
    tell({state: "lost", news: null});
    setTimeout(open, pause);
    pause = Math.min(pause * 2, 8000);
  };
}

self.onconnect = ({ports: [port]}) => {
  ports.add(port);
  port.onmessage = () => ports.delete(port); // it goes
  if (last) port.postMessage(last);
  if (!source) open();
};
