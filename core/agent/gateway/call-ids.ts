import { randomUUID } from "node:crypto";

const hex = (): string => randomUUID().replaceAll("-", "");

/** Ids that one session gives to calls: no two calls have the same, and no other session gives them. */
export class CallIds {
  private readonly prefix = `call_${hex().slice(0, 12)}`;

  next(): string {
    return `${this.prefix}${hex().slice(-20)}`;
  }

  /** Whether the id is one of these. Clients can make up such an id, and a model can copy one that it was shown. */
  has(id: string): boolean {
    return id.startsWith(this.prefix);
  }
}
