/**
 * Goes on with a value that may have to be waited for. A value that is there is used at once: no microtask on the synchronous path.
 * @returns a promise only for a promise; it rejects when the value or `next` does
 */
export function whenReady<T, R> (value: T | Promise<T>, next: (value: T) => R | Promise<R>): R | Promise<R> {
  return value instanceof Promise ? value.then(next) : next(value)
}
