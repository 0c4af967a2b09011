// The studio's server as the page sees it: questions, and events over a socket.

export class Server {
  constructor() {
    const given = new URLSearchParams(location.search).get("token");
    if (given) {
      sessionStorage.setItem("gridloom-token", given);
      // The token is no part of what the address bar, bookmarks and the history should keep.
      history.replaceState(null, "", location.pathname + location.hash);
    }
    this.token = given || sessionStorage.getItem("gridloom-token") || "";
    this.listeners = new Set();
  }

  async ask(path, body) {
    const options = { headers: { "X-Gridloom-Token": this.token } };
    if (body !== undefined) {
      options.method = "POST";
      options.headers["Content-Type"] = "application/json";
      options.body = JSON.stringify(body);
    }
    const answer = await fetch(`/api/${path}`, options);
    if (!answer.ok) {
      throw new Error(await refusal(answer));
    }
    return answer;
  }

  async get(path, body) {
    return (await this.ask(path, body)).json();
  }

  async bytes(path) {
    return (await this.ask(path)).arrayBuffer();
  }

  async text(path, body) {
    return (await this.ask(path, body)).text();
  }

  // Call a function with every event; the socket is opened again when it breaks.
  listen(listener) {
    this.listeners.add(listener);
    if (!this.socket) {
      this.connect();
    }
  }

  connect() {
    const address = new URL("/api/events", location.href);
    address.protocol = "ws:";
    address.searchParams.set("token", this.token);
    this.socket = new WebSocket(address);
    this.socket.addEventListener("message", (message) => {
      const event = JSON.parse(message.data);
      this.listeners.forEach((listener) => listener(event));
    });
    this.socket.addEventListener("open", () => this.listeners.forEach((listener) => listener({ event: "connected" })));
    this.socket.addEventListener("close", () => setTimeout(() => this.connect(), 1000));
  }
}

async function refusal(answer) {
  try {
    return (await answer.json()).error || `the studio answers ${answer.status}`;
  } catch {
    return answer.status === 403
      ? "this page has no valid token: open the address that gridloom studio prints"
      : `the studio answers ${answer.status}`;
  }
}
