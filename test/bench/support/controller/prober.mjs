import { register, Worker } from "verl";

/** What benches and fault runs ask a rank for. */
export class Prober extends Worker {
  static module = import.meta.url;

  async echo(value) {
    return value;
  }

  async pid() {
    return process.pid;
  }

  /** Holds the event loop. */
  async block(ms) {
    const end = Date.now() + ms;
    while (Date.now() < end);
    return this.rank;
  }

  async wait(ms) {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return this.rank;
  }

  async sum(values) {
    await this.peers.sum(values);
    return values;
  }
}

for (const method of ["echo", "pid", "block", "wait", "sum"]) {
  register({ dispatchMode: "ONE_TO_ALL" })(
    Prober.prototype,
    method,
    Object.getOwnPropertyDescriptor(Prober.prototype, method),
  );
}
