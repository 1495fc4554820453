/**
 * An argument of a worker's call by which the worker tells the caller of something before it returns: one way, in order, and waited for
 * by nobody. It crosses to ranks elsewhere; what is told does as a result would.
 */
export class Listener<T = unknown> {
  constructor(readonly tell: (value: T) => void) {}
}
