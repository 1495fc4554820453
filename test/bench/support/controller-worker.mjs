import { register, Worker } from "verl";

/** What the bench of the controller calls. */
export class BenchWorker extends Worker {
  static module = import.meta.url;

  empty() {
    return Promise.resolve();
  }

  echo(batch) {
    return Promise.resolve(batch);
  }
}

for (const method of ["empty", "echo"]) {
  const descriptor = Object.getOwnPropertyDescriptor(BenchWorker.prototype, method);
  register({ dispatchMode: "ONE_TO_ALL" })(BenchWorker.prototype, method, descriptor);
}
